// A result of MCP as the output of an execution, and back. Runners pack, doors unpack: one encoding
// for both, so that nothing of it is lost on the way through gate and record. Imports nothing of the SDK.
import type { Json, JsonObject, Outcome } from "../contract/call.ts";

/**
 * What has more to show than JSON is packed under this key: `{ $content: [{ type: "image", data, mimeType }], width:
 * 10 }`. The blocks become `content`, the other fields `structuredContent`. Anything that is not a list of
 * well-formed blocks is an ordinary output.
 */
export const CONTENT_KEY = "$content";
/** Structured content that cannot lie beside the blocks: no object, an empty one, or one that has keys of ours. */
const STRUCTURED_KEY = "$structured";
/** The tool itself reports that it failed; the blocks describe it. */
const IS_ERROR_KEY = "$isError";
const META_KEY = "$meta";
/** Instead of a result: the JSON-RPC error that a server answered with. */
const RPC_ERROR_KEY = "$rpcError";

const OURS: readonly string[] = [
  CONTENT_KEY,
  STRUCTURED_KEY,
  IS_ERROR_KEY,
  META_KEY,
  RPC_ERROR_KEY,
];

export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: EmbeddedResource }
  | { readonly type: "resource_link"; readonly uri: string; readonly name: string };
type EmbeddedResource =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };

export interface UnpackedResult {
  readonly content: readonly ContentBlock[];
  /** Absent: there was none. It need not be an object. */
  readonly structuredContent?: Json;
  readonly isError?: true;
  /** Fields of the result besides these: `_meta` without reserved keys. */
  readonly rest: { readonly _meta?: JsonObject };
}

/** The error of a server as JSON-RPC has it. */
export interface PackedError {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Fields that belong to one hop. */
const OF_THE_HOP: readonly string[] = ["resultType", "ttlMs", "cacheScope", "_meta"];

/** What a server called a result is none; the message says what was expected. */
export class NoResult extends Error {}

/** The result of a method as the output of its execution. Throws NoResult. */
export function packResult(result: JsonObject, method = "tools/call"): Json {
  const meta = keptMeta(result["_meta"]);
  if (method !== "tools/call") {
    const kept = Object.entries(result).filter(([key]) => !OF_THE_HOP.includes(key));
    return Object.fromEntries([...kept, ...(meta ? [["_meta", meta] as const] : [])]);
  }
  const { content = [], structuredContent, isError } = result;
  if (!isContent(content)) {
    throw new NoResult(
      "expected content to be a list of text, image, audio, resource or resource_link blocks",
    );
  }
  // One is made for every call: copying objects is what would cost.
  const output: Record<string, Json> = { [CONTENT_KEY]: content };
  if (liesBeside(structuredContent)) Object.assign(output, structuredContent);
  else if (structuredContent !== undefined) output[STRUCTURED_KEY] = structuredContent;
  if (isError === true) output[IS_ERROR_KEY] = true;
  if (meta) output[META_KEY] = meta;
  return output;
}

/** An output as a result of `tools/call`; one that nobody packed is shown as its JSON. */
export function unpackResult(output: Json): UnpackedResult {
  if (typeof output === "string") return { content: [{ type: "text", text: output }], rest: {} };
  const text = (): ContentBlock => ({ type: "text", text: JSON.stringify(output) });
  if (!isObject(output)) return { content: [text()], rest: {} };
  const blocks = output[CONTENT_KEY];
  if (!isContent(blocks)) return { content: [text()], structuredContent: output, rest: {} };
  const { [STRUCTURED_KEY]: apart, [META_KEY]: meta } = output;
  const structuredContent = apart === undefined ? besideOf(output) : apart;
  return {
    content: blocks,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(output[IS_ERROR_KEY] === true ? { isError: true } : {}),
    rest: isObject(meta) ? { _meta: meta } : {},
  };
}

/** What lies beside the blocks; undefined when nothing does. */
function besideOf(output: JsonObject): JsonObject | undefined {
  let beside: Record<string, Json> | undefined;
  for (const key of Object.keys(output)) {
    if (OURS.includes(key)) continue;
    beside ??= {};
    beside[key] = output[key] ?? null;
  }
  return beside;
}

/** True for an upstream tool's own description of its failure: it is shown instead of ours. */
export const isToolError = (output: Json): boolean =>
  isObject(output) && output[IS_ERROR_KEY] === true && isContent(output[CONTENT_KEY]);

/**
 * What a call had so far that did not succeed; null: nothing. A server's own description of its failure is not part of
 * it.
 */
export const partialOf = ({ success, output }: Pick<Outcome, "success" | "output">): Json =>
  success || isToolError(output) || unpackError(output) !== null ? null : output;

/** The output of an execution that a server answered with an error. */
export const packError = ({ code, message, data }: PackedError): Json => ({
  [RPC_ERROR_KEY]: { code, message, ...(data === undefined ? {} : { data }) },
});

export function unpackError(output: Json): PackedError | null {
  const error = isObject(output) ? output[RPC_ERROR_KEY] : undefined;
  if (!isObject(error)) return null;
  const { code, message, data } = error;
  if (!Number.isSafeInteger(code) || typeof message !== "string") return null;
  return { code: code as number, message, ...(data === undefined ? {} : { data }) };
}

function liesBeside(structured: Json | undefined): structured is JsonObject {
  if (!isObject(structured)) return false;
  const keys = Object.keys(structured);
  return keys.length > 0 && !keys.some((key) => OURS.includes(key));
}

/** A longer one is no name. */
const MAX_META_NAME = 512;
/** Names that MCP keeps for itself, and ours, are no server's to say. */
const RESERVED = /^(?:[^/]*\.)?(?:mcp|modelcontextprotocol|ostiary)(?:\.[^/]*)?\//i;
const BARE_RESERVED: readonly string[] = ["progressToken", "traceparent", "tracestate", "baggage"];

function keptMeta(meta: Json | undefined): JsonObject | null {
  if (!isObject(meta)) return null;
  let kept: Record<string, Json> | null = null;
  for (const key of Object.keys(meta)) {
    if (key.length > MAX_META_NAME || RESERVED.test(key) || BARE_RESERVED.includes(key)) continue;
    kept ??= {};
    kept[key] = meta[key] ?? null;
  }
  return kept;
}

function isContent(value: Json | undefined): value is readonly (ContentBlock & JsonObject)[] {
  return Array.isArray(value) && (value as readonly Json[]).every(isBlock);
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

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
