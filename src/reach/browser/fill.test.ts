import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { PageFacts } from "./browser.ts";
import { fill } from "./fill.ts";
import { matchesSchema } from "./matches-schema.ts";

const EMPTY: PageFacts = { title: "", url: "", pairs: [], tables: [], lists: [], linkedData: [] };
const object = (
  properties: JsonObject,
  required: string[] = Object.keys(properties),
): JsonObject => ({ type: "object", properties, required });
const faultOf = (schema: JsonObject, facts: PageFacts): Fault => {
  try {
    fill(schema, facts);
  } catch (cause) {
    if (cause instanceof AppError) return cause.fault;
    throw cause;
  }
  throw new Error("expected a fault");
};

describe("a schema is filled by the names of its fields", () => {
  test("from named values, whatever the spelling", () => {
    const facts = {
      ...EMPTY,
      pairs: [
        ["Unit price", "1,234.50 €"],
        ["in_stock", "yes"],
        ["og:site_name", "Shop"],
      ] as const,
    };
    const schema = object({
      unitPrice: { type: "number" },
      inStock: { type: "boolean" },
      siteName: { type: "string" },
    });
    expect(fill(schema, facts)).toEqual({ unitPrice: 1234.5, inStock: true, siteName: "Shop" });
  });

  test("from the table whose headers answer most fields", () => {
    const tables = [
      { caption: "", headers: ["Day", "Visitors"], rows: [["Mon", "1"]] },
      {
        caption: "",
        headers: ["Item", "Price"],
        rows: [
          ["Pen", "1,50"],
          ["Ink", "2"],
          ["", "3"],
        ],
      },
    ];
    const row = object({ item: { type: "string" }, price: { type: "number" } });
    const schema = object({ products: { type: "array", items: row } });
    expect(fill(schema, { ...EMPTY, tables })).toEqual({
      products: [
        { item: "Pen", price: 1.5 },
        { item: "Ink", price: 2 },
      ],
    });
  });

  test("from linked data before anything else, nested ones too", () => {
    const linkedData = ['{"@type":"Product","name":"Pen","offers":{"price":"3.20"}}', "not json"];
    const schema = object({ name: { type: "string" }, price: { type: "number" } });
    expect(fill(schema, { ...EMPTY, linkedData, pairs: [["name", "Other"]] })).toEqual({
      name: "Pen",
      price: 3.2,
    });
  });

  test("lists of values from a list, a column or repeated names", () => {
    const strings = { type: "array", items: { type: "string" } };
    expect(
      fill(object({ tags: strings }), { ...EMPTY, lists: [{ name: "tags", items: ["a", "b"] }] }),
    ).toEqual({ tags: ["a", "b"] });
    expect(
      fill(object({ author: strings }), {
        ...EMPTY,
        pairs: [
          ["author", "A"],
          ["author", "B"],
        ],
      }),
    ).toEqual({ author: ["A", "B"] });
  });

  test("an optional field that is not there is left out", () => {
    const schema = object({ title: { type: "string" }, isbn: { type: "string" } }, ["title"]);
    expect(fill(schema, { ...EMPTY, pairs: [["title", "T"]] })).toEqual({ title: "T" });
  });

  test("an enum takes only its own values", () => {
    const facts = {
      ...EMPTY,
      pairs: [
        ["state", "purple"],
        ["state", "OPEN"],
      ] as const,
    };
    expect(fill(object({ state: { type: "string", enum: ["open", "closed"] } }), facts)).toEqual({
      state: "open",
    });
  });
});

describe("what cannot be filled is said", () => {
  test("every missing field is named", () => {
    const schema = object({ isbn: { type: "string" }, pages: { type: "integer" } });
    const fault = faultOf(schema, { ...EMPTY, pairs: [["pages", "many"]] });
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "schema_not_satisfied" });
    expect(fault.message).toContain("/isbn, /pages");
  });

  test("a keyword that would be ignored is refused", () => {
    const fault = faultOf(object({ a: { type: "string", pattern: "^x" } }), EMPTY);
    expect(fault).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    expect(fault.errors?.[0]?.path).toBe("/schema/properties/a/pattern");
    expect(faultOf({ properties: {} }, EMPTY).errors?.[0]?.path).toBe("/schema/type");
  });

  test("a text with two numbers is no number", () => {
    expect(
      faultOf(object({ size: { type: "number" } }), { ...EMPTY, pairs: [["size", "3 × 4"]] })
        .reason,
    ).toBe("schema_not_satisfied");
  });
});

test("fits holds data against the same keywords", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      n: { type: "integer" },
      list: { type: "array", items: { type: "string", enum: ["a"] }, maxItems: 2 },
    },
    required: ["n"],
    additionalProperties: false,
  };
  for (const good of [{ n: 1 }, { n: 1, list: ["a", "a"] }])
    expect(matchesSchema(schema, good)).toBe(true);
  for (const bad of [
    {},
    { n: 1.5 },
    { n: 1, x: 1 },
    { n: 1, list: ["b"] },
    { n: 1, list: ["a", "a", "a"] },
    [],
    null,
    "n",
  ])
    expect([bad, matchesSchema(schema, bad)]).toEqual([bad, false]);
});
