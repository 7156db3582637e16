import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Caller } from "../../contract/call.ts";
import { defineTool, type Tool } from "../../contract/tool.ts";
import { listable, listedTool, PAGE_SIZE, toolPage } from "./listing.ts";

const KEY = Buffer.alloc(32, 7);
const caller = (userId = "u"): Caller => ({
  tenantId: "t",
  userId,
  role: "user",
  roles: [],
  plan: null,
  plans: { tenant: null, user: null, key: null },
  level: "admin",
  scopes: [],
  capsuleId: null,
  keyId: "k",
  limits: null,
  via: "key",
});

function tool(name: string, change: Partial<Parameters<typeof defineTool>[0]> = {}): Tool {
  return defineTool({
    name: `test/${name}`,
    description: "Does nothing.",
    input: z.strictObject({}),
    output: z.strictObject({ a: z.number() }),
    risk: "safe",
    effects: "read_only",
    needs: [],
    timeoutMs: 1_000,
    examples: [{}],
    run: () => ({ a: 1 }),
    ...change,
  });
}

const many = (count: number): Tool[] =>
  Array.from({ length: count }, (_, index) => tool(`n${String(index).padStart(4, "0")}`));

describe("a listed tool", () => {
  test("R233: has its wire name, an object schema and hints from what it may do", () => {
    expect(listedTool(tool("a"))).toMatchObject({
      name: "test_a",
      title: "A",
      inputSchema: { type: "object" },
      annotations: {
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
      _meta: { "ostiary/name": "test/a" },
    });
    const dangerous = listedTool(tool("b", { risk: "dangerous", effects: "system_dangerous" }));
    expect(dangerous.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    const far = listedTool(tool("c", { effects: "network" }));
    expect(far.annotations).toMatchObject({ openWorldHint: true, destructiveHint: false });
  });

  test("accepts its own output and an error by its output schema, nothing else", () => {
    const validate = new Ajv2020().compile(listedTool(tool("a")).outputSchema as object);
    expect(validate({ a: 1 })).toBe(true);
    expect(validate({ error: { code: "FORBIDDEN" }, executionId: "e" })).toBe(true);
    expect(validate({ a: "x" })).toBe(false);
    expect(validate({})).toBe(false);
  });

  test("keeps the definitions of its output schema where references find them", () => {
    const node: z.ZodType = z.strictObject({ next: z.lazy(() => node).optional() });
    const listed = listedTool(tool("a", { output: z.strictObject({ first: node }) }));
    const validate = new Ajv2020({ strict: false }).compile(listed.outputSchema as object);
    expect(validate({ first: { next: { next: {} } } })).toBe(true);
    expect(validate({ first: { next: 1 } })).toBe(false);
  });

  test.each([
    ["no object", z.array(z.number())],
    ["content blocks", z.object({ $content: z.array(z.unknown()) })],
  ])("lists no output schema for %s", (_what, output) => {
    expect(listedTool(tool("a", { output })).outputSchema).toBeUndefined();
  });
});

describe("pages", () => {
  const tools = many(2 * PAGE_SIZE + 1);
  const walk = (set: readonly Tool[]): string[] => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const next = toolPage(caller(), set, cursor, KEY)!;
      names.push(...next.tools.map((listed) => listed.name));
      cursor = next.nextCursor;
    } while (cursor !== undefined);
    return names;
  };

  test("hold every tool once, in order", () => {
    expect(walk(tools)).toEqual(tools.map((one) => one.wireName));
    expect(toolPage(caller(), many(PAGE_SIZE), undefined, KEY)?.nextCursor).toBeUndefined();
    expect(toolPage(caller(), [], undefined, KEY)).toEqual({ tools: [] });
  });

  test("end when the set has changed, the caller is another, or the cursor is not ours", () => {
    const cursor = toolPage(caller(), tools, undefined, KEY)!.nextCursor!;
    expect(toolPage(caller(), tools, cursor, KEY)).not.toBeNull();
    expect(toolPage(caller(), tools.slice(1), cursor, KEY)).toBeNull();
    expect(toolPage(caller("other"), tools, cursor, KEY)).toBeNull();
    expect(toolPage(caller(), tools, cursor, Buffer.alloc(32, 8))).toBeNull();
    expect(toolPage(caller(), tools, cursor.replace(/^\d+/, "150"), KEY)).toBeNull();
    for (const forged of ["", "x", "100", "100.", "-1.x"]) {
      expect(toolPage(caller(), tools, forged, KEY)).toBeNull();
    }
  });

  test("a search is listed instead of the tools, and only where it was chosen", () => {
    const all = ["system/call_tool", "system/run_code", "test/a"].map((name) => ({
      ...tool("a"),
      name,
    }));
    expect(listable(all).map(({ name }) => name)).toEqual(["test/a"]);
    expect(listable(all, "search").map(({ name }) => name)).toEqual([
      "system/call_tool",
      "system/run_code",
    ]);
    expect(all.map((one) => listedTool(one).annotations.destructiveHint)).toEqual([
      false,
      false,
      false,
    ]);
    const relay = { ...tool("a"), name: "system/call_tool", effects: "network" as const };
    expect(listedTool(relay).annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    });
  });

  test("leave out what is deprecated", () => {
    const old = tool("old", { deprecated: { since: "1.0.0" } });
    expect(listable([tool("a"), old]).map((one) => one.wireName)).toEqual(["test_a"]);
  });
});
