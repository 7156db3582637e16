import { describe, expect, test } from "vitest";
import { format } from "./format/format.ts";
import { compile } from "./index.ts";
import { runTests } from "./evaluate/test-runner.ts";

describe("formatting", () => {
  const untidy = `package   a.b
import data.x  # why
default allow=false
# METADATA
# title: x
allow if {  input.x==1 ; not  foo( 1,-2 ) # trailing
   x:=[a|a:=xs[_];a>-1]
   y := {"a":1,
     "b":[1]} }
q := 1
r := 2
`;
  const tidy = `package a.b

import data.x # why

default allow := false

# METADATA
# title: x
allow if {
	input.x == 1
	not foo(1, -2) # trailing
	x := [a | a := xs[_]; a > -1]
	y := {
		"a": 1,
		"b": [1],
	}
}

q := 1
r := 2
`;
  test("gives modules their canonical layout and keeps comments", () => {
    expect(format("a.rego", untidy)).toBe(tidy);
  });

  test("changes nothing the second time", () => {
    expect(format("a.rego", tidy)).toBe(tidy);
  });

  test("refuses what does not parse", () => {
    expect(() => format("a.rego", "package a\nx := ")).toThrow(/rego_parse_error/);
  });
});

describe("tests in Rego", () => {
  const source = `package p_test
test_good if 1 == 1
test_bad if { print("looking at", input); input.x == 2 }
test_cases[name] if { some name in ["a", "b"]; name != "" }
todo_test_later if true
test_conflict := 1
test_conflict := 2 if true
helper := 1`;

  test("pass, fail, fail with an error or wait as opa test has it", () => {
    const compiled = compile({ "p_test.rego": source });
    if (!compiled.ok) throw new Error(compiled.errors[0]?.message);
    const results = runTests(compiled.policy);
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ["test_good", "passed"],
      ["test_bad", "failed"],
      ["test_cases/a", "passed"],
      ["test_cases/b", "passed"],
      ["todo_test_later", "skipped"],
      ["test_conflict", "errored"],
    ]);
    expect(results[1]?.output).toEqual(["looking at <undefined>"]);
    expect(results[1]?.explanation?.visits[0]?.failedAt).toMatchObject({ line: 3 });
  });
});
