import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../contract/errors.ts";
import type { Relationship } from "./relation.ts";
import {
  isObjectId,
  objectText,
  parseObject,
  parsePattern,
  parseRelationship,
  parseSubject,
  relationshipText,
  subjectText,
} from "./text.ts";

const fault = (work: () => unknown): AppError => {
  try {
    work();
  } catch (cause) {
    if (cause instanceof AppError) return cause;
    throw cause;
  }
  throw new Error("it was taken");
};

describe("text of relationships", () => {
  test("objects and subjects, both ways", () => {
    expect(parseObject("tool:system/echo")).toEqual({ type: "tool", id: "system/echo" });
    expect(parseSubject("user:*")).toEqual({ type: "user", id: "*" });
    expect(parseSubject("group:eng#member")).toEqual({
      type: "group",
      id: "eng",
      relation: "member",
    });
    expect(parseSubject("user:ada#...")).toEqual({ type: "user", id: "ada" });
    expect(parseObject("docs/page:a|b-c=d+e_f")).toEqual({ type: "docs/page", id: "a|b-c=d+e_f" });
    expect(objectText({ type: "tool", id: "a" })).toBe("tool:a");
    expect(subjectText({ type: "group", id: "g", relation: "member" })).toBe("group:g#member");
  });

  test("relationships with caveat and expiration", () => {
    const full =
      'tool:a#executor@user:ada[office:{"net":"10.0.0.0/8","list":["]"]}][expiration:2030-01-31T08:00:00.000Z]';
    const parsed = parseRelationship(full);
    expect(parsed).toEqual({
      resource: { type: "tool", id: "a" },
      relation: "executor",
      subject: { type: "user", id: "ada" },
      caveat: { name: "office", context: { net: "10.0.0.0/8", list: ["]"] } },
      expiresAt: Date.parse("2030-01-31T08:00:00Z"),
    });
    expect(relationshipText(parsed)).toBe(full);
    expect(parseRelationship("  tool:a#owner@user:ada[office]\n").caveat).toEqual({
      name: "office",
    });
    const ends = parseRelationship("tool:a#owner@user:ada[expiration:2030-01-31T09:00:00+01:00]");
    expect(ends).toMatchObject({ expiresAt: Date.parse("2030-01-31T08:00:00Z") });
    expect(ends).not.toHaveProperty("caveat");
  });

  test.each([
    "",
    "tool",
    "tool:",
    "tool:a",
    "tool:a#executor",
    "tool:a#executor@",
    "tool:a@user:b",
    "Tool:a#executor@user:b",
    "tool:*#executor@user:b",
    "tool:a.b#executor@user:b",
    "tool:a#executor@user:b c",
    "tool:a#executor@user:b[",
    "tool:a#executor@user:b[x:{]",
    "tool:a#executor@user:b[x:{,}]",
    "tool:a#executor@user:b[expiration:tomorrow]",
    "tool:a#executor@user:b[expiration:2030-01-31]",
    "tool:a#executor@user:b[expiration:2030-02-31T99:00:00Z]",
    "tool:a#executor@user:b[expiration:2030-01-31T08:00:00Z][x]",
    "tool:a#executor@user:b[x][y]",
    "tool:a#executor@user:b#...#x",
    "tool:a#...@user:b",
  ])("refuses %j and says how to write it", (text) => {
    const { code, fault: said } = fault(() => parseRelationship(text));
    expect(code).toBe("BAD_REQUEST");
    expect(said.reason).toBe("invalid_input");
    expect(said.remedy).toMatch(/^write it like /);
  });

  test("a wildcard is a subject, not an object and not an id", () => {
    expect(fault(() => parseObject("user:*")).message).toBe('expected an object, got "user:*"');
    expect(fault(() => parseSubject("user")).message).toBe('expected a subject, got "user"');
    expect(["ada", "system/echo", "a=b+c|d-e_f"].every(isObjectId)).toBe(true);
    expect(["*", "", "a.b", "ä", "a b", "x".repeat(1025)].some(isObjectId)).toBe(false);
  });

  test("patterns leave out what does not matter", () => {
    expect(parsePattern("tool")).toEqual({ type: "tool" });
    expect(parsePattern("tool:a/b")).toEqual({ type: "tool", id: "a/b" });
    expect(parsePattern("group#member")).toEqual({ type: "group", relation: "member" });
    expect(parsePattern("group:g#member")).toEqual({ type: "group", id: "g", relation: "member" });
    expect(parsePattern("user:*")).toEqual({ type: "user", id: "*" });
    for (const text of ["", ":a", "Tool", "tool:", "tool:a b", "tool#", "tool#a#b"])
      expect(fault(() => parsePattern(text)).fault.reason).toBe("invalid_input");
  });

  test("long garbage is cut in the message", () => {
    expect(fault(() => parseObject("x".repeat(500))).message.length).toBeLessThan(200);
  });

  test("printing and parsing agree on anything", () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_]{1,20}[a-z0-9]$/);
    const id = fc.stringMatching(/^[a-zA-Z0-9/_|\-=+]{1,30}$/);
    const relationship = fc.record(
      {
        resource: fc.record({ type: name, id }),
        relation: name,
        subject: fc.record(
          { type: name, id: fc.oneof(id, fc.constant("*")), relation: name },
          { requiredKeys: ["type", "id"] },
        ),
        caveat: fc.record(
          {
            name: name.filter((each) => each !== "expiration"),
            context: fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })),
          },
          { requiredKeys: ["name"] },
        ),
        expiresAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
      },
      { requiredKeys: ["resource", "relation", "subject"] },
    );
    fc.assert(
      fc.property(relationship, (one) => {
        const plain = JSON.parse(JSON.stringify(one)) as Relationship;
        expect(parseRelationship(relationshipText(plain))).toEqual(plain);
      }),
    );
  });
});
