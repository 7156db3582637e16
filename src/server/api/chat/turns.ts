// Talking to an agent: send a message, answer one again, watch and stop a turn.
import { z } from "zod";
import type { SendContext } from "../../../agents/chat/chat.ts";
import type { LiveEvent } from "../../../core/record/live.ts";
import type { TurnRow } from "../../../storage/store/store.ts";
import { traceFrom } from "../../../util/trace.ts";
import { type ApiContext, endpoint, eventEndpoint } from "../endpoint.ts";
import { chosenId } from "../shapes.ts";
import { turnShape, turnView } from "./shapes.ts";

const handle = z.string().min(1).max(128);
const MAX_MESSAGE = 200_000;
/** A turn may take longer; then its state is answered, and it can be asked for again. */
const LONGEST_WAIT_MS = 600_000;

const model = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .describe("Default: the capsule's, or the best one");
const wait = z
  .boolean()
  .default(true)
  .describe("Answer when the turn has ended or waits for a person; else at once");

const sendInput = z.strictObject({
  message: z
    .string()
    .max(MAX_MESSAGE)
    .refine((text) => text.trim() !== "", "expected a message")
    .describe("/tools, /tool name {…} and /explain name {…} work without a model"),
  sessionId: handle.optional().describe("Default: a new session"),
  capsuleId: chosenId.optional().describe("Of a new session; default: the caller's"),
  personaId: chosenId.optional().describe("Of a new session"),
  model,
  images: z
    .array(handle)
    .max(8)
    .optional()
    .describe("Ids of pictures to show with it, from POST /assets; the model must be able to look"),
  editOf: handle.optional().describe("Instead of this earlier message, in a branch of its own"),
  wait,
});

export const sendMessage = endpoint({
  name: "chat.sendMessage",
  method: "POST",
  path: "/chat",
  access: "caller",
  summary: "Say something to an agent; POST /api/chat is the same and can stream",
  statuses: [200, 202],
  input: sendInput,
  output: turnShape,
  run: async (input, context) => answered(await send(input, context), input.wait, context),
});

export const regenerateAnswer = endpoint({
  name: "chat.regenerateAnswer",
  method: "POST",
  path: "/sessions/{id}/regenerate",
  access: "caller",
  summary: "Answer a message once more, in a branch of its own; default: the newest",
  statuses: [200, 202],
  input: z.strictObject({ id: handle, messageId: handle.optional(), model, wait }),
  output: turnShape,
  async run({ id, wait: isWaiting, ...request }, context) {
    const turn = await context.doors.chat.regenerate(contextOf(context), id, given(request));
    return answered(turn, isWaiting, context);
  },
});

export const getTurn = endpoint({
  name: "chat.getTurn",
  method: "GET",
  path: "/turns/{turnId}",
  access: "caller",
  summary: "A turn: its state, answer and tool calls",
  input: z.strictObject({
    turnId: handle,
    waitSeconds: z.int().min(0).max(300).default(0).describe("Wait so long for its end"),
  }),
  output: turnShape,
  async run({ turnId, waitSeconds }, { caller, doors, signal }) {
    const options = { ms: waitSeconds * 1_000, untilHeld: false, signal };
    return turnView(await doors.chat.wait(caller, turnId, options), doors);
  },
});

export const watchTurn = eventEndpoint({
  name: "chat.watchTurn",
  method: "GET",
  path: "/turns/{turnId}/events",
  access: "caller",
  summary: "Server-sent events of a turn, from its beginning to its end",
  input: z.strictObject({ turnId: handle }),
  stream: ({ turnId }, context) => turnEvents(turnId, context),
});

export const stopTurn = endpoint({
  name: "chat.stopTurn",
  method: "POST",
  path: "/sessions/{id}/stop",
  access: "caller",
  summary: "Stop the turn of a session: its call is cancelled, its approval withdrawn",
  input: z.strictObject({ id: handle }),
  output: z.object({ stopped: z.boolean(), turnId: z.string().nullable() }),
  async run({ id }, { caller, doors }) {
    const turn = await doors.chat.stop(caller, id);
    return { stopped: turn !== null, turnId: turn?.id ?? null };
  },
});

export type SendInput = z.output<typeof sendInput>;

export const streamInput = sendInput.extend({
  stream: z.boolean().default(false).describe("Answer with server-sent events"),
});

export function send(
  { wait: _wait, ...request }: SendInput,
  context: ApiContext,
): Promise<TurnRow> {
  return context.doors.chat.send(contextOf(context), given(request));
}

/** What happens in a turn, then its whole state as `done`. */
export async function* turnEvents(
  turnId: string,
  { caller, doors, signal }: Pick<ApiContext, "caller" | "doors" | "signal">,
): AsyncGenerator<LiveEvent> {
  let sent = 0;
  for await (const { event, data } of doors.chat.watch(caller, turnId, signal)) {
    if (event === "end") continue;
    sent++;
    const { approvalId } = data;
    const link =
      typeof approvalId === "string" ? { url: `${doors.settings.baseUrl}/a/${approvalId}` } : {};
    yield { id: sent, event, data: JSON.stringify({ ...data, ...link }) };
  }
  const view = turnView(await doors.chat.turn(caller, turnId), doors);
  yield { id: sent + 1, event: "done", data: JSON.stringify(view) };
}

async function answered(turn: TurnRow, isWaiting: boolean, context: ApiContext) {
  const { caller, doors, signal, reply } = context;
  const ms = isWaiting ? LONGEST_WAIT_MS : 0;
  const view = await doors.chat.wait(caller, turn.id, { ms, untilHeld: true, signal });
  if (view.turn.endedAt === null) reply.status = 202;
  reply.headers["Location"] = `/api/v1/turns/${turn.id}`;
  return turnView(view, doors);
}

const contextOf = ({
  caller,
  doors,
  ip,
  within,
  traceparent,
  tracestate,
}: ApiContext): SendContext => ({
  caller,
  // Models and tools of the turn work for the request itself, where that has a span.
  trace: within ?? traceFrom(given({ traceparent, tracestate }), doors.ids),
  ip: ip ?? null,
});

/** Without the fields that were left out. */
function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
