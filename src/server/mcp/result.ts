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

/** In `_meta`: of a result, whose it is; of a call, which earlier one it comes back to. */
export const EXECUTION_KEY = "ostiary/executionId";

/** In `_meta` of a result: what the tool noted, e.g. the files it touched. */
const METADATA_KEY = "ostiary/metadata";

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  /** Need not be an object; the older era wraps what is none. */
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

/** The same words whether the name is unknown, invisible to this caller or another tenant's. */
export const unknownTool = (nameAsSent: string): RpcError => ({
  code: -32602,
  message: `Unknown tool: ${nameAsSent}`,
});

/** For what `engine.execute` throws: the store could not take the record. Goes out with HTTP 503. */
export function notRecorded(cause: unknown): RpcError {
  const code = -32603;
  if (!(cause instanceof AppError)) return { code, message: "not recorded, not run" };
  if (cause.code === "OUTCOME_UNKNOWN") return { code, message: `${cause.code}: ${cause.message}` };
  return { code, message: `not recorded, not run: ${cause.message}` };
}

/** What a client is told of a failure inside the server: nothing but this. */
export const INTERNAL: RpcError = { code: -32603, message: "Internal error" };

/** True when the answer must be `unknownTool`: the caller may not learn that the name exists. */
export const isUnknown = (outcome: Outcome): boolean =>
  !outcome.visible && outcome.error?.code === "NOT_FOUND";

/** Always ours: whose server stands behind it is in the title. */
export const serverInfo = (
  version: string,
  server: string | null = null,
): { name: string; title: string; version: string } => ({
  name: "ostiary",
  title: server === null ? "Ostiary" : `Ostiary in front of ${server}`,
  version,
});

/** What a server upstream calls its resources, as all servers together have it. A server's name has no plus. */
export const prefixed = (server: string, uri: string): string => `${server}+${uri}`;

/** `route`: the server whose own face is looked at; null: all together, where its resources have other names. */
export function toolResult(outcome: Outcome, route: string | null = null): ToolResult {
  const result = resultOf(outcome);
  const { server } = outcome.metadata;
  if (route !== null || typeof server !== "string") return result;
  return { ...result, content: result.content.map((block) => withPrefixedUris(block, server)) };
}

/** Whoever follows a link must find it. */
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
  // Who got what they asked for finds the verdicts under the execution's id; a refusal shows them at once.
  if (outcome.visible) meta["ostiary/gates"] = outcome.gates as unknown as Json; // plain data by type
  const error = faultOfOutcome(outcome);
  meta["ostiary/error"] = { code: error.code, reason: error.reason };
  // What a tool upstream says of its own failure is for the model, as it was said.
  if (isToolError(outcome.output)) return { ...resultFrom(outcome.output, meta), isError: true };
  const { executionId, status } = outcome;
  const structuredContent = { error: error as unknown as JsonObject, executionId, status };
  const text = faultText(error, executionId);
  const partial = partialOf(outcome);
  if (partial === null)
    return { content: [{ type: "text", text }], structuredContent, isError: true, _meta: meta };
  const soFar = unpackResult(partial);
  return {
    content: [{ type: "text", text: `${text}\n${SO_FAR}` }, ...soFar.content],
    structuredContent: { ...structuredContent, result: soFar.structuredContent ?? partial },
    isError: true,
    _meta: meta,
  };
}

/** The model reads the blocks one after the other. */
const SO_FAR = "What the tool had so far follows.";

function resultFrom(output: Json, meta: JsonObject): ToolResult {
  const { content, structuredContent, rest } = unpackResult(output);
  const _meta = rest._meta ? { ...rest._meta, ...meta } : meta;
  return structuredContent === undefined
    ? { content, _meta }
    : { content, structuredContent, _meta };
}

/** Of the specification: the client did not declare what the server needs of it. It must reach the client as such. */
const MISSING_CAPABILITY = -32021;

/** The answer when it must be an error of the protocol; null: a result. `isTheClients`: it can be told what it lacks. */
export function rpcErrorOf(
  outcome: Outcome,
  nameAsSent: string,
  isTheClients = true,
): RpcError | null {
  if (isUnknown(outcome)) return unknownTool(nameAsSent);
  const told = outcome.success || !isTheClients ? null : unpackError(outcome.output);
  return told?.code === MISSING_CAPABILITY ? told : null;
}

/** HTTP of a JSON-RPC error that a call ended with. */
export const statusOf = ({ code }: RpcError): number => (code === MISSING_CAPABILITY ? 400 : 200);

/** What a client is told when reading, prompting or completing failed: there are no results for that. */
export function contentError(outcome: Outcome, absent: RpcError): RpcError {
  if (isUnknown(outcome)) return absent;
  const told = unpackError(outcome.output);
  if (told) return told;
  const error = faultOfOutcome(outcome);
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

function faultOfOutcome(outcome: Outcome): Fault {
  const fault: Fault = outcome.error ?? {
    code: "EXECUTION_FAILED",
    reason: "unexpected",
    message: `The execution ended as ${outcome.status}`,
  };
  const { expose, title } = CODES[fault.code];
  return expose ? fault : { code: fault.code, reason: fault.reason, message: title };
}

/** The model reads only this: what happened, where, what to do. */
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
