// The SERVER span of one request to REST or tRPC. Its parent is the `traceparent` header.
import type { Context } from "hono";
import { CODES, faultOf } from "../../contract/errors.ts";
import { ATTR } from "../../telemetry/names.ts";
import { NO_REQUEST_SPAN, type RequestSpan } from "../../telemetry/tracing.ts";
import type { TraceContext } from "../../util/trace.ts";
import type { Doors } from "../doors.ts";
import { ipOf, requestIdOf, type WebEnv } from "./request.ts";

/** `route` is the pattern, not the path: span names must be few. */
export function webSpan(
  doors: Doors,
  c: Context<WebEnv>,
  entry: "rest" | "trpc",
  route: string,
): RequestSpan {
  if (!doors.tracing.on) return NO_REQUEST_SPAN;
  const ip = ipOf(c);
  return doors.tracing.request({
    name: `${c.req.method} ${route}`,
    entry,
    at: performance.now(),
    context: headerContext(c),
    requestId: requestIdOf(c, doors),
    attributes: {
      [ATTR.httpMethod]: c.req.method,
      [ATTR.httpRoute]: route,
      [ATTR.protocol]: "http",
      [ATTR.transport]: "tcp",
      ...(ip === undefined ? {} : { [ATTR.clientAddress]: ip }),
    },
  });
}

export function headerContext(c: Context<WebEnv>): TraceContext {
  const traceparent = c.req.header("traceparent");
  if (traceparent === undefined) return {};
  const tracestate = c.req.header("tracestate");
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

export function endFailed(span: RequestSpan, cause: unknown): void {
  const { code } = faultOf(cause);
  span.failed(code);
  span.end(CODES[code].http);
}
