// What concerns the caller, as it happens.
import { z } from "zod";
import { eventEndpoint } from "./endpoint.ts";
import { adminOnly } from "./explain.ts";

export const events = eventEndpoint({
  name: "events.streamEvents",
  method: "GET",
  path: "/events",
  access: "caller",
  summary:
    "Server-sent events: changes of the caller's executions, of the mode, and of approvals the caller asked for or may decide; resumable by Last-Event-ID",
  fromHeaders: { "last-event-id": "after" },
  input: z.strictObject({
    everyone: z
      .boolean()
      .default(false)
      .describe(
        "Also changes of all executions in the tenant that this server runs; administrators only",
      ),
    after: z.int().min(0).optional().describe("Sequence number of the last event seen"),
  }),
  stream({ after, everyone }, { caller, callerNow, doors, signal }) {
    if (everyone && caller.role !== "admin") throw adminOnly();
    return doors.live.subscribe(caller, {
      signal,
      everyone,
      ...(callerNow ? { callerNow } : {}),
      ...(after === undefined ? {} : { after }),
    });
  },
});
