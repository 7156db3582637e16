// One mapping from Outcome to the wire, shared by the fast path and the SDK path. Imports nothing of the SDK.
import type { Json, JsonObject, Outcome } from "../../contract/call.ts";
import { AppError, CODES, type Fault } from "../../contract/errors.ts";
import {
  isToolError,
  partialOf,
  unpackError,
  unpackResult,
  type ContentBlock,
} from "../../util/mcp-output.ts";

/** In `_meta`: of a result, its execution; of a call, the earlier execution that it continues. */
export const EXECUTION_KEY = "ostiary/executionId";

/** In `_meta` of a result: the tool's metadata, e.g. the files it touched. */
const METADATA_KEY = "ostiary/metadata";

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  /** Need not be an object; the older era wraps other values. */
  readonly structuredContent?: Json;
  readonly isError?: true;
  readonly _meta: JsonObject;
}

/** An answer that is a JSON-RPC error, not a result. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** The same text for a name that is unknown, invisible to this caller or another tenant's. */
export const unknownTool = (nameAsSent: string): RpcError => ({
  code: -32602,
  message: `Unknown tool: ${nameAsSent}`,
});

/** For what `engine.execute` throws: the record could not be written. Sent with HTTP 503. */
export function notRecorded(cause: unknown): RpcError {
  const code = -32603;
  if (!(cause instanceof AppError)) return { code, message: "not recorded, not run" };
  if (cause.code === "OUTCOME_UNKNOWN") return { code, message: `${cause.code}: ${cause.message}` };
  return { code, message: `not recorded, not run: ${cause.message}` };
}

/** All that a client learns of an internal failure. */
export const INTERNAL: RpcError = { code: -32603, message: "Internal error" };

/** True when the answer must be `unknownTool`: the caller may not learn that the name exists. */
export const isUnknown = (outcome: Outcome): boolean =>
  !outcome.visible && outcome.error?.code === "NOT_FOUND";

/** Always our name; the upstream server is in the title. */
export const serverInfo = (
  version: string,
  server: string | null = null,
): { name: string; title: string; version: string } => ({
  name: "ostiary",
  title: server === null ? "Ostiary" : `Ostiary in front of ${server}`,
  version,
});

/** The URI of an upstream resource on `/mcp`, where all servers are together. Server names contain no plus. */
export const prefixed = (server: string, uri: string): string => `${server}+${uri}`;

/** `route`: the server of `/mcp/<server>`; null: `/mcp`, where resource URIs have a prefix. */
export function toolResult(outcome: Outcome, route: string | null = null): ToolResult {
  const result = resultOf(outcome);
  const { server } = outcome.metadata;
  if (route !== null || typeof server !== "string") return result;
  return { ...result, content: result.content.map((block) => withPrefixedUris(block, server)) };
}

/** A client must be able to read what a link names. */
function withPrefixedUris(block: ContentBlock, server: string): ContentBlock {
  if (block.type === "resource_link") return { ...block, uri: prefixed(server, block.uri) };
  if (block.type !== "resource") return block;
  return { ...block, resource: { ...block.resource, uri: prefixed(server, block.resource.uri) } };
}

function resultOf(outcome: Outcome): ToolResult {
  const meta: Record<string, Json> = {
    [EXECUTION_KEY]: outcome.executionId,
    "ostiary/status": outcome.status,
  };
  for (const _key in outcome.metadata) {
    meta[METADATA_KEY] = outcome.metadata;
    break;
  }
  if (outcome.success) return resultFrom(outcome.output, meta);
  // Verdicts are sent with failures only; those of a success are found under the execution's id.
  if (outcome.visible) meta["ostiary/gates"] = outcome.gates as unknown as Json; // plain data by type
  const error = exposedFault(outcome);
  meta["ostiary/error"] = { code: error.code, reason: error.reason };
  // The error of an upstream tool goes to the model unchanged.
  if (isToolError(outcome.output)) return { ...resultFrom(outcome.output, meta), isError: true };
  const { executionId, status } = outcome;
  const structuredContent = { error: error as unknown as JsonObject, executionId, status };
  const text = faultText(error, executionId);
  const partial = partialOf(outcome);
  if (partial === null)
    return { content: [{ type: "text", text }], structuredContent, isError: true, _meta: meta };
  const partialResult = unpackResult(partial);
  return {
    content: [
      { type: "text", text: `${text}\n${PARTIAL_RESULT_FOLLOWS}` },
      ...partialResult.content,
    ],
    structuredContent: { ...structuredContent, result: partialResult.structuredContent ?? partial },
    isError: true,
    _meta: meta,
  };
}

const PARTIAL_RESULT_FOLLOWS = "What the tool had so far follows.";

function resultFrom(output: Json, meta: JsonObject): ToolResult {
  const { content, structuredContent, rest } = unpackResult(output);
  const _meta = rest._meta ? { ...rest._meta, ...meta } : meta;
  return structuredContent === undefined
    ? { content, _meta }
    : { content, structuredContent, _meta };
}

/** MCP: the client lacks a capability that the server needs. Passed on unchanged. */
const MISSING_CAPABILITY = -32021;

/** The protocol error to answer with; null: a result. `isTheClients`: the error may blame the client's capabilities. */
export function rpcErrorOf(
  outcome: Outcome,
  nameAsSent: string,
  isTheClients = true,
): RpcError | null {
  if (isUnknown(outcome)) return unknownTool(nameAsSent);
  const error = outcome.success || !isTheClients ? null : unpackError(outcome.output);
  return error?.code === MISSING_CAPABILITY ? error : null;
}

/** HTTP status of a JSON-RPC error that a call ended with. */
export const statusOf = ({ code }: RpcError): number => (code === MISSING_CAPABILITY ? 400 : 200);

/** The error of a failed read, prompt or completion: MCP has no error results for them. */
export function contentError(outcome: Outcome, absent: RpcError): RpcError {
  if (isUnknown(outcome)) return absent;
  const upstreamError = unpackError(outcome.output);
  if (upstreamError) return upstreamError;
  const error = exposedFault(outcome);
  const { code, reason, message, remedy } = error;
  return {
    code: CODES[code].rpc,
    message: `${code} (${reason}): ${message}`,
    data: {
      code,
      reason,
      executionId: outcome.executionId,
      ...(remedy === undefined ? {} : { remedy }),
    },
  };
}

/** Without what is not for callers. */
export function exposedFault(outcome: Outcome): Fault {
  const fault: Fault = outcome.error ?? {
    code: "EXECUTION_FAILED",
    reason: "unexpected",
    message: `The execution ended as ${outcome.status}`,
  };
  const { expose, title } = CODES[fault.code];
  return expose ? fault : { code: fault.code, reason: fault.reason, message: title };
}

/** The text for the model: what happened, where, what to do. */
function faultText(fault: Fault, executionId: string): string {
  const lines = [`${fault.code} (${fault.reason}): ${fault.message}`];
  for (const { path, message, suggestion } of fault.errors ?? []) {
    lines.push(`- ${path || "/"}: ${message}${suggestion ? ` (${suggestion})` : ""}`);
  }
  if (fault.remedy) lines.push(`What to do: ${fault.remedy}`);
  if (fault.retryAfterSeconds !== undefined) {
    lines.push(`Wait ${fault.retryAfterSeconds} s before the next try.`);
  }
  lines.push(`Execution: ${executionId}`);
  return lines.join("\n");
}
