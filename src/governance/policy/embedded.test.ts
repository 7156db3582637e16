import { describe, expect, test } from "vitest";
import { openEmbedded } from "./embedded.ts";
import { openPolicyEngine } from "./open.ts";
import { createPolicies } from "./policies.ts";
import { ADA, CASE_SETS, changed, policySuite, POWERS, STARTER } from "./policy.suite.ts";

policySuite("the embedded policy engine", (powers) => openPolicyEngine("embedded", powers));

describe("answers that may be remembered", () => {
  test("the cases say of which sets", async () => {
    const judged = CASE_SETS.filter(({ timeless }) => timeless !== undefined);
    for (const { name, path, starter, files, timeless } of judged) {
      const engine = openEmbedded({ ...POWERS, ...(path === undefined ? {} : { path }) });
      await engine.load("enforced", { version: "1", files: starter ? STARTER : (files ?? {}) });
      expect(engine.timeless, name).toBe(timeless);
    }
    expect(judged.length).toBeGreaterThan(8);
  });

  const HEAD = "package ostiary.tools\n\ndefault allow := false\n\n";
  test.each([
    ["time.now_ns() > 0", false],
    ["rand.intn(input.user_id, 2) == 0", false],
    ['uuid.rfc4122(input.user_id) != ""', false],
    ["opa.runtime().env.X", false],
    ["io.jwt.decode_verify(input.user_id, {})[0]", false],
    ["input.time < input.user_id", false],
    ['input["time"]', false],
    ['some key in ["time"]; input[key]', false],
    ["f(input) == 1", false],
    ['{"x": input}.x.user_id', false],
    ["is_object(input) with input as {}", false],
    ["f(input.user_id) == 1", true],
    ["input.arguments.time", true],
    ["data.time", true],
    ["time.parse_rfc3339_ns(input.user_id) > 0", true],
    ['$"{input.user_id}" == "a"', true],
    ['$"{input.time}" == "a"', false],
    ["every role in input.roles { role != input.time }", false],
    ["[x | x := input.time][0]", false],
  ])("`%s`: %s", async (expression, timeless) => {
    const engine = openEmbedded(POWERS);
    const text = `${HEAD}allow if {\n\tinput.user_id\n\t${expression}\n}\n\nf(x) := 1 if x`;
    await engine.load("enforced", { version: "1", files: { "a.rego": text } });
    expect(engine.timeless).toBe(timeless);
  });

  test.each([
    ["import input", false],
    ["import input as i", false],
    ["import input.time as t", false],
    ["import input.user_id as who", true],
  ])("`%s`: %s", async (line, timeless) => {
    const engine = openEmbedded(POWERS);
    const text = `package ostiary.tools\n\n${line}\n\ndefault allow := false\n`;
    await engine.load("enforced", { version: "1", files: { "a.rego": text } });
    expect(engine.timeless).toBe(timeless);
  });

  test("a trial that looks at the time ends it; tests do not count", async () => {
    const engine = openEmbedded(POWERS);
    expect(engine.timeless).toBe(false);
    await engine.load("enforced", {
      version: "1",
      files: { ...STARTER, "x_test.rego": "package x_test\n\ntest_x if time.now_ns() > 0" },
    });
    expect(engine.timeless).toBe(true);
    await engine.load("shadow", {
      version: "2",
      files: { "a.rego": `${HEAD}allow if input.time` },
    });
    expect(engine.timeless).toBe(false);
  });

  test("a view is asked once per caller, tool, mode and session, until anything changes", async () => {
    const engine = openEmbedded(POWERS);
    const policies = createPolicies(engine);
    await engine.load("enforced", { version: "1", files: STARTER });
    await engine.setTools({ "system/echo": { enabled: true } });
    let asked = 0;
    const about = { action: "view", caller: {}, tool: {}, mode: "NORMAL", session: null } as const;
    const view = async (
      change:
        | Partial<typeof about>
        | { mode: "ALERT" }
        | { session: string }
        | { action: "execute" } = {},
    ) =>
      policies.remembered({ ...about, ...change }, () => {
        asked++;
        return ADA;
      });
    for (let i = 0; i < 3; i++) expect((await view()).allow).toBe(true);
    expect(asked).toBe(1);
    await view({ mode: "ALERT" });
    await view({ session: "s" });
    await view({ tool: {} });
    await view({ caller: {} });
    expect(asked).toBe(5);
    for (let i = 0; i < 3; i++) await view({ action: "execute" });
    expect(asked).toBe(6);
    await engine.setTools({});
    expect((await view()).allow).toBe(false);
    // A policy that looks at the arguments is asked about every call; seeing a tool has none.
    for (const reads of [
      "input.arguments.n > 1",
      'some "n" in input.argument_names',
      "input.arguments",
    ]) {
      await engine.load("enforced", {
        version: "2",
        files: { "a.rego": `${HEAD}allow if ${reads}` },
      });
      expect([engine.timeless, engine.argumentless]).toEqual([true, false]);
      asked = 0;
      for (let i = 0; i < 3; i++) await view({ action: "execute" });
      for (let i = 0; i < 3; i++) await view();
      expect(asked).toBe(4);
    }
    await engine.load("enforced", {
      version: "3",
      files: { "a.rego": `${HEAD}allow if input.time` },
    });
    expect((await view()).allow).toBe(true);
    asked = 0;
    await view();
    await view();
    expect(asked).toBe(2);
  });
});

