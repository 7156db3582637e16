// The caller's executions as they change.
import { z } from "zod";
import { eventEndpoint } from "./endpoint.ts";

export const events = eventEndpoint({
  name: "events.streamEvents",
  method: "GET",
  path: "/events",
  access: "caller",
  summary: "Server-sent events: each change of the caller's executions, resumable by Last-Event-ID",
  fromHeaders: { "last-event-id": "after" },
  input: z.strictObject({
    after: z.int().min(0).optional().describe("Sequence number of the last event seen"),
  }),
  stream: ({ after }, { caller, doors, signal }) =>
    doors.live.subscribe(caller, { signal, ...(after === undefined ? {} : { after }) }),
});
