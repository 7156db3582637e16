// The registry through the real store: what may register, by which names it is found, what outlives a restart.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { testTool } from "../../test/fixtures/gate.ts";
import type { JsonObject } from "../contract/call.ts";
import { openStore, type Store } from "../storage/store/store.ts";
import { NATIVE_TOOLS } from "./index.ts";
import { filterTools, openRegistry, type Registry } from "./registry.ts";
import { CATEGORIES, defineTool, EFFECTS, freezeTool, RISKS, type Tool } from "../contract/tool.ts";

let dataDir: string;
let store: Store;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-registry-"));
  store = await openStore("sqlite:store.db", { dataDir });
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const open = (native: readonly Tool[] = []): Promise<Registry> => openRegistry(store, native);
const BASE = testTool();
const tool = (name: string, change: Partial<Omit<Tool, "pin">> = {}): Tool =>
  freezeTool({
    ...BASE,
    id: name,
    name,
    wireName: name.replace("/", "_"),
    category: name.split("/", 1)[0] ?? "",
    ...change,
  });
const names = (tools: readonly Tool[]): string[] => tools.map(({ name }) => name);
const many = (count: number): Tool[] =>
  Array.from({ length: count }, (_, i) => tool(`system/t${String(i).padStart(4, "0")}`));
const external = (name: string, change: Partial<Omit<Tool, "pin">> = {}): Tool =>
  tool(name, { provider: "external", native: null, ...change });

