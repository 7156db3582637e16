import { existsSync, readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, JsonFault, parseStrict } from "./json.ts";
import type { Json } from "../../contract/call.ts";

const parse = (text: string): Json => parseStrict(Buffer.from(text));
const CORPUS = "../shared/corpora/json/test_parsing";

describe("strict parsing", () => {
  test("T14: refuses repeated keys at any depth, also when they are escaped differently", () => {
    for (const text of [
      '{"a":1,"a":2}',
      '{"x":[{"b":1,"b":1}]}',
      '{"a":1,"\\u0061":2}',
      '{"a:":{"b":":"},"a:":1}',
    ]) {
      expect(() => parse(text)).toThrow(JsonFault);
    }
    expect(parse('{"a":{"b":":"},"c":["{\\"d\\":1}"]}')).toEqual({ a: { b: ":" }, c: ['{"d":1}'] });
  });

  test("refuses __proto__, numbers that would change, deep nesting and broken UTF-8", () => {
    expect(() => parse('{"__proto__":{"x":1}}')).toThrow(/__proto__/);
    expect(() => parse("[1e400]")).toThrow(/too large/);
    expect(() => parse('{"n":9007199254740993}')).toThrow(/2\^53/);
    expect(() => parse("[".repeat(70) + "]".repeat(70))).toThrow(/deeper/);
    expect(() => parseStrict(Buffer.from([0x22, 0xff, 0x22]))).toThrow(/UTF-8/);
    expect(parse('{"n":9007199254740991,"big":1e300,"text":"9007199254740993"}')).toEqual({
      n: 9007199254740991,
      big: 1e300,
      text: "9007199254740993",
    });
  });

  test("gives back what JSON.stringify wrote", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        fc.pre(!JSON.stringify(value).includes("__proto__"));
        expect(parse(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.skipIf(!existsSync(CORPUS))(
    `agrees with the parser corpus (skipped when ${CORPUS} is absent)`,
    () => {
      const files = readdirSync(CORPUS).filter((name) => name.endsWith(".json"));
      const wrong = files.filter((name) => {
        const accepted = (() => {
          try {
            parseStrict(readFileSync(`${CORPUS}/${name}`));
            return true;
          } catch (cause) {
            if (!(cause instanceof JsonFault)) throw cause;
            return false;
          }
        })();
        // Repeated keys are legal JSON, and refused here on purpose.
        if (name.startsWith("y_object_duplicated_key")) return accepted;
        return (name.startsWith("y_") && !accepted) || (name.startsWith("n_") && accepted);
      });
      console.log(`${files.length} parser inputs tried`);
      expect(files.length).toBeGreaterThan(0);
      expect(wrong).toEqual([]);
    },
  );
});

describe("canonical form", () => {
  test("RFC 8785: sorts keys by UTF-16 units, drops white space and undefined members", () => {
    expect(canonicalJson({ b: 1, a: [1.0, "é\n", null], "\u20ac": true, "10": 0 })).toBe(
      '{"10":0,"a":[1,"é\\n",null],"b":1,"€":true}',
    );
    expect(canonicalJson({ a: undefined, b: 1 } as never)).toBe('{"b":1}');
    expect(canonicalJson(undefined)).toBe("null");
  });

  test("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const turned = Object.fromEntries(Object.entries(object).reverse());
        expect(canonicalJson(turned as Json)).toBe(canonicalJson(object as Json));
      }),
    );
  });
});
