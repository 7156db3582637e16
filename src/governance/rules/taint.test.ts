import { describe, expect, test } from "vitest";
import { testTool } from "../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../test/fixtures/governance.ts";
import type { TaintReader } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";

const by = (...readers: TaintReader[]) =>
  readers.map((reader) => ({ tool: "web/get", executionId: "e", from: "example.org", reader }));
const rules = (section: string) => {
  const files = shippedFiles();
  const text = (files["tools.yaml"] ?? "").replace(/^taint:\n(?: {2}.*\n)+/m, section);
  return governanceOf({}, { ...files, "tools.yaml": text });
};
const writer = testTool({ effects: "system_write" });
const native = (needs: readonly string[]): Tool["native"] => ({
  needs: needs as NonNullable<Tool["native"]>["needs"],
  run: () => null,
});
const route = { server: "crm", method: "tools/call", name: "x", pin: "", operation: null };

describe("C55: what a tainted agent may not do alone", () => {
  test.each([
    ["writes", testTool({ effects: "system_write" })],
    ["runs", testTool({ effects: "system_dangerous" })],
    ["sends", testTool({ effects: "network", idempotent: false })],
    ["sends", testTool({ effects: "network", idempotent: true, route })],
    [null, testTool({ effects: "network", idempotent: true })],
    [null, testTool({ effects: "network", idempotent: false, native: native(["engine"]) })],
    [null, testTool({ effects: "read_only", route })],
    [null, testTool({ effects: "read_only" })],
    [null, testTool({ effects: "essential_health_check" })],
  ])("%s", (does, tool) => {
    expect(governanceOf().taintRule(tool, by("chat"))?.does ?? null).toBe(does);
  });
});

describe("C55: by who has read it", () => {
  test("as shipped, and the same without the section", () => {
    for (const governance of [governanceOf(), rules("")]) {
      expect(governance.taintRule(writer, by("chat"))).toMatchObject({ treatment: "ask" });
      expect(governance.taintRule(writer, by("agent"))).toMatchObject({ treatment: "ask" });
      expect(governance.taintRule(writer, by("mcp"))).toBeNull();
      expect(governance.minds("chat")).toBe(true);
      expect(governance.minds("mcp")).toBe(false);
    }
    expect(rules("").taintRule(writer, by("chat"))?.rule.at).toBe("built in");
    expect(governanceOf().taintRule(writer, by("chat"))?.rule.at).toMatch(/^tools\.yaml:\d+$/);
  });

  test("of several readers the strictest rule counts: an agent does not wash its maker's reading", () => {
    const governance = rules("taint: { chat: refuse, agent: off }\n");
    expect(governance.taintRule(writer, by("agent"))).toBeNull();
    expect(governance.taintRule(writer, by("agent", "chat"))?.treatment).toBe("refuse");
    expect(governance.taintRule(writer, by("chat", "agent"))?.treatment).toBe("refuse");
  });

  test("exempt are tools by any name, categories and classes", () => {
    const shown = (exempt: string, tool: Tool) =>
      rules(`taint: { exempt: [${exempt}] }\n`).taintRule(tool, by("chat"));
    const file = testTool({ name: "file/write", category: "file", effects: "system_write" });
    expect(shown("file_write", file)).toBeNull();
    expect(shown('"file/*"', file)).toBeNull();
    expect(shown("system_write", file)).toBeNull();
    expect(shown("file/copy", file)).not.toBeNull();
  });

  test("misspelt rules are faults", () => {
    expect(() => rules("taint: { chat: aks }\n")).toThrow(/did you mean ask/);
    expect(() => rules("taint: { mpc: off }\n")).toThrow(/did you mean mcp/);
    expect(() => rules("taint: { exempt: [file/wirte] }\n")).toThrow(/there is no tool/);
    expect(() => rules('taint: { exempt: ["fiel/*"] }\n')).toThrow(/there is no category/);
    expect(() => rules("taint: { exempt: [3] }\n")).toThrow(/expected text/);
  });
});
