// What every policy engine must do: the shared cases, and how sets come and go.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { AppError } from "../../contract/errors.ts";
import { createPolicies } from "./policies.ts";
import type { PolicyDecision, PolicyEngine, PolicyFiles, PolicyInput } from "./policy.ts";
import type { PolicyPowers } from "./slots.ts";

interface Case {
  readonly input?: Record<string, unknown>;
  readonly allow?: boolean;
  readonly reasons?: readonly string[];
  readonly rule?: string;
  readonly throws?: boolean;
}

interface CaseSet {
  readonly name: string;
  readonly starter?: boolean;
  readonly path?: string;
  readonly files?: PolicyFiles;
  readonly tools?: Record<string, { enabled: boolean }>;
  readonly timeless?: boolean;
  readonly cases: readonly Case[];
}

const ROOT = join(import.meta.dirname, "../../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const { inputs, sets } = parse(read("test/fixtures/policy-cases.yaml")) as {
  inputs: { ada: PolicyInput };
  sets: readonly CaseSet[];
};

export const STARTER: PolicyFiles = {
  "tools.rego": read("governance/policies/tools.rego"),
  "tools_test.rego": read("governance/policies/tools_test.rego"),
};
export const ADA = inputs.ada;
export const POWERS: PolicyPowers = { path: "ostiary/tools/allow", now: Date.now };
const ENABLED = { "system/echo": { enabled: true } };

