// References and conditions: values only, whatever they contain.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../contract/call.ts";
import { nextTimes } from "./cron.ts";
import { holds, parseCondition } from "./condition.ts";
import { NothingThere, referencesIn, render, type Scope } from "./template.ts";

const scope: Scope = {
  input: { name: "Ada", n: 3, list: ["x", { y: true }], text: "{{input.name}}" },
  outputs: new Map<string, Json>([["a", { total: 2, rows: [{ id: 7 }], empty: null }]]),
};

describe("references", () => {
  test("alone they keep their type, within a text they become text", () => {
    expect(render("{{input.n}}", scope)).toBe(3);
    expect(render("{{ steps.a.output.rows.0 }}", scope)).toEqual({ id: 7 });
    expect(render("{{steps.a.output}}", scope)).toEqual(scope.outputs.get("a"));
    expect(render("n={{input.n}}, rows={{steps.a.output.rows}}", scope)).toBe(
      'n=3, rows=[{"id":7}]',
    );
    expect(render({ deep: ["{{input.list.1.y}}", 1, null] }, scope)).toEqual({
      deep: [true, 1, null],
    });
    expect(render("{{steps.a.output.empty}}", scope)).toBeNull();
  });

  test("what a value says is not looked at again, and nothing of the language leaks", () => {
    expect(render("{{input.text}}", scope)).toBe("{{input.name}}");
    expect(render("-{{input.text}}-", scope)).toBe("-{{input.name}}-");
    for (const text of [
      "{{input.constructor}}",
      "{{input.__proto__}}",
      "{{steps.a.output.toString}}",
      "{{input.name.length}}",
      "{{steps.b.output}}",
      "{{env.HOME}}",
      "{{input}}",
      "{{}}",
      "{{1+1}}",
    ])
      expect(() => render(text, scope)).toThrow(NothingThere);
  });

  test("faults of spelling are found without running anything", () => {
    expect(
      referencesIn({ a: "{{steps.a.result}}", b: ["{{input.x y}}"] }).every(
        (one) => typeof one === "string",
      ),
    ).toBe(true);
    expect(referencesIn("{{input.x}} {{steps.a.output}}")).toMatchObject([
      { from: "input", path: ["x"] },
      { from: "step", step: "a", path: [] },
    ]);
  });

  test("no text makes it throw anything else", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          render(`{{${text}}}`, scope);
        } catch (cause) {
          expect(cause).toBeInstanceOf(NothingThere);
        }
      }),
    );
  });
});

describe("conditions", () => {
  test.each<[string, boolean]>([
    ["{{input.n}} == 3", true],
    ["{{input.n}} != 3", false],
    ["{{input.n}} >= 3 and {{input.n}} < 10", true],
    ['{{input.name}} == "Ada"', true],
    ['{{input.name}} < "Bob"', true],
    ["{{input.name}} > 1", false],
    ["{{steps.a.output.total}} > 5 or {{input.list.1.y}}", true],
    ["not {{steps.a.output.empty}}", true],
    ["not ({{input.n}} == 3 or false)", false],
    ["{{steps.none.output.x}} == null", true],
    ["{{steps.a.output.rows}} == {{steps.a.output.rows}}", true],
    ["true and not false or false", true],
    ["-1.5 < 0", true],
    ['"a \\"quoted\\" text" == "x"', false],
  ])("%s is %s", (text, expected) => {
    const condition = parseCondition(text);
    if (typeof condition === "string") throw new Error(condition);
    expect(holds(condition, scope)).toBe(expected);
  });

  test.each([
    "",
    "==",
    "{{input.n}} ==",
    "{{input.n}} = 3",
    "process.exit()",
    "1 + 1",
    "(true",
    "true)",
    "true true",
    "{{nope}} == 1",
    "'x' == 1",
    "true and",
    "(".repeat(200),
    "true and ".repeat(90) + "true",
  ])("%s is refused with a reason", (text) => expect(typeof parseCondition(text)).toBe("string"));

  test("no text makes it throw", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseCondition(text)));
  });
});

describe("cron", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  const times = (cron: string, zone = "UTC") =>
    nextTimes(cron, zone, at, 3).map((time) => new Date(time).toISOString());

  test("the next times, in the timezone that was named", () => {
    expect(times("* * * * *")).toEqual([
      "2026-01-02T03:05:00.000Z",
      "2026-01-02T03:06:00.000Z",
      "2026-01-02T03:07:00.000Z",
    ]);
    expect(times("0 9 * * 1-5", "Europe/Berlin")[0]).toBe("2026-01-02T08:00:00.000Z");
  });

  test.each([
    "* * * * * *",
    "*/5 * * * * *",
    "61 * * * *",
    "a b c d e",
    "* * *",
    "0 0 31 2 *",
    "@daily",
  ])("%s is cron_invalid", (cron) => {
    expect(() => times(cron)).toThrow(
      expect.objectContaining({
        fault: expect.objectContaining({
          reason: "cron_invalid",
          remedy: expect.any(String) as string,
        }) as object,
      }),
    );
  });

  test("an unknown timezone is named", () => {
    expect(() => times("* * * * *", "Mars/Base")).toThrow("Mars/Base");
  });
});
