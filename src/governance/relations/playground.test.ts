import { describe, expect, test } from "vitest";
import { parsePlayground, playgroundText } from "./playground.ts";
import { parseRelationship, relationshipText } from "./text.ts";

const SCHEMA = "definition user {}\n\ndefinition tool {\n  relation executor: user\n}";

describe("validation files", () => {
  test("what is written can be read again", () => {
    const relationships = [
      'tool:a#executor@user:ada[office:{"a":"b: c"}]',
      "tool:b#executor@user:*",
    ].map(parseRelationship);
    const text = playgroundText({ schema: SCHEMA, relationships });
    expect(text).toContain("relationships: |-\n  tool:a#executor@user:ada");
    expect(parsePlayground(text)).toEqual({ schema: SCHEMA, relationships });
    const odd = { schema: "  // indented\ndefinition user {}", relationships: [] };
    expect(parsePlayground(playgroundText(odd))).toEqual(odd);
    const empty = { schema: "", relationships: [] };
    expect(parsePlayground(playgroundText(empty))).toEqual(empty);
  });

  test("comments, empty lines and further keys are skipped", () => {
    const { relationships, schema } = parsePlayground(`schema: |-
  definition user {}
relationships: |
  // people
  tool:a#executor@user:ada

  tool:b#executor@user:bob[expiration:2030-01-01T00:00:00Z]
assertions:
  assertTrue:
    - tool:a#executor@user:ada
`);
    expect(schema).toBe("definition user {}");
    expect(relationships.map(relationshipText)).toEqual([
      "tool:a#executor@user:ada",
      "tool:b#executor@user:bob[expiration:2030-01-01T00:00:00.000Z]",
    ]);
    expect(parsePlayground("relationships:\n")).toEqual({ schema: "", relationships: [] });
  });

  test.each([
    ["", /expected the keys/],
    ["- a\n- b", /expected the keys/],
    ["schema: [", /no validation file/],
    ["relationships:\n  - tool:a#x@user:b", /relationships must be a text block/],
    [
      "relationships: |\n  tool:a#owner@user:b\n  nonsense",
      /line 2: expected a relationship, got "nonsense"/,
    ],
  ])("%j is refused", (text, message) => {
    expect(() => parsePlayground(text)).toThrow(message);
  });
});
