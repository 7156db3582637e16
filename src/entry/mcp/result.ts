// One mapping from Outcome to the wire, shared by the fast path and the SDK path. Imports nothing of the SDK.
import type { Json, JsonObject, Outcome } from "../../call.ts";
import { AppError, CODES, type Fault } from "../../errors.ts";
import { isObject } from "./body.ts";

/**
 * A native tool that has more to show than JSON returns its blocks under this key:
 * `{ $content: [{ type: "image", data, mimeType }], width: 10 }`. The blocks become `content`, the other fields
 * `structuredContent`. Anything that is not a list of well-formed blocks is an ordinary output.
 */
export const CONTENT_KEY = "$content";

/** In `_meta`: of a result, whose it is; of a call, which earlier one it comes back to. */
export const EXECUTION_KEY = "ostiary/executionId";

export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: EmbeddedResource }
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string };
type EmbeddedResource =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };

export interface ToolResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: JsonObject;
  readonly isError?: true;
  readonly _meta: JsonObject;
}

/** An answer that is a JSON-RPC error, not a result. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** The same words whether the name is unknown, invisible to this caller or another tenant's. */
export const unknownTool = (nameAsSent: string): RpcError => ({
  code: -32602,
  message: `Unknown tool: ${nameAsSent}`,
});

/** For what `engine.execute` throws: the store could not take the record. Goes out with HTTP 503. */
export function notRecorded(cause: unknown): RpcError {
  const mayHaveRun = cause instanceof AppError && cause.code === "OUTCOME_UNKNOWN";
  const message = mayHaveRun ? `${cause.code}: ${cause.message}` : "not recorded, not run";
  return { code: -32603, message };
}

/** What a client is told of a failure inside the server: nothing but this. */
export const INTERNAL: RpcError = { code: -32603, message: "Internal error" };

/** True when the answer must be `unknownTool`: the caller may not learn that the name exists. */
export const isUnknown = (outcome: Outcome): boolean =>
  !outcome.visible && outcome.error?.code === "NOT_FOUND";

export const serverInfo = (version: string): { name: string; title: string; version: string } => ({
  name: "ostiary",
  title: "Ostiary",
  version,
});

export function toolResult(outcome: Outcome): ToolResult {
  const meta: Record<string, Json> = {
    [EXECUTION_KEY]: outcome.executionId,
    "ostiary/status": outcome.status,
  };
  if (outcome.success) return { ...success(outcome.output), _meta: meta };
  // Who got what they asked for finds the verdicts under the execution's id; a refusal shows them at once.
  if (outcome.visible) meta["ostiary/gates"] = outcome.gates as unknown as Json; // plain data by type
  const error = faultOfOutcome(outcome);
  meta["ostiary/error"] = { code: error.code, reason: error.reason };
  return {
    content: [{ type: "text", text: faultText(error, outcome.executionId) }],
    structuredContent: {
      error: error as unknown as JsonObject,
      executionId: outcome.executionId,
      status: outcome.status,
    },
    isError: true,
    _meta: meta,
  };
}

function success(output: Json): Pick<ToolResult, "content" | "structuredContent"> {
  if (typeof output === "string") return { content: [{ type: "text", text: output }] };
  if (!isObject(output)) return { content: [{ type: "text", text: JSON.stringify(output) }] };
  const blocks = output[CONTENT_KEY];
  if (!isContent(blocks)) {
    return {
      content: [{ type: "text", text: JSON.stringify(output) }],
      structuredContent: output,
    };
  }
  const { [CONTENT_KEY]: _blocks, ...rest } = output;
  return {
    content: blocks,
    ...(Object.keys(rest).length > 0 && { structuredContent: rest }),
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

function isContent(value: Json | undefined): value is readonly (ContentBlock & JsonObject)[] {
  return Array.isArray(value) && value.length > 0 && (value as readonly Json[]).every(isBlock);
}

function isBlock(block: Json): boolean {
  if (!isObject(block)) return false;
  const strings = (object: JsonObject, ...keys: string[]) =>
    keys.every((key) => typeof object[key] === "string");
  switch (block["type"]) {
    case "text":
      return strings(block, "text");
    case "image":
    case "audio":
      return strings(block, "data", "mimeType");
    case "resource": {
      const resource = block["resource"];
      return (
        isObject(resource) &&
        strings(resource, "uri") &&
        (strings(resource, "text") || strings(resource, "blob"))
      );
    }
    case "resource_link":
      return strings(block, "uri", "name");
    default:
      return false;
  }
}