test("without a policy nothing is decided", () => {
  const policies = createPolicies(openEmbedded(POWERS));
  expect(() => policies.decide(ADA, { explain: false })).toThrow("no policy is loaded");
  expect(policies.version).toBe("");
});

test("a decision of the starter policy reads three fields, not the whole input", async () => {
  const engine = openEmbedded(POWERS);
  await engine.load("enforced", { version: "1", files: STARTER });
  await engine.setTools({ "system/echo": { enabled: true } });
  const trap = new Proxy(changed(ADA), {
    get(target, key, receiver) {
      if (key === "arguments" || key === "time") throw new Error(`${String(key)} was read`);
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  expect(await engine.decide("enforced", trap, false)).toMatchObject({ allow: true });
});

test("an explanation shows what both rules read, no secrets, and of large values only their size", async () => {
  const engine = openEmbedded(POWERS);
  const text = `package ostiary.tools

default allow := false

allow if {
	input.arguments.password == "x"
	input.arguments.text
	input.arguments.more.token
}

reasons contains "no" if {
	not allow
	count(input.arguments.long) > 1
	input.arguments.more
	not data.none.there
}`;
  await engine.load("enforced", { version: "1", files: { "a.rego": text } });
  const input = changed(ADA, {
    arguments: { password: "hunter2", long: "x".repeat(9_999), more: { token: "abc", n: 1 } },
  });
  expect((await engine.decide("enforced", input, true))?.read).toEqual({
    "input.arguments.password": "[masked]",
    "input.arguments.text": "hi",
    "input.arguments.more": { token: "[masked]", n: 1 },
    "input.arguments.more.token": "[masked]",
    "input.arguments.long": "(10001 characters)",
  });
});

describe("sets with built-ins that are loaded late", () => {
  const set = (version: string, rule: string) => ({
    version,
    files: { "a.rego": `package ostiary.tools\n\ndefault allow := false\n\nallow if ${rule}\n` },
  });
  const GRAPHQL = set("1", 'graphql.is_valid(input.user_id, "type Query { ada: Int }")');

  test("the group is there when the set is", async () => {
    const engine = openEmbedded(POWERS);
    await engine.load("enforced", GRAPHQL);
    const allowed = await engine.decide("enforced", { ...ADA, user_id: "{ ada }" }, false);
    expect(allowed).toMatchObject({ allow: true });
  });

  test("of two sets the one asked for last is held, though the first takes longer to load", async () => {
    const engine = openEmbedded(POWERS);
    const first = engine.load("enforced", GRAPHQL);
    const broken = engine.load("enforced", set("2", "no_such_function(1)"));
    const last = engine.load("enforced", set("3", "input.user_id"));
    await first;
    await expect(broken).rejects.toThrow("undefined function no_such_function");
    await last;
    expect(engine.versionOf("enforced")).toBe("3");
  });
});
