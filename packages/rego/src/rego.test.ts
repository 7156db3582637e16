import { describe, expect, test } from "vitest";
import { compile, explanationText, toJson } from "./index.ts";
import type { EvaluateOptions, Policy } from "./index.ts";

function load(source: string, version: "v0" | "v1" = "v1"): Policy {
  const result = compile({ "p.rego": source }, { version });
  if (!result.ok) throw new Error(result.errors.map((each) => each.message).join("\n"));
  return result.policy;
}

function value(source: string, query: string, options: EvaluateOptions = {}): unknown {
  const evaluation = load(source).evaluate(query, options);
  if (!evaluation.ok) throw new Error(evaluation.error.message);
  return evaluation.value === undefined ? undefined : toJson(evaluation.value);
}

function firstError(source: string): {
  code: string;
  message: string;
  line: number;
  column: number;
} {
  const result = compile({ "p.rego": source });
  if (result.ok) throw new Error("compiled");
  const [error] = result.errors;
  if (!error) throw new Error("no error");
  return error;
}

describe("evaluation", () => {
  test("tells undefined from false", () => {
    const source = "package p\nallow if input.x == 1\nno := false";
    expect(value(source, "data.p.allow", { input: { x: 2 } })).toBeUndefined();
    expect(value(source, "data.p.allow", { input: { x: 1 } })).toBe(true);
    expect(value(source, "data.p.no")).toBe(false);
  });

  test("falls back to defaults, also of functions", () => {
    const source =
      "package p\ndefault a := 1\na := 2 if input.x\ndefault f(_) := 0\nf(x) := x if x > 1\nb := [f(1), f(2)]";
    expect(value(source, "data.p.a", { input: {} })).toBe(1);
    expect(value(source, "data.p.b")).toEqual([0, 2]);
  });

  test("merges rules over base documents", () => {
    const policy = load("package a.b\nc := 1").withData({ a: { b: { d: 2 }, e: 3 } });
    const evaluation = policy.evaluate("data.a");
    expect(evaluation.ok && evaluation.value && toJson(evaluation.value)).toEqual({
      b: { c: 1, d: 2 },
      e: 3,
    });
  });

  test("replaces input, data and functions with `with`", () => {
    const source = `package p
f(x) := x + 1
g(_) := 42
a := v if v := input.x with input.x as 5
b := v if v := data.base.y with data.base.y as "z"
c := v if v := f(1) with f as g
d := v if v := count([1]) with count as 9`;
    expect(value(source, "data.p")).toEqual({ a: 5, b: "z", c: 42, d: 9 });
  });

  test("reads v0 where the caller or the module says so", () => {
    const policy = load("package p\nallow { input.x }\nxs[x] { x := input.l[_] }", "v0");
    const evaluation = policy.evaluate("data.p", { input: { x: 1, l: [2, 2] } });
    expect(evaluation.ok && evaluation.value && toJson(evaluation.value)).toEqual({
      allow: true,
      xs: [2],
    });
    expect(firstError("package p\nallow { input.x }").message).toContain(
      "`if` keyword is required",
    );
    expect(
      compile({ "a.rego": "package p\nimport rego.v1\nallow if true" }, { version: "v0" }).ok,
    ).toBe(true);
  });

  test("answers queries with variables by their solutions", () => {
    const evaluation = load("package p\nxs := [1, 2]").evaluate("data.p.xs[i] = x; x > 1");
    expect(evaluation.ok && evaluation.solutions.map(({ bindings }) => [...bindings])).toEqual([
      [
        ["i", 1],
        ["x", 2],
      ],
    ]);
  });

  test("makes failing built-ins undefined, and errors when strict", () => {
    const policy = load("package p\na := to_number(input.x)");
    expect(policy.evaluate("data.p.a", { input: { x: "y" } })).toMatchObject({
      ok: true,
      value: undefined,
    });
    expect(
      policy.evaluate("data.p.a", { input: { x: "y" }, strictBuiltinErrors: true }),
    ).toMatchObject({
      ok: false,
      error: { code: "eval_builtin_error" },
    });
  });

  test("reports conflicts with their place", () => {
    const evaluation = load("package p\na := 1\na := 2 if true").evaluate("data.p.a");
    expect(evaluation).toMatchObject({
      ok: false,
      error: { code: "eval_conflict_error", location: { line: 3 } },
    });
  });

  test("keeps no state between evaluations and shares compiled code over data", () => {
    const policy = load("package p\na := data.n + input.n");
    const query = policy.prepare("data.p.a");
    expect(query.evaluate({ input: { n: 1 }, data: { n: 1 } })).toMatchObject({ value: 2 });
    expect(query.evaluate({ input: { n: 2 }, data: { n: 5 } })).toMatchObject({ value: 7 });
    expect(policy.withData({ n: 10 }).evaluate("data.p.a", { input: { n: 1 } })).toMatchObject({
      value: 11,
    });
  });
});

