// `tools/list`: how a Tool looks on the wire, and pages with a signed cursor. Imports nothing of the SDK.
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { Caller, JsonObject } from "../../call.ts";
import type { Tool } from "../../tools/tool.ts";
import { CONTENT_KEY } from "./result.ts";

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

/** Deprecated tools still answer, but nobody new should find them. */
export const listable = (tools: readonly Tool[]): Tool[] =>
  tools.filter((tool) => tool.deprecated === null);

export function listedTool(tool: Tool): ListedTool {
  const readOnly = tool.effects === "read_only" || tool.effects === "essential_health_check";
  const outputSchema = wrapOutput(tool.outputSchema);
  return {
    name: tool.wireName,
    title: tool.displayName,
    description: tool.description,
    inputSchema: { ...tool.inputSchema, type: "object" },
    ...(outputSchema && { outputSchema }),
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint:
        !readOnly && (tool.risk === "dangerous" || tool.effects === "system_dangerous"),
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

/** Null when the cursor is not ours, not this caller's, or the set has changed since: the client starts again. */
export function page(
  caller: Caller,
  tools: readonly Tool[],
  cursor: string | undefined,
  key: Uint8Array,
): Page | null {
  const sign = cursorSigner(caller, tools, key);
  const start = cursor === undefined ? 0 : offsetOf(cursor, sign);
  if (start === null) return null;
  const end = start + PAGE_SIZE;
  return {
    tools: tools.slice(start, end).map(listedTool),
    ...(end < tools.length && { nextCursor: `${end}.${sign(end)}` }),
  };
}

type Signer = (offset: number) => string;

function cursorSigner(caller: Caller, tools: readonly Tool[], key: Uint8Array): Signer {
  let set: string | undefined;
  return (offset) => {
    set ??= createHash("sha256")
      .update(tools.map((tool) => `${tool.wireName} ${tool.pin}`).join("\n"))
      .digest("base64url");
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
