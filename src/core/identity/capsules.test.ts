// What a capsule holds: by name, every native tool, or one version of a server's tool.
import { expect, test } from "vitest";
import { CAPSULE_DEFAULTS } from "../../contract/agent-config.ts";
import { testTool } from "../../../test/fixtures/gate.ts";
import type { Tool } from "../../contract/tool.ts";
import type { CapsuleRow } from "../../storage/store/store.ts";
import { createCapsules } from "./capsules.ts";

const PIN = "0123456789abcdef";
const upstream = (name: string): Tool =>
  testTool({
    name,
    provider: "mcp",
    native: null,
    route: {
      server: name.split("/", 1)[0] ?? name,
      method: "tools/call",
      name,
      pin: PIN,
      operation: null,
    },
  });
const toolOf = (name: string): Tool | null => {
  if (name.startsWith("system/") || name.startsWith("ai/")) return testTool({ name });
  return name.startsWith("srv/") || name.startsWith("other/") ? upstream(name) : null;
};

async function holding(capabilities: readonly string[], change: Partial<CapsuleRow> = {}) {
  const row: CapsuleRow = {
    id: "c",
    tenantId: "t",
    name: "C",
    version: 1,
    status: "active",
    isDefault: false,
    listing: "full",
    parent: null,
    ...CAPSULE_DEFAULTS,
    capabilities,
    createdAt: 0,
    updatedAt: 0,
    ...change,
  };
  const capsules = createCapsules({
    store: { shared: false, capsules: { get: () => Promise.resolve(row) } as never },
    now: () => 0,
    tool: toolOf,
  });
  const tools = await capsules.find("c");
  return (name: string) => tools?.has(name) ?? null;
}

test("names and every native tool", async () => {
  const has = await holding(["*", "srv/other"]);
  expect([has("system/echo"), has("srv/other"), has("srv/tool")]).toEqual([true, true, false]);
});

test("one version of a tool: only while exactly that is approved, also beside its plain name", async () => {
  const right = await holding([`srv/tool@${PIN.slice(0, 12)}`, "srv/tool", "*"]);
  expect([right("srv/tool"), right("system/echo"), right("srv/none")]).toEqual([true, true, false]);
  const wrong = await holding(["srv/tool@ffffffffffff", "srv/tool"]);
  expect([wrong("srv/tool"), wrong("system/echo")]).toEqual([false, false]);
  const gone = await holding(["srv/gone@ffffffffffff", "srv/kept"]);
  expect([gone("srv/gone"), gone("srv/kept")]).toEqual([false, true]);
});

test("a search brings its tools along; what is not active holds nothing", async () => {
  const search = await holding([], { listing: "search" });
  expect([search("system/find_tools"), search("system/echo")]).toEqual([true, false]);
  const archived = await holding(["*"], { status: "archived" });
  expect(archived("system/echo")).toBeNull();
});
