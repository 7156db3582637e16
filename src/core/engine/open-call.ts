// Makes a Call from a request: id, trace, the tool of that name, and the deadline.
import {
  isInnerEntry,
  type Call,
  type Caller,
  type CallRequest,
  type JsonObject,
} from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Governance } from "../../governance/rules/governance.ts";
import { translate } from "../../tools/aliases.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Ids } from "../../util/ids.ts";
import { traceFrom } from "../../util/trace.ts";

export interface OpenCallPowers {
  readonly registry: Pick<Registry, "get">;
  readonly governance: Pick<Governance, "asGoverned">;
  readonly ids: Ids;
  readonly now: () => number;
  readonly defaultTimeoutMs: number;
  readonly maxTimeoutMs: number;
  /** Whether a trace that begins here is recorded; absent while tracing is off. */
  readonly samples?: (traceId: string) => boolean;
}

const MIN_TIMEOUT_MS = 1_000;
const MAX_NAME = 256;
const MAX_KEY = 255;
const MAX_METADATA_BYTES = 16_384;

export function openCall(
  caller: Caller,
  request: CallRequest,
  p: OpenCallPowers,
): Omit<Call, "signal"> {
  if (request.name.length === 0 || request.name.length > MAX_NAME) {
    throw invalid("/name", `expected 1 to ${MAX_NAME} characters, got ${request.name.length}`);
  }
  const key = request.idempotencyKey ?? null;
  if (key !== null && (key.length === 0 || key.length > MAX_KEY)) {
    throw invalid("/idempotencyKey", `expected 1 to ${MAX_KEY} characters, got ${key.length}`);
  }
  const metadata = withoutTaint(request.context?.metadata ?? null);
  // Every record of the call holds it, so it must be small.
  if (metadata !== null && Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    throw invalid("/context/metadata", `expected at most ${MAX_METADATA_BYTES} bytes`);
  }
  const meant = translate(request.name, request.arguments ?? {});
  const known = p.registry.get(meant.name);
  const tool = known && p.governance.asGoverned(known, meant.arguments);
  const startedAt = p.now();
  const call: Omit<Call, "signal"> = {
    id: idOf(request) ?? p.ids.execution(startedAt),
    action: "execute",
    caller,
    requestedName: request.name,
    tool,
    arguments: meant.arguments,
    timeoutMs: deadlineOf(request.timeoutMs, tool, p),
    sessionId: request.context?.sessionId ?? null,
    metadata,
    idempotencyKey: key,
    entry: request.entry,
    ip: request.ip ?? null,
    grant: null,
    trace: traceFrom(request, p.ids, p.samples),
    startedAt,
    onProgress: request.onProgress ?? null,
    client: request.client ?? null,
  };
  const { taint } = request;
  if (taint === undefined || taint.length === 0) return call;
  return { ...call, taint, metadata: { ...metadata, taint: taint.map((one) => ({ ...one })) } };
}

/** An id from a door is ignored: only calls that this server makes itself have an id beforehand. */
const idOf = ({ entry, id }: CallRequest): string | undefined =>
  isInnerEntry(entry) ? id : undefined;

/** The record must not contain taint that a client made up: only this server sets it. */
function withoutTaint(metadata: JsonObject | null): JsonObject | null {
  if (metadata === null || !("taint" in metadata)) return metadata;
  const { taint: _claimed, ...rest } = metadata;
  return rest;
}

/** The caller's timeout, else the tool's, else the default; between 1 s and the maximum, never unlimited. */
function deadlineOf(asked: number | undefined, tool: Tool | null, p: OpenCallPowers): number {
  if (asked === undefined) return Math.min(tool?.timeoutMs ?? p.defaultTimeoutMs, p.maxTimeoutMs);
  if (Number.isInteger(asked) && asked >= MIN_TIMEOUT_MS && asked <= p.maxTimeoutMs) return asked;
  throw invalid(
    "/timeout",
    `expected a whole number of ms from ${MIN_TIMEOUT_MS} to ${p.maxTimeoutMs}, got ${asked}`,
  );
}

function invalid(path: string, message: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `${path.slice(1)}: ${message}`, {
    remedy: `correct ${path.slice(1)}`,
    errors: [{ path, message }],
  });
}
