// REST: the endpoints under /api/v1, rendered from their definitions.
import { type Context, Hono } from "hono";
import type { Caller, JsonObject } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import { adminOnly } from "./api/explain.ts";
import { type AnyEndpoint, type ApiContext, fieldFault, parseInput } from "./api/endpoint.ts";
import { endpoints } from "./api/index.ts";
import { fieldsFromQuery } from "./api/query.ts";
import { assertRequestCounted } from "./http/count-request.ts";
import type { Doors } from "./doors.ts";
import { NO_REQUEST_SPAN, type RequestSpan } from "../telemetry/tracing.ts";
import { eventStream } from "./http/events.ts";
import { watchCaller, type CallerWatch } from "./http/long-lived.ts";
import { endFailed, headerContext, webSpan } from "./http/span.ts";
import {
  admit,
  ipOf,
  methodNotAllowed,
  notFoundAt,
  readJson,
  refuse,
  requestIdOf,
  type WebEnv,
} from "./http/request.ts";

export function createRest(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.onError((cause, c) => refuse(c, doors, cause));
  for (const e of endpoints) {
    app.on(e.method, honoPath(e.path), (c) => answer(e, c, doors));
  }
  app.all("*", async (c) => {
    await assertRequestCounted(doors, await admit(doors, c), ipOf(c));
    const allowed = methodsAt(c.req.path);
    if (allowed.length === 0) throw notFoundAt(c.req.path);
    const response = refuse(c, doors, methodNotAllowed(c.req.method, allowed));
    response.headers.set("Allow", allowed.join(", "));
    return response;
  });
  return app;
}

/** `/users/{id}` as Hono spells it. */
const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

async function answer(e: AnyEndpoint, c: Context<WebEnv>, doors: Doors): Promise<Response> {
  // A stream may last for days: it is no piece of work of its own.
  const span = "stream" in e ? NO_REQUEST_SPAN : webSpan(doors, c, "rest", `/api/v1${e.path}`);
  try {
    const response = await answered(e, c, doors, span);
    span.end(response.status);
    return response;
  } catch (cause) {
    endFailed(span, cause);
    throw cause;
  }
}

async function answered(
  e: AnyEndpoint,
  c: Context<WebEnv>,
  doors: Doors,
  span: RequestSpan,
): Promise<Response> {
  const requestId = requestIdOf(c, doors);
  const caller = await admit(doors, c);
  span.caller(caller);
  await assertRequestCounted(doors, caller, ipOf(c), e.evenWhenUsedUp);
  if (e.access === "admin" && caller.role !== "admin") throw adminOnly();
  const input = parseInput(e, await gather(e, c, doors, caller));
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
  if ("stream" in e) {
    const release = doors.capacity.openStream(caller);
    const watch = watchCaller(doors, caller);
    const onEnd = (): void => {
      release();
      watch.end();
    };
    try {
      return eventStream({
        open(signal) {
          signal.addEventListener("abort", release, { once: true });
          const now = { ...context, signal, callerNow: watch.caller };
          return untilLeft(e.stream(input, now), release);
        },
        signal: context.signal,
        revoked: watch.signal,
        onEnd,
      });
    } catch (cause) {
      // Refused before the stream began.
      onEnd();
      throw cause;
    }
  }
  if ("download" in e) {
    const { headers, body } = await e.download(input, context);
    return new Response(ReadableStream.from(whileAuthorized(body, watchCaller(doors, caller))), {
      headers: { "Cache-Control": "no-store", ...headers },
    });
  }
  const output = await e.run(input, context);
  const status = context.reply.status ?? e.statuses[0] ?? 200;
  return c.json(output as JsonObject, status, {
    "Cache-Control": "no-store",
    ...context.reply.headers,
  });
}

/** Breaks the download off once the caller has lost access: the client sees that it is incomplete. */
async function* whileAuthorized<T>(
  body: AsyncIterable<T> | Iterable<T>,
  watch: CallerWatch,
): AsyncGenerator<T> {
  try {
    for await (const part of body) {
      if (watch.signal.aborted)
        throw new AppError("UNAUTHORIZED", "key_inactive", "the credential is not active any more");
      yield part;
    }
  } finally {
    watch.end();
  }
}

async function* untilLeft<T>(items: AsyncIterable<T>, leave: () => void): AsyncGenerator<T> {
  try {
    yield* items;
  } finally {
    leave();
  }
}

/** Input fields from body or query, path and headers; a field may come from one place only. */
async function gather(
  e: AnyEndpoint,
  c: Context<WebEnv>,
  doors: Doors,
  caller: Caller,
): Promise<unknown> {
  const inQuery = e.method === "GET" || e.method === "DELETE";
  const sent = inQuery
    ? fieldsFromQuery(e.input, c.req.queries())
    : await readJson(doors, c, caller);
  if (sent !== undefined && (typeof sent !== "object" || sent === null || Array.isArray(sent))) {
    throw fieldFault("", "expected an object");
  }
  const params = c.req.param() as Record<string, string>;
  const fields: Record<string, unknown> = { ...(sent as JsonObject | undefined) };
  place(fields, e.fromPath ? e.fromPath(params) : params, "the path");
  for (const [name, field] of Object.entries(e.fromHeaders ?? {})) {
    const value = c.req.header(name);
    if (value === undefined) continue;
    const typed = fieldsFromQuery(e.input, { [field]: [value] });
    place(fields, typed, `the header ${name}`);
  }
  return fields;
}

function place(fields: Record<string, unknown>, more: object, where: string): void {
  for (const [field, value] of Object.entries(more)) {
    if (Object.hasOwn(fields, field) && fields[field] !== value) {
      throw fieldFault(`/${field}`, `is given by ${where} already`, "send it once");
    }
    fields[field] = value;
  }
}

const MATCHERS = endpoints.map((e) => ({
  method: e.method,
  path: new RegExp(`^/api/v1${e.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

function methodsAt(path: string): string[] {
  return [...new Set(MATCHERS.filter((m) => m.path.test(path)).map((m) => m.method))];
}