describe("registering", () => {
  test("R001 R002 R003: the native list is there at start, and one more needs nothing but itself", async () => {
    const registry = await open(NATIVE_TOOLS);
    expect(names(registry.all()).sort()).toEqual(names(NATIVE_TOOLS).sort());
    expect(registry.all().map(({ wireName }) => wireName)).toEqual(
      NATIVE_TOOLS.map(({ wireName }) => wireName).sort(),
    );
    const added = defineTool({
      name: "web/ping",
      description: "Answers at once. For tests only.",
      input: z.strictObject({ host: z.string().max(99) }),
      output: z.strictObject({ ok: z.boolean() }),
      risk: "moderate",
      effects: "network",
      needs: [],
      timeoutMs: 5_000,
      examples: [{ host: "a" }],
      run: async () => Promise.resolve({ ok: true }),
    });
    await registry.register(added);
    expect(registry.get("web/ping")).toBe(added);
    expect(added.inputSchema).toMatchObject({
      type: "object",
      required: ["host"],
      additionalProperties: false,
    });
  });

  test("R004: a name that is not category/name is refused, whoever made the definition", async () => {
    const registry = await open();
    for (const name of [
      "echo",
      "system/",
      "/echo",
      "System/echo",
      "system/echo/x",
      "system/é",
      "system/a-b",
      `system/${"x".repeat(41)}`,
    ]) {
      const definition = { ...testTool(), name, category: "system" };
      await expect(registry.register(definition)).rejects.toMatchObject({
        fault: {
          code: "BAD_REQUEST",
          reason: "invalid_input",
          errors: expect.arrayContaining([expect.objectContaining({ path: "/name" })]) as unknown,
        },
      });
      expect(() =>
        defineTool({
          name,
          description: "x",
          input: z.strictObject({}),
          output: z.strictObject({}),
          risk: "safe",
          effects: "read_only",
          needs: [],
          timeoutMs: 5_000,
          examples: [],
          run: () => ({}),
        }),
      ).toThrow(/expected category\/name/);
      expect(registry.get(name)).toBeNull();
    }
    expect(await store.capabilities.all()).toEqual([]);
  });

  test("C28: the first part is one of the ten categories", async () => {
    expect([...CATEGORIES].sort()).toEqual([
      "agent",
      "ai",
      "browser",
      "database",
      "file",
      "memory",
      "shell",
      "system",
      "web",
      "workflow",
    ]);
    const registry = await open();
    for (const category of CATEGORIES) await registry.register(tool(`${category}/one`));
    await expect(registry.register(tool("games/chess"))).rejects.toMatchObject({
      fault: { errors: [{ path: "/category" }] },
    });
    await expect(registry.register(tool("system/x", { category: "file" }))).rejects.toMatchObject({
      fault: { errors: [{ path: "/category" }] },
    });
  });

  test("R008: every fault of a definition is named, and nothing of it stays", async () => {
    const bad = {
      ...testTool(),
      description: " ",
      risk: "harmless" as "safe",
      effects: "magic" as "network",
      timeoutMs: 5,
      inputSchema: { type: "string" },
      native: null,
    };
    const registry = await open();
    const paths = ["/description", "/risk", "/effects", "/inputSchema", "/timeoutMs", "/native"];
    await expect(registry.register(tool("file/fine"), bad)).rejects.toMatchObject({
      fault: { errors: paths.map((path) => ({ path })) },
    });
    expect(registry.all()).toEqual([]);
    expect(await store.capabilities.all()).toEqual([]);
    await expect(open([bad])).rejects.toMatchObject({ fault: { code: "BAD_REQUEST" } });
  });

  test("R008: a definition cannot be changed once it is registered", async () => {
    const registry = await open();
    const loose = {
      ...tool("file/loose"),
      tags: ["a"],
      inputSchema: { type: "object", properties: { path: { type: "string" } } },
    };
    await registry.register(loose);
    const kept = registry.get("file/loose");
    const schema = kept?.inputSchema as { properties: { path: object } };
    for (const part of [kept, kept?.tags, schema, schema.properties, schema.properties.path]) {
      expect(Object.isFrozen(part)).toBe(true);
      expect(() => Object.assign(part as object, { risk: "safe", 0: "x" })).toThrow(TypeError);
    }
    loose.description = "changed afterwards";
    expect(registry.get("file/loose")?.description).not.toBe("changed afterwards");
    for (const native of NATIVE_TOOLS) expect(deeplyFrozen(native)).toBe(true);
  });

  test("R006: a name, wire name or alias that is taken is refused, and the first tool stays", async () => {
    const first = tool("file/read", { aliases: ["cat", "read_file"] });
    const registry = await open([first]);
    const clashes = [
      tool("file/read"),
      tool("web/get", { wireName: "file_read" }),
      tool("web/get", { aliases: ["cat"] }),
      tool("web/get", { aliases: ["file/read"] }),
      tool("web/get", { wireName: "read_file" }),
    ];
    for (const clash of clashes) {
      await expect(registry.register(clash)).rejects.toMatchObject({
        fault: { code: "CONFLICT", reason: "already_exists" },
      });
    }
    const twins = [tool("web/one"), tool("web/two", { aliases: ["web_one"] })];
    await expect(registry.register(...twins)).rejects.toMatchObject({
      fault: { code: "CONFLICT" },
    });
    const both = await Promise.allSettled([
      registry.register(tool("web/at_once")),
      registry.register(tool("web/at_once")),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(names(registry.all())).toEqual(["file/read", "web/at_once"]);
    for (const name of ["file/read", "file_read", "cat", "read_file"])
      expect(registry.get(name)).toBe(first);
    await expect(open([first, tool("web/x", { aliases: ["cat"] })])).rejects.toMatchObject({
      fault: { code: "CONFLICT" },
    });
  });

  test("R007 R126: toolRegistered is emitted after the store has it; listeners can leave", async () => {
    const registry = await open([tool("file/native")]);
    const heard: string[] = [];
    const leave = registry.on("toolRegistered", ({ name }) => heard.push(name));
    await registry.register(tool("file/a"), tool("file/b"));
    expect(heard).toEqual(["file/a", "file/b"]);
    expect(names((await store.capabilities.all()) as Tool[])).toEqual([
      "file/a",
      "file/b",
      "file/native",
    ]);
    await expect(registry.register(tool("file/a"))).rejects.toThrow();
    leave();
    await registry.register(tool("file/c"));
    expect(heard).toEqual(["file/a", "file/b"]);
  });

  test("a store that cannot write leaves no tool behind, and nobody is told", async () => {
    const capabilities = { ...store.capabilities, save: () => Promise.reject(new Error("full")) };
    const registry = await openRegistry({ capabilities }, []);
    const heard: string[] = [];
    registry.on("toolRegistered", ({ name }) => heard.push(name));
    await expect(registry.register(tool("file/a"))).rejects.toThrow("full");
    expect([registry.get("file/a"), registry.all(), heard]).toEqual([null, [], []]);
  });

  test("R007: unregister takes every name away, and says whether there was one", async () => {
    const registry = await open();
    await registry.register(tool("file/gone", { aliases: ["bye"] }));
    const changed: string[] = [];
    registry.on("toolChanged", ({ name }) => changed.push(name));
    const before = registry.revision;
    expect(await registry.unregister("bye")).toBe(true);
    expect(await registry.unregister("file/gone")).toBe(false);
    for (const name of ["file/gone", "file_gone", "bye"]) expect(registry.get(name)).toBeNull();
    expect([changed, registry.revision > before]).toEqual([["file/gone"], true]);
    expect(await store.capabilities.all()).toEqual([]);
    await registry.register(tool("file/gone"));
  });
});

describe("looking up", () => {
  test("R013: an absent name gives null, not an exception", async () => {
    const registry = await open(NATIVE_TOOLS);
    for (const name of ["no/such", "", "constructor", "__proto__", "toString", "SYSTEM/ECHO"])
      expect(registry.get(name)).toBeNull();
    expect(await registry.unregister("no/such")).toBe(false);
    expect(await registry.setEnabled("no/such", false)).toBe(false);
  });

  test("C1: every tool is found by canonical name, wire name and aliases, and states its risk", async () => {
    const registry = await open(NATIVE_TOOLS);
    for (const native of NATIVE_TOOLS) {
      expect(RISKS).toContain(native.risk);
      expect([native.wireName, ...native.aliases]).toContain(native.name.replace("/", "_"));
      for (const name of [native.name, native.wireName, ...native.aliases])
        expect(registry.get(name)?.name).toBe(native.name);
    }
    const { risk: _risk, ...silent } = tool("file/silent");
    await expect(registry.register(silent as Tool)).rejects.toMatchObject({
      fault: { errors: [{ path: "/risk" }] },
    });
  });

  test("C4: category and governance class are two fields with closed lists; the provider is a third", async () => {
    expect(EFFECTS).toEqual([
      "read_only",
      "network",
      "system_write",
      "system_dangerous",
      "essential_health_check",
    ]);
    const registry = await open([tool("web/a", { category: "web", effects: "read_only" })]);
    expect(registry.get("web/a")).toMatchObject({
      category: "web",
      effects: "read_only",
      provider: "native",
    });
    for (const word of ["web", "mcp", "safe"])
      await expect(
        registry.register(tool("web/b", { effects: word as "network" })),
      ).rejects.toMatchObject({ fault: { errors: [{ path: "/effects" }] } });
  });

  test("R005: metadata is kept as declared, with defaults", async () => {
    const registry = await open();
    await registry.register(
      tool("web/full", {
        tags: ["a", "b"],
        version: "2.1.0",
        requiredPermissions: ["tool:create"],
        deprecated: { since: "2.0.0", replacement: "web/new" },
      }),
    );
    await registry.register(tool("web/plain"));
    expect(registry.get("web/full")).toMatchObject({
      category: "web",
      tags: ["a", "b"],
      version: "2.1.0",
      requiredPermissions: ["tool:create"],
      deprecated: { since: "2.0.0", replacement: "web/new" },
    });
    expect(registry.get("web/plain")).toMatchObject({
      category: "web",
      tags: [],
      version: "1.0.0",
      requiredPermissions: [],
      deprecated: null,
    });
  });

  test("R022: stats count tools and categories", async () => {
    const registry = await open([tool("web/a"), tool("web/b"), tool("ai/a")]);
    expect(registry.stats()).toEqual({ totalTools: 3, categories: { web: 2, ai: 1 } });
    await registry.unregister("web/a");
    expect(registry.stats()).toEqual({ totalTools: 2, categories: { web: 1, ai: 1 } });
  });
});

describe("filters", () => {
  const tools = [
    tool("file/read", { description: "Reads a FILE.", tags: ["fs", "text"] }),
    tool("file/list", { description: "Lists a folder.", tags: ["fs"] }),
    tool("web/get", { description: "Gets a page, or a file.", tags: ["text"] }),
    tool("web/old", { description: "Gets a page.", deprecated: { since: "1.0.0" } }),
  ];
  const filtered = (filter: Parameters<typeof filterTools>[1]) => names(filterTools(tools, filter));

  test("R018: deprecated tools are left out unless asked for", () => {
    expect(filtered({})).toEqual(["file/read", "file/list", "web/get"]);
    expect(filtered({ includeDeprecated: false })).toHaveLength(3);
    expect(filtered({ includeDeprecated: true })).toHaveLength(4);
  });

  test("by category", () => {
    expect(filtered({ category: "web" })).toEqual(["web/get"]);
    expect(filtered({ category: "ai" })).toEqual([]);
  });

  test("R016: a part of name or description, whatever its case", () => {
    expect(filtered({ search: "FiLe" })).toEqual(["file/read", "file/list", "web/get"]);
    expect(filtered({ search: "reads a" })).toEqual(["file/read"]);
    expect(filtered({ search: "web_get" })).toEqual(["web/get"]);
    expect(filtered({ search: ".*" })).toEqual([]);
  });

  test("R017: every tag given must match", () => {
    expect(filtered({ tags: ["fs"] })).toEqual(["file/read", "file/list"]);
    expect(filtered({ tags: ["fs", "text"] })).toEqual(["file/read"]);
    expect(filtered({ tags: ["fs", "none"] })).toEqual([]);
    expect(filtered({ tags: [], category: "file", search: "folder" })).toEqual(["file/list"]);
  });
});

describe("opening again", () => {
  test("R033: a tool that was switched off stays off, also when its definition has changed since", async () => {
    const first = await open([tool("file/read"), tool("file/list")]);
    expect(await first.setEnabled("file_read", false)).toBe(true);
    expect(first.get("file/read")?.enabled).toBe(false);
    const enabled = async (native: readonly Tool[]) =>
      (await open(native)).get("file/read")?.enabled;
    expect(await enabled([tool("file/read"), tool("file/list")])).toBe(false);
    const changed = [tool("file/read", { description: "Says it better." }), tool("file/list")];
    expect(await enabled(changed)).toBe(false);
    expect(await enabled(changed)).toBe(false);
    expect(await (await open(changed)).setEnabled("file/read", true)).toBe(true);
    expect(await enabled(changed)).toBe(true);
  });

  test("R008: a changed definition is a new version; the former one stays under its pin", async () => {
    const former = tool("file/read", { description: "Reads." });
    const latter = tool("file/read", { description: "Reads a file.", version: "1.1.0" });
    await open([former]);
    const registry = await open([latter]);
    expect(registry.get("file/read")).toMatchObject({ version: "1.1.0", pin: latter.pin });
    expect(former.pin).not.toBe(latter.pin);
    expect(await store.capabilities.definition(former.pin)).toMatchObject({
      description: "Reads.",
    });
    expect(await store.capabilities.definition(latter.pin)).toMatchObject({ version: "1.1.0" });
    expect(await store.capabilities.definition("none")).toBeNull();
  });

  test("the pin covers what a reviewer looked at, and nothing else", () => {
    const base = tool("file/read");
    const schema: JsonObject = { type: "object", properties: { text: { type: "string" } } };
    const changes = [
      { description: "x" },
      { inputSchema: schema },
      { outputSchema: schema },
      { risk: "dangerous" },
      { effects: "network" },
      { idempotent: false },
    ] as const;
    const pins = changes.map((change) => tool("file/read", change).pin);
    expect(new Set([base.pin, ...pins]).size).toBe(changes.length + 1);
    expect(tool("file/read", { enabled: false, tags: ["x"], timeoutMs: 9_000 }).pin).toBe(base.pin);
    expect(freezeTool({ ...base }).pin).toBe(base.pin);
  });

  test("tools that are not native come back without handler; native ones of an older release do not", async () => {
    const first = await open([tool("file/old")]);
    await first.register(external("web/remote", { aliases: ["remote"] }));
    const second = await open([]);
    expect(names(second.all())).toEqual(["web/remote"]);
    expect(second.get("remote")).toMatchObject({ provider: "external", native: null });
  });

  test("R006: a stored tool never answers under a name that a native tool has taken since", async () => {
    await (await open([])).register(external("web/remote", { aliases: ["fetch"] }));
    const native = tool("web/fetch", { aliases: ["fetch"] });
    const registry = await open([native]);
    expect(registry.get("fetch")).toBe(native);
    expect(names(registry.all())).toEqual(["web/fetch"]);
  });

  test.each([200, 1_000])("R025 C48: %d tools register and are all there again", async (count) => {
    const tools = many(count);
    const first = await open(NATIVE_TOOLS);
    await first.register(...tools);
    expect(first.stats().totalTools).toBe(count + NATIVE_TOOLS.length);
    expect(first.get("system_t0199")?.name).toBe("system/t0199");
    const second = await open([...NATIVE_TOOLS, ...tools]);
    expect(second.stats()).toEqual(first.stats());
    expect(second.all().map(({ pin }) => pin)).toEqual(first.all().map(({ pin }) => pin));
    expect(await store.capabilities.all()).toHaveLength(count + NATIVE_TOOLS.length);
  });
});

function deeplyFrozen(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(deeplyFrozen);
}