/** Objects are merged, everything else replaced. */
export function changed(base: PolicyInput, change: Record<string, unknown> = {}): PolicyInput {
  const merged = (a: unknown, b: unknown): unknown =>
    isObject(a) && isObject(b)
      ? {
          ...a,
          ...Object.fromEntries(
            Object.entries(b).map(([key, value]) => [key, merged(a[key], value)]),
          ),
        }
      : b;
  return merged(base, change) as PolicyInput;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function policySuite(
  name: string,
  open: (powers: PolicyPowers) => Promise<PolicyEngine>,
): void {
  describe(name, () => {
    let engine: PolicyEngine | null = null;
    const opened = async (powers: Partial<PolicyPowers> = {}): Promise<PolicyEngine> =>
      (engine = await open({ ...POWERS, ...powers }));
    afterEach(async () => {
      await engine?.load("shadow", null);
      await engine?.close();
    });
    const ask = async (input: PolicyInput, explain = false): Promise<PolicyDecision> => {
      const decided = await engine?.decide("enforced", input, explain);
      if (!decided) throw new Error("nothing is loaded");
      return decided;
    };

    for (const set of sets) {
      test(`C32: ${set.name}: ${set.cases.length} cases`, async () => {
        const it = await opened(set.path === undefined ? {} : { path: set.path });
        const files = set.starter ? STARTER : (set.files ?? {});
        await it.load("enforced", { version: "7", files });
        await it.setTools(set.tools ?? ENABLED);
        for (const { input, allow, reasons, rule, throws } of set.cases) {
          const subject = changed(ADA, input);
          const what = JSON.stringify(input ?? {});
          if (throws) {
            await expect(ask(subject), what).rejects.toThrow();
            continue;
          }
          const plain = await ask(subject);
          expect(plain, what).toMatchObject({ allow, version: "7" });
          expect(plain.reasons, what).toEqual(allow ? [] : (reasons ?? plain.reasons));
          if (!allow) expect(plain.rule, what).toMatch(/^[\w/]+\.rego:\d+$/);
          if (rule !== undefined) expect(plain.rule, what).toBe(rule);
          const explained = await ask(subject, true);
          expect(explained).toMatchObject({ allow, reasons: plain.reasons });
          if (!allow) expect(explained.rule, what).toBe(plain.rule);
          expect(explained.rule, what).toMatch(/\.rego:\d+$/);
          expect(explained.ruleText, what).toBeTypeOf("string");
        }
      });
    }

    test("an explanation has the rule as it is written, and what was read", async () => {
      const it = await opened();
      await it.load("enforced", { version: "1", files: STARTER });
      await it.setTools(ENABLED);
      const yes = await ask(ADA, true);
      expect(yes.rule).toBe("tools.rego:14");
      expect(yes.ruleText).toMatch(/^allow if \{\n\taction_known/);
      expect(yes.read).toMatchObject({
        "input.action": "execute",
        'data.tools["system/echo"].enabled': true,
      });
      const no = await ask(changed(ADA, { roles: [] }), true);
      expect(no.ruleText).toContain("if not caller_is_tool_user");
      expect(no.read).toMatchObject({ "input.roles": [] });
    });

    test("an empty slot answers null; a switched tool counts from the next decision", async () => {
      const it = await opened();
      expect(await it.decide("enforced", ADA, false)).toBeNull();
      expect(it.versionOf("enforced")).toBeNull();
      await it.load("enforced", { version: "1", files: STARTER });
      expect((await ask(ADA)).allow).toBe(false);
      const before = it.revision;
      await it.setTools(ENABLED);
      expect(it.revision).toBeGreaterThan(before);
      expect((await ask(ADA)).allow).toBe(true);
      await it.setTools({ "system/echo": { enabled: false } });
      expect((await ask(ADA)).allow).toBe(false);
      expect(await it.decide("shadow", ADA, false)).toBeNull();
    });

    test("another set replaces the whole former one, its data too", async () => {
      const it = await opened();
      const rule = "package ostiary.tools\n\ndefault allow := false\n\n";
      await it.load("enforced", {
        version: "1",
        files: {
          "a.rego": `${rule}allow if input.user_id in data.users`,
          "data.json": '{"users": ["ada"]}',
        },
      });
      expect(await ask(ADA)).toMatchObject({ allow: true, version: "1" });
      await it.load("enforced", {
        version: "2",
        files: { "b.rego": `${rule}allow if input.user_id in data.users` },
      });
      expect(await ask(ADA)).toMatchObject({ allow: false, version: "2", rule: "b.rego:3" });
      // The default moves from one file to another: both at once would contradict each other.
      await it.load("enforced", {
        version: "3",
        files: { "b.rego": "package ostiary.tools\n\nallow if input.user_id", "c.rego": rule },
      });
      expect(await ask(ADA)).toMatchObject({ allow: true, version: "3" });
      expect(it.versionOf("enforced")).toBe("3");
    });

    test("a set that does not load is refused with file and line, and the former one goes on", async () => {
      const it = await opened();
      await it.load("enforced", { version: "1", files: STARTER });
      await it.setTools(ENABLED);
      const refused = async (files: PolicyFiles): Promise<string> => {
        const cause: unknown = await it
          .load("enforced", { version: "2", files })
          .catch((error: unknown) => error);
        expect(cause).toBeInstanceOf(AppError);
        expect((cause as AppError).code).toBe("BAD_REQUEST");
        return (
          (cause as AppError).fault.errors
            ?.map(({ path, message }) => `${path} ${message}`)
            .join("\n") ?? ""
        );
      };
      const head = "package ostiary.tools\n\ndefault allow := false\n";
      expect(await refused({ "a.rego": `${head}allow if` })).toMatch(
        /^a\.rego:\d+:\d+ rego_parse_error/,
      );
      expect(await refused({ "a.rego": `${head}allow if x == 1` })).toMatch(
        /^a\.rego:4:\d+ rego_unsafe_var_error/,
      );
      expect(
        await refused({
          "a.rego": `${head}allow if http.send({"url": "http://x", "method": "get"}).status_code == 200`,
        }),
      ).toMatch(/http.send needs the power "http"/);
      expect(await refused({ "a.rego": "package other\n\nallow := false" })).toMatch(
        /no rule defines data\.ostiary\.tools\.allow/,
      );
      expect(await refused({ "a.rego": "package ostiary.tools\n\nallow := true" })).toMatch(
        /^a\.rego:3:1 an empty input is allowed/,
      );
      expect(
        await refused({ "a.rego": "package ostiary.tools\n\nallow if input.user_id" }),
      ).toMatch(/^a\.rego:3:1 .*is undefined for this input, which is empty/);
      expect(await refused({ ...STARTER, "data.json": '{"tools": {}}' })).toMatch(
        /data\.tools .* kept by the server/,
      );
      expect(await refused({ ...STARTER, "more.rego": "package tools.more\n\nx := 1" })).toMatch(
        /more\.rego:1:1 the package tools/,
      );
      expect(await refused({ ...STARTER, "data.json": "[" })).toMatch(/^data\.json:1:1 /);
      expect(await refused({ ...STARTER, "data.json": "[]" })).toMatch(/must hold an object/);
      expect(await refused({ ...STARTER, "a/data.json": "1", "a.json": '{"a": 2}' })).toMatch(
        /gives data\.a a second time/,
      );
      expect(await refused({ ...STARTER, "notes.txt": "" })).toMatch(
        /notes\.txt:1:1 expected \.rego/,
      );
      expect(await ask(ADA)).toMatchObject({ allow: true, version: "1" });
    });

    test("a policy that never ends decides nothing, and soon", async () => {
      const it = await opened();
      const files = {
        "slow.rego": `package ostiary.tools

default allow := false

allow if {
	input.user_id
	some a in numbers.range(1, 3000)
	some b in numbers.range(1, 3000)
	a * b == -1
}`,
      };
      await it.load("enforced", { version: "1", files });
      const began = performance.now();
      await expect(ask(ADA)).rejects.toThrow();
      expect(performance.now() - began).toBeLessThan(2_000);
    });

    test("a set in trial is heard beside the enforced one, and only when it differs", async () => {
      const it = await opened();
      const policies = createPolicies(it);
      await it.load("enforced", { version: "1", files: STARTER });
      await it.setTools(ENABLED);
      const decide = async (input = ADA) => policies.decide(input, { explain: false });
      expect(await decide()).not.toHaveProperty("shadow");
      const careful =
        'package ostiary.tools\n\ndefault allow := false\n\nallow if input.mode == "NORMAL"\n\nreasons contains "not now" if not allow';
      await it.load("shadow", { version: "2", files: { "t.rego": careful } });
      expect(await decide()).not.toHaveProperty("shadow");
      expect(await decide(changed(ADA, { mode: "ALERT" }))).toMatchObject({
        allow: true,
        version: "1",
        shadow: { version: "2", verdict: "deny", reason: "not now (t.rego:7)" },
      });
      expect(await decide(changed(ADA, { roles: [] }))).toMatchObject({
        allow: false,
        version: "1",
        shadow: { version: "2", verdict: "allow", reason: "the policy in trial allows it" },
      });
      const broken =
        "package ostiary.tools\n\ndefault allow := false\n\nallow := true if input.user_id\n\nallow := false if input.user_id";
      await it.load("shadow", { version: "3", files: { "t.rego": broken } });
      expect(await decide()).toMatchObject({
        allow: true,
        shadow: {
          version: "3",
          verdict: "deny",
          reason: expect.stringContaining("eval_conflict_error") as string,
        },
      });
      expect(await decide(changed(ADA, { roles: [] }))).not.toHaveProperty("shadow");
      await it.load("shadow", null);
      expect(await decide()).not.toHaveProperty("shadow");
      expect(policies.version).toBe("1");
    });
  });
}

export { sets as CASE_SETS };
