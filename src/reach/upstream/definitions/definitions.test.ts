import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../contract/call.ts";
import type { ForeignDefinition } from "../../../storage/store/store.ts";
import { boundsFault } from "./bounds.ts";
import { parseDefinition, pinOf } from "./definition.ts";
import { diffDefinitions, definitionText } from "./diff.ts";
import { isServerName, nameTool, TakenNames } from "./names.ts";
import { proposeTerms } from "./propose-terms.ts";

const OBJECT = { type: "object" } as const;

function tool(facts: Partial<ForeignDefinition> = {}): ForeignDefinition {
  return {
    method: "tools/call",
    name: "read_file",
    title: null,
    description: "Reads a file.",
    inputSchema: OBJECT,
    outputSchema: null,
    annotations: null,
    operation: null,
    ...facts,
  };
}

const named = (server: string, name: string): { name: string; wireName: string } => {
  const made = nameTool(server, { method: "tools/call", name });
  if ("fault" in made) throw new Error(made.fault);
  return made;
};

describe("names", () => {
  test("a tool is called server/tool, and server_tool on the wire", () => {
    expect(named("files", "read_file")).toEqual({
      name: "files/read_file",
      wireName: "files_read_file",
    });
    expect(named("files", "a.b/c-D")).toEqual({ name: "files/a_b_c-D", wireName: "files_a_b_c-D" });
  });

  test("long names are shortened and stay apart", () => {
    const [one, other] = [named("srv", `${"x".repeat(100)}1`), named("srv", `${"x".repeat(100)}2`)];
    expect([one.wireName.length, one.name.length]).toEqual([64, 68]);
    expect(one.wireName).not.toBe(other.wireName);
    expect(one.name).not.toBe(other.name);
  });

  test("whatever a server calls its tool, the name fits a client or it is refused", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 140 }), (name) => {
        const made = nameTool("srv", { method: "tools/call", name });
        if ("fault" in made) expect(made.fault).toMatch(/^[\x20-\x7e\n]*$/);
        else {
          expect(made.wireName).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
          expect(made.name).toMatch(/^srv\/[A-Za-z0-9_-]{1,64}$/);
        }
      }),
    );
  });

  test("a name with hidden or foreign letters is refused, and they are written out", () => {
    expect(nameTool("srv", { method: "tools/call", name: "re\u200bad" })).toEqual({
      fault: expect.stringContaining("re\\u{200b}ad") as string,
    });
    expect(nameTool("srv", { method: "tools/call", name: "rеad" })).toEqual({
      fault: expect.stringContaining("r\\u{435}ad") as string,
    });
    expect(nameTool("srv", { method: "tools/call", name: "" })).toHaveProperty("fault");
  });

  test("what else a server can be asked has names that no tool may take", () => {
    expect(nameTool("srv", { method: "resources/read", name: "" })).toEqual({
      name: "srv/resources_read",
      wireName: "srv_resources_read",
    });
    for (const name of ["resources_read", "prompts/get", "completion.complete"])
      expect(nameTool("srv", { method: "tools/call", name })).toHaveProperty("fault");
  });

  test("a server is not called as a category, nor with anything but small letters", () => {
    for (const name of ["file", "memory", "Files", "1a", "a b", "", "a/b", "ａ", "x".repeat(33)])
      expect([name, isServerName(name)]).toEqual([name, false]);
    for (const name of ["files", "a", "a-b_c9"])
      expect([name, isServerName(name)]).toEqual([name, true]);
    expect(nameTool("file", { method: "tools/call", name: "x" })).toHaveProperty("fault");
  });

  test.each([
    ["a_b", "c", "a", "b_c", "on the wire"],
    ["srv", "Read", "srv", "read", "case"],
    ["srv", "read-file", "srv", "read_file", "case"],
    ["srv", "a.b", "srv", "a_b", ""],
    ["srv", "list_O1", "srv", "list_0l", "alike"],
    ["srv", "I", "srv", "l", "alike"],
    ["srv", "rnove", "srv", "move", "alike"],
    ["my-srv", "x", "my_srv", "x", "case"],
  ])("T13: %s/%s is a twin of %s/%s", (server, name, otherServer, otherName, why) => {
    const [mine, other] = [named(server, name), named(otherServer, otherName)];
    // Two spellings of one name within a server are one name already.
    if (mine.name === other.name) expect(mine).toEqual(other);
    else
      expect(new TakenNames([named("srv", "else"), other]).twinOf(mine)).toEqual({
        name: other.name,
        why: expect.stringContaining(why) as string,
      });
  });

  test("T13: names that nobody mistakes are no twins, nor is a tool its own", () => {
    const mine = named("srv", "list");
    expect(
      new TakenNames([
        mine,
        named("srv", "list2"),
        named("srv", "iist"),
        named("other", "list"),
      ]).twinOf(mine),
    ).toBeNull();
  });

  test("T13: an alias of a native tool counts as its name", () => {
    const native = { name: "file/read", wireName: "file_read", aliases: ["srv_list"] };
    expect(new TakenNames([native]).twinOf(named("srv", "list"))).toMatchObject({
      name: "file/read",
    });
  });
});

