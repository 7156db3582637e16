// `tools/list`: how a Tool looks on the wire, and pages with a signed cursor. Imports nothing of the SDK.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Listing } from "../../storage/store/store.ts";
import type { Tool } from "../../contract/tool.ts";
import { WAYS_TO_TOOLS } from "../../util/tool-search.ts";
import { CONTENT_KEY } from "../../util/mcp-output.ts";
import { nameOnRoute } from "./views.ts";

export const PAGE_SIZE = 100;

export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object" } & JsonObject;
  readonly outputSchema?: { readonly type: "object" } & JsonObject;
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  readonly _meta: JsonObject;
}

export interface Page {
  readonly tools: readonly ListedTool[];
  readonly nextCursor?: string;
}

/** Deprecated tools still run but are not listed. With listing `search` only the search tools are listed. */
export const listable = (tools: readonly Tool[], listing: Listing = "full"): Tool[] =>
  tools.filter(
    ({ deprecated, name }) =>
      deprecated === null && WAYS_TO_TOOLS.includes(name) === (listing === "search"),
  );

export function listedTool(tool: Tool, server: string | null = null): ListedTool {
  const readOnly = tool.effects === "read_only" || tool.effects === "essential_health_check";
  const outputSchema = wrapOutput(tool.outputSchema);
  return {
    name: nameOnRoute(tool, server),
    title: tool.displayName,
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: "object" },
    ...(outputSchema && { outputSchema }),
    annotations: {
      readOnlyHint: readOnly,
      // A tool that calls other tools can do what they do.
      destructiveHint:
        !readOnly &&
        (tool.risk === "dangerous" ||
          tool.effects === "system_dangerous" ||
          WAYS_TO_TOOLS.includes(tool.name)),
      idempotentHint: tool.idempotent,
      openWorldHint: tool.openWorld,
    },
    _meta: { "ostiary/name": tool.name, "ostiary/risk": tool.risk },
  };
}

/**
 * SDK v1 clients check `structuredContent` against this even when `isError` is true, so the error object must fit too.
 * Only an object can be structured content in both eras; other schemas are not listed.
 */
function wrapOutput(schema: JsonObject | null): ListedTool["outputSchema"] | undefined {
  if (schema === null || schema["type"] !== "object") return undefined;
  const properties = schema["properties"];
  if (typeof properties === "object" && properties !== null && CONTENT_KEY in properties) {
    return undefined;
  }
  const { $schema, $defs, ...rest } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: "object",
    anyOf: [rest, { properties: { error: { type: "object" } }, required: ["error"] }],
    // References inside the schema point at the root, so the definitions stay there.
    ...($defs !== undefined && { $defs }),
  };
}

/** All entries, and a version text of each: a cursor becomes invalid when one changes. */
export interface ListedEntries<T> {
  readonly entries: readonly T[];
  versions(): readonly string[];
}

export interface CutPage<T> {
  readonly entries: readonly T[];
  readonly nextCursor?: string;
}

/** Null: the cursor is not ours, not this caller's, or the entries have changed; the client must list again. */
export function cutPage<T>(
  caller: Caller,
  { entries, versions }: ListedEntries<T>,
  cursor: string | undefined,
  key: Uint8Array,
): CutPage<T> | null {
  const sign = cursorSigner(caller, versions, key);
  const start = cursor === undefined ? 0 : offsetOf(cursor, sign);
  if (start === null) return null;
  const end = start + PAGE_SIZE;
  return {
    entries: entries.slice(start, end),
    ...(end < entries.length && { nextCursor: `${end}.${sign(end)}` }),
  };
}

/** A page of tools, under their names on this route. */
export function toolPage(
  caller: Caller,
  tools: readonly Tool[],
  cursor: string | undefined,
  key: Uint8Array,
  server: string | null = null,
): Page | null {
  const versions = () => tools.map((tool) => `${nameOnRoute(tool, server)} ${tool.pin}`);
  const part = cutPage(caller, { entries: tools, versions }, cursor, key);
  if (part === null) return null;
  const { entries, ...rest } = part;
  return { tools: entries.map((tool) => listedTool(tool, server)), ...rest };
}

type Signer = (offset: number) => string;

function cursorSigner(caller: Caller, versions: () => readonly string[], key: Uint8Array): Signer {
  let set: string | undefined;
  return (offset) => {
    set ??= createHash("sha256").update(versions().join("\n")).digest("base64url");
    const facts = [caller.tenantId, caller.userId, caller.keyId, set, offset];
    return createHmac("sha256", key).update(JSON.stringify(facts)).digest("base64url");
  };
}

function offsetOf(cursor: string, sign: Signer): number | null {
  const match = /^(\d{1,9})\.([\w-]{43})$/.exec(cursor);
  if (!match) return null;
  const offset = Number(match[1]);
  const given = Buffer.from(match[2] ?? "");
  const expected = Buffer.from(sign(offset));
  return given.length === expected.length && timingSafeEqual(given, expected) ? offset : null;
}
