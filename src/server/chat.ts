// POST /api/chat: a message to an agent, answered whole or (stream: true) as server-sent events.
import { type Context, Hono } from "hono";
import { parseInput, type ApiContext } from "./api/endpoint.ts";
import { send, sendMessage, streamInput, turnEvents, type SendInput } from "./api/chat/turns.ts";
import type { Doors } from "./doors.ts";
import { assertRequestCounted } from "./http/count-request.ts";
import { eventStream } from "./http/events.ts";
import { watchCaller } from "./http/long-lived.ts";
import { admit, ipOf, readJson, refuse, requestIdOf, type WebEnv } from "./http/request.ts";
import { endFailed, headerContext, webSpan } from "./http/span.ts";

const PATH = "/api/chat";

export function createChatDoor(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refuse(c, doors, cause));
  app.post(PATH, async (c) => {
    const span = webSpan(doors, c, "rest", PATH);
    try {
      const response = await answer(c, doors, span);
      span.end(response.status);
      return response;
    } catch (cause) {
      endFailed(span, cause);
      throw cause;
    }
  });
  return app;
}

async function answer(
  c: Context<WebEnv>,
  doors: Doors,
  span: ApiContext["span"],
): Promise<Response> {
  const requestId = requestIdOf(c, doors);
  const caller = await admit(doors, c);
  span.caller(caller);
  await assertRequestCounted(doors, caller, ipOf(c));
  const { stream, ...request } = parseInput(
    { input: streamInput },
    await readJson(doors, c, caller),
  );
  const context: ApiContext = {
    caller,
    requestId,
    signal: c.req.raw.signal,
    ...(span.context ?? headerContext(c)),
    ip: ipOf(c),
    doors,
    entry: "rest",
    reply: { headers: {} },
    span,
  };
  if (stream) return streamed(request, context);
  const output = await sendMessage.run(request, context);
  return c.json(output, context.reply.status ?? 200, {
    "Cache-Control": "no-store",
    ...context.reply.headers,
  });
}

/** The turn continues when the client disconnects: its events can be asked for again. */
async function streamed(request: SendInput, context: ApiContext): Promise<Response> {
  const { caller, doors } = context;
  const release = doors.capacity.openStream(caller);
  const watch = watchCaller(doors, caller);
  const leave = (): void => {
    release();
    watch.end();
  };
  try {
    const turn = await send(request, context);
    const begun = { id: 0, event: "turn", data: JSON.stringify(idsOf(turn)) };
    return eventStream({
      open: (signal) => eventsOf(begun, turnEvents(turn.id, { caller, doors, signal })),
      signal: context.signal,
      revoked: watch.signal,
      onEnd: leave,
    });
  } catch (cause) {
    leave();
    throw cause;
  }
}

const idsOf = (turn: Awaited<ReturnType<typeof send>>) => ({
  sessionId: turn.sessionId,
  turnId: turn.id,
  userMessageId: turn.messageId,
  traceId: turn.trace.traceId,
});

async function* eventsOf<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first;
  yield* rest;
}