describe("refused policies", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["a syntax error", "package p\na := ", "rego_parse_error"],
    ["no package", "a := 1", "rego_parse_error"],
    ["an unsafe variable", "package p\na if x > 1", "rego_unsafe_var_error"],
    ["recursion", "package p\na if b\nb if a", "rego_recursion_error"],
    ["an unknown function", "package p\na := nope(1)", "rego_type_error"],
    ["a wrong number of arguments", "package p\na := count(1, 2, 3)", "rego_type_error"],
    ["a comparison that cannot hold", 'package p\na if 1 == "x"', "rego_type_error"],
    ["conflicting kinds of rules", "package p\na contains 1\na := 2", "rego_type_error"],
    ["a rule in the place of a package", "package p\na.b := 1\na := 2", "rego_type_error"],
    ["a variable assigned twice", "package p\na if { x := 1; x := 2 }", "rego_compile_error"],
    ["an unused declaration", "package p\na if { some x; input.y }", "rego_compile_error"],
    ["a shadowed root document", "package p\ninput := 1", "rego_compile_error"],
  ];
  test.each(cases)("%s", (_, source, code) => {
    const error = firstError(source);
    expect(error.code).toBe(code);
    expect(error.line).toBeGreaterThan(0);
    expect(error.column).toBeGreaterThan(0);
  });
});

describe("powers", () => {
  const source =
    'package p\na := http.send({"method": "get", "url": "http://x"})\nb := time.now_ns()';

  test("that are not granted make loading fail when the host says which it grants", () => {
    const result = compile({ "p.rego": source }, { granted: ["nowNs"] });
    expect(result.ok).toBe(false);
    expect(!result.ok && result.errors.map(({ message }) => message)).toEqual([
      'http.send needs the power "http", which is not granted',
    ]);
  });

  test("that are absent make the call fail, never undefined in silence", () => {
    const evaluation = load(source).evaluate("data.p.b");
    expect(evaluation).toMatchObject({ ok: false, error: { code: "eval_builtin_error" } });
  });

  test("give the same time throughout one evaluation", () => {
    let now = 0n;
    const powers = { nowNs: () => (now += 1n) };
    expect(value("package p\na := [time.now_ns(), time.now_ns()]", "data.p.a", { powers })).toEqual(
      [1, 1],
    );
  });
});