describe("definitions and pins", () => {
  const entry = {
    name: "t",
    description: "d",
    inputSchema: OBJECT,
    title: "T",
    annotations: { readOnlyHint: true },
  };

  test("an entry of a list becomes a definition; what the pin does not cover is left out", () => {
    expect(parseDefinition({ ...entry, _meta: { a: 1 }, icons: [] })).toEqual({
      definition: tool({
        name: "t",
        description: "d",
        title: "T",
        annotations: { readOnlyHint: true },
      }),
    });
    expect(parseDefinition({ name: "t", inputSchema: OBJECT })).toMatchObject({
      definition: { description: "", title: null },
    });
  });

  test("every other shape is a fault that names the field", () => {
    const faults: [Json, string][] = [
      [null, "an object"],
      [[], "an object"],
      ["x", "an object"],
      [{}, "name"],
      [{ ...entry, name: 5 }, "name"],
      [{ name: "t" }, "inputSchema"],
      [{ ...entry, inputSchema: [] }, "inputSchema"],
      [{ ...entry, title: 1 }, "title"],
      [{ ...entry, description: {} }, "description"],
      [{ ...entry, outputSchema: true }, "outputSchema"],
      [{ ...entry, annotations: "x" }, "annotations"],
    ];
    for (const [given, word] of faults)
      expect(parseDefinition(given)).toEqual({ fault: expect.stringContaining(word) as string });
  });

  test("T12: any change of any fact gives another pin, the order of keys none", () => {
    const first = tool({ inputSchema: { type: "object", title: "x" } });
    expect(pinOf(tool({ inputSchema: { title: "x", type: "object" } }))).toBe(pinOf(first));
    const changes: Partial<ForeignDefinition>[] = [
      { name: "b" },
      { title: "" },
      { description: "Reads a file. " },
      { inputSchema: { type: "object", title: "y" } },
      { outputSchema: {} },
      { annotations: {} },
      { operation: {} },
      { method: "http" },
    ];
    const pins = [first, ...changes.map((change) => ({ ...first, ...change }))].map(pinOf);
    expect(new Set(pins).size).toBe(pins.length);
    expect(pinOf(first)).toMatch(/^[0-9a-f]{64}$/);
  });

  test("T12: one byte of the description anywhere gives another pin", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1 }),
        fc.nat(),
        fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
        (text, at, other) => {
          const place = at % text.length;
          const changed = text.slice(0, place) + other + text.slice(place + 1);
          expect(pinOf(tool({ description: changed })) === pinOf(tool({ description: text }))).toBe(
            changed === text,
          );
        },
      ),
    );
  });

  test("T15: a schema 10,000 levels deep is refused without an overflow, on every way", () => {
    let deep: JsonObject = OBJECT;
    for (let i = 0; i < 10_000; i++) deep = { type: "object", properties: { a: deep } };
    let lists: Json = [];
    for (let i = 0; i < 10_000; i++) lists = [lists];
    expect(parseDefinition({ name: "t", inputSchema: deep })).toHaveProperty("fault");
    for (const inputSchema of [deep, { type: "object", enum: lists }]) {
      const definition = tool({ inputSchema });
      expect(boundsFault(definition)).toContain("levels deep");
      expect(pinOf(definition)).toMatch(/^[0-9a-f]{64}$/);
      expect(definitionText(definition)).toContain("nested deeper");
    }
    expect(boundsFault(tool({ annotations: deep }))).toContain("nested too deep");
  });
});

