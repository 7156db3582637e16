import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../contract/call.ts";
import { foreignSchema, schemaErrors, schemaFault } from "./foreign-schema.ts";

const CORPUS = join(import.meta.dirname, "../../../shared/corpora/jsonschema/tests/draft2020-12");

interface Group {
  readonly description: string;
  readonly schema: JsonObject | boolean;
  readonly tests: readonly {
    readonly description: string;
    readonly data: Json;
    readonly valid: boolean;
  }[];
}

describe.skipIf(!existsSync(CORPUS))(
  "the JSON Schema test suite (skipped: ../shared/corpora/jsonschema is absent)",
  () => {
    test("every required case agrees, but those that need a schema from elsewhere", () => {
      const files = readdirSync(CORPUS).filter((file) => file.endsWith(".json"));
      const wrong: string[] = [];
      let [agreed, refused] = [0, 0];
      for (const file of files)
        for (const group of JSON.parse(readFileSync(join(CORPUS, file), "utf8")) as Group[]) {
          const made = foreignSchema(
            typeof group.schema === "boolean" ? { allOf: [group.schema] } : group.schema,
          );
          if ("fault" in made) {
            expect(made.fault).toMatch(/refers to|\$schema is/);
            refused += group.tests.length;
            continue;
          }
          for (const { data, valid, description } of group.tests)
            if ((made.check(data).length === 0) === valid) agreed++;
            else wrong.push(`${file}: ${group.description}: ${description}`);
        }
      console.log(
        `jsonschema: ${agreed} cases agree, ${wrong.length} do not, ${refused} lead outside and are refused`,
      );
      expect(wrong).toEqual([]);
      expect(agreed).toBeGreaterThan(20 * refused);
    });
  },
);

test("it agrees with ajv on whatever values come", () => {
  const schemas: JsonObject[] = [
    {
      type: "object",
      properties: {
        a: { type: "integer", minimum: 2 },
        b: { type: ["string", "null"], maxLength: 2 },
      },
      required: ["a"],
      additionalProperties: false,
    },
    {
      anyOf: [
        { type: "array", items: { type: "number" }, uniqueItems: true },
        { type: "object", minProperties: 1, patternProperties: { "^a": { enum: [1, "x", null] } } },
      ],
    },
    { oneOf: [{ type: "number", multipleOf: 0.5 }, { type: "integer" }, { const: { a: 1 } }] },
    {
      if: { required: ["a"] },
      then: { required: ["b"] },
      else: { not: { required: ["c"] } },
      unevaluatedProperties: true,
    },
    {
      type: "object",
      properties: { a: true },
      allOf: [{ properties: { b: { type: "number" } } }],
      unevaluatedProperties: false,
    },
  ];
  const key = fc.constantFrom("a", "b", "c", "ab");
  const leaf = fc.oneof(
    fc.constantFrom(null, true, 0, 1, 2, 2.5, 1e3, "", "x", "abc", "💡"),
    fc.double({ noNaN: true, min: -1e6, max: 1e6 }),
  );
  const value = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(key, tie("any"), { maxKeys: 3 }),
    ),
  })).any;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const schema of schemas) {
    const theirs = ajv.compile(schema);
    const ours = foreignSchema(schema);
    if ("fault" in ours) throw new Error(ours.fault);
    fc.assert(
      fc.property(value, (given) => {
        expect(ours.check(given as Json).length === 0).toBe(theirs(given));
      }),
    );
  }
});

test("schemas of the older drafts mean what they meant", () => {
  const fits = (schema: JsonObject, value: Json): boolean =>
    schemaErrors(schema, value).length === 0;
  const pair = { items: [{ type: "string" }, { type: "number" }], additionalItems: false };
  expect([fits(pair, ["a", 1]), fits(pair, ["a", "b"]), fits(pair, ["a", 1, 2])]).toEqual([
    true,
    false,
    false,
  ]);
  expect([
    fits({ minimum: 3, exclusiveMinimum: true }, 3),
    fits({ minimum: 3, exclusiveMinimum: true }, 4),
  ]).toEqual([false, true]);
  expect([
    fits({ dependencies: { a: ["b"] } }, { a: 1 }),
    fits({ dependencies: { a: { required: ["b"] } } }, { a: 1, b: 2 }),
  ]).toEqual([false, true]);
  expect(fits({ $ref: "#/definitions/x", definitions: { x: { type: "string" } } }, "a")).toBe(true);
});

test("T15: schemas that go on for ever end, and nothing fits them", () => {
  const circle = { $ref: "#" };
  expect(schemaErrors(circle, {})).toMatchObject([
    { message: expect.stringContaining("without end") as string },
  ]);
  const $defs: Record<string, JsonObject> = { d40: { type: "object" } };
  for (let i = 0; i < 40; i++)
    $defs[`d${i}`] = { allOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] };
  expect(schemaErrors({ $ref: "#/$defs/d0", $defs }, {})).toMatchObject([
    { message: expect.stringContaining("too long") as string },
  ]);
  const tree = { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false };
  expect(schemaErrors(tree, { next: { next: {} } })).toEqual([]);
  expect(schemaErrors(tree, { next: { next: { x: 1 } } })).toMatchObject([{ path: "/next/next" }]);
});

test.each<[string, JsonObject]>([
  ["/type", { type: "text" }],
  ["/required", { required: "a" }],
  ["/properties", { properties: [] }],
  ["/properties/a", { properties: { a: "string" } }],
  ["/minimum", { minimum: "1" }],
  ["/multipleOf", { multipleOf: 0 }],
  ["/anyOf", { anyOf: [] }],
  ["/enum", { enum: "a" }],
  ["/pattern", { pattern: 5 }],
  ["refers to", { $ref: "#/nowhere" }],
  ["$ref", { $ref: 5 }],
])("a schema that cannot be used says where: %s", (word, schema) => {
  expect(schemaFault(schema)).toContain(word);
  expect(schemaErrors(schema, {})).toMatchObject([
    { path: "", message: expect.stringContaining("cannot be used") as string },
  ]);
});

test("of several ways to fit, the nearest is explained; where none has the type, all types are", () => {
  const schema = {
    properties: {
      a: { anyOf: [{ type: "string" }, { type: "null" }] },
      b: { oneOf: [{ type: "string" }, { type: "object", required: ["x"] }] },
    },
  };
  const made = foreignSchema(schema);
  if ("fault" in made) throw new Error(made.fault);
  expect(made.check({ a: 5 })).toMatchObject([
    { keyword: "type", params: { type: ["string", "null"] } },
  ]);
  expect(made.check({ b: {} })[0]).toMatchObject({ keyword: "required", instancePath: "/b" });
});
