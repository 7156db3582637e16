// Calls an operation of an API: one host, the server's own credential, once, or once more where that can do no harm.
import type { Call, JsonObject } from "../../contract/call.ts";
import type { Egress, EgressResponse } from "../egress/egress.ts";
import { rulesForOperator } from "../egress/operator.ts";
import { AppError } from "../../contract/errors.ts";
import type { ForeignDefinition, ServerRow } from "../../storage/store/store.ts";
import type { Route } from "../../contract/tool.ts";
import { mayRepeat } from "../upstream/resilience.ts";
import { failedTwice, UpstreamFault, type ServerCredentials } from "../upstream/upstream.ts";
import { readResponse, StatusFault } from "./response.ts";
import { operationOf } from "./operation.ts";
import { buildRequest, type ApiRequest } from "./request.ts";
import { cleanerOf } from "./secrets.ts";

export interface ApiResponse {
  readonly output: JsonObject;
  readonly host: string;
  readonly status: number;
  readonly attempts: number;
}

export interface ApiCallPowers {
  readonly egress: Pick<Egress, "request">;
  readonly credentials: Pick<ServerCredentials, "of">;
  /** Runs it when the server has room and its breaker is closed. */
  readonly guarded: <T>(
    server: string,
    signal: AbortSignal,
    work: (row: ServerRow) => Promise<T>,
  ) => Promise<T>;
  readonly pinOf: (definition: ForeignDefinition) => string;
}

const MAX_REDIRECTS = 3;

/** Throws UpstreamFault or AppError. */
export function apiCaller(p: ApiCallPowers): (call: Call) => Promise<ApiResponse> {
  /** Rows are replaced, never changed: what was worked out of one holds as long as it does. */
  const pins = new WeakMap<ServerRow, ReadonlyMap<string, string>>();
  const pinsOf = (row: ServerRow): ReadonlyMap<string, string> => {
    let known = pins.get(row);
    if (!known) {
      const operations = row.transport.kind === "api" ? row.transport.operations : [];
      pins.set(row, (known = new Map(operations.map((one) => [one.name, p.pinOf(one)]))));
    }
    return known;
  };

  return async (call) => {
    const { tool } = call;
    if (!tool?.route)
      throw new AppError("UNSUPPORTED_PROVIDER", "external", "this tool has no server");
    const { route } = tool;
    return p.guarded(route.server, call.signal, async (row) => {
      if (pinsOf(row).get(route.name) !== route.pin) throw changed(route);
      try {
        return await attempt(call, route, row, p, 1);
      } catch (cause) {
        // A connection that broke; an answer, whatever it says, is one.
        if (call.signal.aborted || cause instanceof StatusFault || !mayRepeat(cause, tool))
          throw cause;
        return attempt(call, route, row, p, 2).catch(failedTwice);
      }
    });
  };
}

async function attempt(
  call: Call,
  route: Route,
  row: ServerRow,
  p: ApiCallPowers,
  attempts: number,
): Promise<ApiResponse> {
  const { transport, settings } = row;
  if (transport.kind !== "api") throw changed(route);
  const operation = operationOf(route.operation);
  const credential = await p.credentials.of(row, call.caller.userId);
  const headers = await credential.headers();
  const clean = cleanerOf(transport.headers, headers);
  const request = buildRequest(transport.url, headers, operation, call.arguments);
  const sent = { yet: false };
  try {
    const response = await send(request, call, settings.maxResultBytes, p, transport.url, sent);
    const output = await readResponse(response, operation, settings.maxResultBytes, clean);
    return { output, host: new URL(request.url).hostname, status: response.status, attempts };
  } catch (cause) {
    throw translated(cause, sent.yet, clean);
  }
}

function send(
  request: ApiRequest,
  call: Call,
  maxBytes: number,
  { egress }: ApiCallPowers,
  base: string,
  sent: { yet: boolean },
): Promise<EgressResponse> {
  const { url, method, headers, credentials, body } = request;
  return egress.request(
    {
      url,
      method,
      headers,
      credentials,
      ...(body === undefined ? {} : { body }),
      maxRedirects: MAX_REDIRECTS,
      maxBytes,
      // The call's own deadline is the limit.
      headersMs: call.timeoutMs,
      onSent: () => (sent.yet = true),
    },
    // Exactly this scheme, host and port: also a redirect leads nowhere else.
    { rules: rulesForOperator(base), signal: call.signal },
  );
}

const UNREACHED = new Set(["dns_failed", "tls_failed", "connect_failed"]);

/** Faults of the connection as those of upstream servers; an error of the API itself stays unchanged. */
function translated(cause: unknown, dispatched: boolean, clean: (text: string) => string): unknown {
  if (!(cause instanceof AppError)) return cause;
  const { code, reason } = cause.fault;
  const message = clean(cause.message);
  if (UNREACHED.has(reason))
    return new UpstreamFault(dispatched ? "closed" : "unreachable", message, { dispatched, cause });
  if (code === "TIMEOUT") return new UpstreamFault("timeout", message, { dispatched, cause });
  if (reason === "body_invalid" || reason === "body_too_large")
    return new UpstreamFault("protocol", message, { dispatched, cause });
  if (message === cause.message) return cause;
  // An address with a key in it is quoted.
  const extra = { remedy: clean(cause.fault.remedy ?? "try again later"), cause };
  return code === "FORBIDDEN"
    ? new AppError("FORBIDDEN", "egress_blocked", message, extra)
    : new AppError("EXECUTION_FAILED", reason, message, extra);
}

function changed({ server, name }: Route): AppError {
  return new AppError(
    "FORBIDDEN",
    "definition_changed",
    `${server} no longer offers ${name} as it was approved`,
    {
      remedy: `an administrator must review it: ostiary servers diff ${server}`,
    },
  );
}