describe("bounds", () => {
  test.each<[string, Partial<ForeignDefinition>]>([
    ["/description", { description: "x".repeat(10_001) }],
    ["/title", { title: "x".repeat(501) }],
    ["type", { inputSchema: {} }],
    ["type", { inputSchema: { type: "string" } }],
    ["refers to", { inputSchema: { type: "object", $ref: "https://example.com/x.json" } }],
    [
      "refers to",
      { inputSchema: { type: "object", properties: { a: { $dynamicRef: "http://x/#y" } } } },
    ],
    ["refers to", { inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/none" } } } }],
    ["$schema", { inputSchema: { type: "object", $schema: "https://example.com/own" } }],
    ["linear", { inputSchema: { type: "object", properties: { a: { pattern: "(a)\\1" } } } }],
    ["linear", { inputSchema: { type: "object", patternProperties: { "(?<!a)b": {} } } }],
    ["parts", { inputSchema: { type: "object", enum: Array.from({ length: 6_000 }, () => ({})) } }],
    ["characters", { inputSchema: { type: "object", enum: ["x".repeat(300_000)] } }],
    ["/outputSchema", { outputSchema: { type: "nonsense" } }],
    ["expected", { inputSchema: { type: "object", properties: { a: { required: true } } } }],
    ["/annotations", { annotations: { a: "x".repeat(5_000) } }],
  ])("C36 T15: %s is refused", (word, facts) => {
    expect(boundsFault(tool(facts))).toContain(word);
  });

  test("T15: what looks alike and is harmless is taken", () => {
    const inputSchema: JsonObject = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        $ref: { type: "string" },
        pattern: { type: "string", pattern: "^(?!\\.)(?=.*@)[a-z@.]+$" },
        a: { $ref: "#/definitions/b" },
        c: { default: { $ref: "https://example.com/" } },
        d: { enum: [{ pattern: "(" }] },
      },
      definitions: { b: { type: "string" } },
    };
    expect(boundsFault(tool({ inputSchema }))).toBeNull();
  });
});