describe("bounds", () => {
  const slow =
    "package p\na := count([1 | some x in numbers.range(1, 2000); some y in numbers.range(1, 2000); x == y])";

  test("end an evaluation that takes too many steps", () => {
    const evaluation = load(slow).evaluate("data.p.a", { maxSteps: 10_000 });
    expect(evaluation).toMatchObject({ ok: false, error: { code: "eval_cancel_error" } });
    expect(!evaluation.ok && evaluation.error.message).toContain("more than 10000 steps");
  });

  test("end an evaluation that takes too long", () => {
    const started = performance.now();
    const evaluation = load(slow).evaluate("data.p.a", { deadlineMs: 20 });
    expect(evaluation).toMatchObject({ ok: false, error: { code: "eval_cancel_error" } });
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  test("let an evaluation within them finish", () => {
    expect(
      load("package p\na := 1").evaluate("data.p.a", { maxSteps: 100, deadlineMs: 1_000 }),
    ).toMatchObject({
      ok: true,
      value: 1,
    });
  });
});

describe("hostile input", () => {
  test("is only data", () => {
    const source =
      "package p\na if input.isAdmin\nkeys := object.keys(input)\nb := input.constructor";
    const input: unknown = JSON.parse('{"__proto__": {"isAdmin": true}}');
    expect(value(source, "data.p", { input })).toEqual({ keys: ["__proto__"] });
  });

  test("may nest 100,000 levels deep", () => {
    let input: unknown = 1;
    for (let i = 0; i < 100_000; i++) input = { a: input };
    const policy = load(
      "package p\nshallow if input.a.a\nwhole := json.marshal(input)\nsame if input == input.a",
    );
    expect(policy.evaluate("data.p.shallow", { input })).toMatchObject({ ok: true, value: true });
    for (const name of ["whole", "same"]) {
      const evaluation = policy.evaluate(`data.p.${name}`, { input });
      expect(evaluation.ok || evaluation.error.code === "eval_internal_error").toBe(true);
    }
  });

  test("may hold numbers no double can hold, and lone surrogates", () => {
    const source =
      "package p\nbig := 1e1000 > 1e999\nsame := input.s == input.t\nexact := 9007199254740993 - 1";
    const input = { s: "\ud800", t: "\ud800" };
    expect(value(source, "data.p", { input })).toEqual({
      big: true,
      same: true,
      exact: 9007199254740992,
    });
  });

  test("never exhausts the stack through the policy itself", () => {
    const deep = `package p\na := ${"[".repeat(100_000)}1${"]".repeat(100_000)}`;
    expect(firstError(deep).code).toBe("rego_parse_error");
    const long = `package p\na := ${"1 + ".repeat(20_000)}1`;
    expect(compile({ "p.rego": long }).ok).toBe(false);
    const rules = Array.from(
      { length: 3_000 },
      (_, i) => `r${String(i)} := r${String(i + 1)}`,
    ).join("\n");
    const result = compile({ "p.rego": `package p\n${rules}\nr3000 := 1` });
    if (!result.ok) return;
    const evaluation = result.policy.evaluate("data.p.r0");
    expect(evaluation.ok || evaluation.error.code === "eval_internal_error").toBe(true);
  });
});

describe("explanations", () => {
  const source = `package p
default allow := false
allow if {
	input.user == "root"
	not blocked
}
blocked if input.user in {"mallory"}`;

  test("say which rule held and where the others failed first", () => {
    const evaluation = load(source).evaluate("data.p.allow", {
      input: { user: "bob" },
      explain: true,
    });
    const visits = evaluation.explanation?.visits ?? [];
    expect(visits).toMatchObject([
      {
        rule: "data.p.allow",
        location: { line: 3 },
        failedAt: { file: "p.rego", line: 4, column: 2 },
      },
      { rule: "data.p.allow", location: { line: 2 }, value: false },
    ]);
    expect(evaluation.explanation && explanationText(evaluation.explanation)).toContain(
      "p.rego:4:2 does not hold",
    );
  });

  test("tell which lines were covered", () => {
    const evaluation = load(source).evaluate("data.p.allow", {
      input: { user: "root" },
      coverage: true,
    });
    expect(evaluation.coverage?.files["p.rego"]?.covered).toEqual(
      expect.arrayContaining([3, 4, 5]),
    );
    expect(evaluation.coverage?.percent).toBeLessThan(100);
  });

  test("change nothing about the result", () => {
    const policy = load(source);
    for (const user of ["root", "mallory"]) {
      const plain = policy.evaluate("data.p", { input: { user } });
      const explained = policy.evaluate("data.p", {
        input: { user },
        explain: true,
        coverage: true,
      });
      expect(plain.ok && explained.ok && plain.value && explained.value).toBeTruthy();
      if (plain.ok && explained.ok && plain.value && explained.value) {
        expect(toJson(explained.value)).toEqual(toJson(plain.value));
      }
    }
  });
});
