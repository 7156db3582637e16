import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Escalation, type Risk, type Tool } from "../../contract/tool.ts";
import { escalator } from "./escalate.ts";

const tool = (escalations: readonly Escalation[], risk: Risk = "safe"): Tool =>
  defineTool({
    name: "shell/lint",
    description: "A tool whose arguments raise what it counts as.",
    input: z.strictObject({
      fix: z.boolean().optional(),
      deep: z.strictObject({ network: z.boolean() }).optional(),
    }),
    output: z.strictObject({}),
    risk,
    effects: "read_only",
    sandbox: "ro",
    needs: [],
    timeoutMs: 1_000,
    examples: [{}],
    escalations,
    run: () => ({}),
  });

const FIX: Escalation = {
  argument: "/fix",
  equals: true,
  risk: "dangerous",
  effects: "system_write",
  sandbox: "rw",
};
const plain = escalator(() => null);

describe("arguments raise", () => {
  test("risk, class and sandbox, when the value is the one", () => {
    const lint = tool([FIX]);
    expect(plain(lint, { fix: true })).toMatchObject({
      risk: "dangerous",
      effects: "system_write",
      sandbox: "rw",
      pin: lint.pin,
    });
    for (const given of [{}, { fix: false }, { fix: null }, { fix: "true" }, null])
      expect(plain(lint, given)).toBe(lint);
  });

  test("any value of an argument, at any depth, when none is named", () => {
    const lint = tool([{ argument: "/deep/network", approval: true }]);
    expect(plain(lint, { deep: { network: false } }).requiresApproval).toBe(true);
    expect(plain(lint, { deep: {} }).requiresApproval).toBe(false);
  });

  test("never lower", () => {
    const lint = tool(
      [{ argument: "/fix", risk: "safe", effects: "essential_health_check" }],
      "dangerous",
    );
    expect(plain(lint, { fix: true })).toMatchObject({ risk: "dangerous", effects: "read_only" });
  });

  test("several together, and the same object for the same answer", () => {
    const lint = tool([FIX, { argument: "/deep", approval: true }]);
    const both = plain(lint, { fix: true, deep: {} });
    expect(both).toMatchObject({ risk: "dangerous", requiresApproval: true });
    expect(plain(lint, { deep: { network: true }, fix: true })).toBe(both);
    expect(Object.isFrozen(both)).toBe(true);
  });
});

test("profiles add up, in whatever order they bite", () => {
  const net: Escalation = { argument: "/deep", sandbox: "rw+net" };
  for (const order of [
    [FIX, net],
    [net, FIX],
  ])
    expect(plain(tool(order), { fix: true, deep: {} }).sandbox).toBe("rw+net");
});

test("governance sets a risk, and arguments raise from there", () => {
  const lint = tool([FIX]);
  const governed = escalator((name) => (name === "shell/lint" ? "moderate" : null));
  expect(governed(lint, null).risk).toBe("moderate");
  expect(governed(lint, { fix: true }).risk).toBe("dangerous");
});