describe("terms", () => {
  const terms = (name: string, annotations: JsonObject | null = null) =>
    proposeTerms(tool({ name, annotations }));

  test("R063: what nobody says anything about counts as dangerous", () => {
    expect(terms("frobnicate")).toEqual({
      category: "file",
      risk: "dangerous",
      effects: "system_dangerous",
      idempotent: false,
      openWorld: true,
      cacheable: false,
    });
  });

  test.each<[string, JsonObject | null, string, string]>([
    ["get_weather", null, "moderate", "network"],
    ["get_weather", { readOnlyHint: true }, "safe", "network"],
    ["get_weather", { readOnlyHint: true, openWorldHint: false }, "safe", "read_only"],
    ["get_weather", { destructiveHint: true }, "dangerous", "system_dangerous"],
    ["get_weather", { readOnlyHint: false, destructiveHint: false }, "moderate", "system_write"],
    ["get_commit", { readOnlyHint: true }, "safe", "network"],
    ["delete_file", { readOnlyHint: true }, "dangerous", "system_dangerous"],
    ["deleteFile", null, "dangerous", "system_dangerous"],
    ["create_issue", { destructiveHint: false }, "dangerous", "system_write"],
    ["get_and_delete", { readOnlyHint: true }, "dangerous", "system_dangerous"],
    ["frobnicate", { readOnlyHint: true }, "moderate", "network"],
    ["frobnicate", { readOnlyHint: true, destructiveHint: true }, "dangerous", "system_dangerous"],
    ["frobnicate", { readOnlyHint: "yes" }, "dangerous", "system_dangerous"],
  ])("F22: %s with %j is %s, %s", (name, annotations, risk, effects) => {
    expect(terms(name, annotations)).toMatchObject({ risk, effects });
  });

  test("T24: annotations alone never make a tool safe, whatever its name, and never lower what its name says", () => {
    const words = fc.constantFrom("get", "list", "delete", "write", "run", "frob", "x", "send");
    const hint = fc.option(fc.boolean(), { nil: undefined });
    fc.assert(
      fc.property(
        fc.array(words, { minLength: 1, maxLength: 4 }),
        hint,
        hint,
        hint,
        (name, readOnlyHint, destructiveHint, openWorldHint) => {
          const hints = Object.fromEntries(
            Object.entries({ readOnlyHint, destructiveHint, openWorldHint }).filter(
              ([, value]) => value !== undefined,
            ),
          ) as JsonObject;
          const proposed = terms(name.join("_"), hints);
          if (name.some((word) => ["delete", "write", "run", "send"].includes(word)))
            expect(proposed.risk).toBe("dangerous");
          if (destructiveHint === true) expect(proposed.risk).toBe("dangerous");
          if (proposed.risk === "safe")
            expect([readOnlyHint, name.some((word) => ["get", "list"].includes(word))]).toEqual([
              true,
              true,
            ]);
          expect(proposed.cacheable).toBe(false);
          expect(proposed.idempotent && proposed.risk !== "safe").toBe(false);
        },
      ),
    );
  });

  test.each([
    ["browser_click", "browser"],
    ["run_sql", "database"],
    ["read_graph", "memory"],
    ["write_file", "file"],
    ["exec_command", "shell"],
    ["fetch_url", "web"],
    ["sequential_thinking", "ai"],
  ])("%s is of category %s", (name, category) => {
    expect(proposeTerms(tool({ name, description: "" }))).toMatchObject({ category });
  });

  test("reading a resource is moderate: what it holds is anybody's guess", () => {
    expect(
      proposeTerms(
        tool({ method: "resources/read", name: "", annotations: { readOnlyHint: true } }),
      ),
    ).toMatchObject({ risk: "moderate", effects: "network" });
  });
});

describe("diffs", () => {
  test("nothing changed, no lines; the order of keys is no change", () => {
    expect(diffDefinitions(tool(), tool())).toEqual([]);
    expect(
      diffDefinitions(tool({ annotations: { a: 1, b: 2 } }), tool({ annotations: { b: 2, a: 1 } })),
    ).toEqual([]);
  });

  test("T11: a change that does not show is written out", () => {
    const lines = diffDefinitions(
      tool({ description: "one\ntwo" }),
      tool({ description: "one\nt\u200bwo \u{e0041}" }),
    );
    expect(lines).toContain("-  two");
    expect(lines).toContain("+  t\\u{200b}wo \\u{e0041}");
    expect(
      diffDefinitions(tool({ description: "pay" }), tool({ description: "pаy" })).join("\n"),
    ).toContain("p\\u{430}y");
    expect(
      diffDefinitions(tool({ description: "a\nb" }), tool({ description: "a\nb " })).join("\n"),
    ).toContain("b\\u{20}");
  });

  test("T11: two definitions with different pins never look the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
        if (a !== b && a.normalize("NFC") !== b.normalize("NFC"))
          expect(
            diffDefinitions(tool({ description: a }), tool({ description: b })).length,
          ).toBeGreaterThan(0);
      }),
    );
  });

  test("a changed schema shows the line that changed", () => {
    const schema = (type: string): JsonObject => ({ type: "object", properties: { a: { type } } });
    expect(
      diffDefinitions(
        tool({ inputSchema: schema("string") }),
        tool({ inputSchema: schema("number") }),
      ),
    ).toContain('+      type: "number"');
  });
});
