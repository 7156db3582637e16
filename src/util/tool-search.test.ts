import { expect, test } from "vitest";
import type { JsonObject } from "../contract/call.ts";
import { rankTools, wordsOfTool, type Searchable } from "./tool-search.ts";

const tool = (name: string, description: string, more: Partial<Searchable> = {}): Searchable => ({
  name,
  displayName: name,
  description,
  category: "file",
  tags: [],
  inputSchema: {},
  ...more,
});

const parameters = (...names: string[]): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

const TOOLS = [
  tool("file/read", "Reads a text file."),
  tool("file/write", "Writes a text file."),
  tool("github/create_issue", "Opens a ticket.", {
    category: "web",
    inputSchema: parameters("repository", "labels"),
  }),
  tool("mail/sendMessage", "Sends something to somebody.", { category: "web", tags: ["email"] }),
];

const find = (query: string, tools: readonly Searchable[] = TOOLS): string[] =>
  rankTools(tools, wordsOfTool, query).map(({ tool: { name } }) => name);

test("the name counts more than the description, and what fits nowhere is left out", () => {
  expect(find("read file")[0]).toBe("file/read");
  expect(find("read file")).not.toContain("mail/sendMessage");
  expect(find("write a text")[0]).toBe("file/write");
});

test("tags, parameters, plurals, camel case, beginnings and accents lead to a tool", () => {
  expect(find("email")).toEqual(["mail/sendMessage"]);
  expect(find("repositories")).toEqual([]);
  expect(find("repository")).toEqual(["github/create_issue"]);
  expect(find("issues")).toEqual(["github/create_issue"]);
  expect(find("message")[0]).toBe("mail/sendMessage");
  expect(find("iss")).toEqual(["github/create_issue"]);
  expect(find("ticket label")[0]).toBe("github/create_issue");
  expect(find("TICKÉT")).toEqual(["github/create_issue"]);
});

test("without words every tool fits, in the order given; nothing fits nothing", () => {
  expect(find(" ?! ")).toEqual(TOOLS.map(({ name }) => name));
  expect(find("read", [])).toEqual([]);
  expect(find("zzzz")).toEqual([]);
});

test("foreign texts without end are read so far only", () => {
  const long = tool("a/b", `${"padding ".repeat(50_000)} needle`, {
    inputSchema: parameters(...Array.from({ length: 10_000 }, (_, at) => `p${at}`)),
  });
  expect(wordsOfTool(long).length).toBeLessThan(1_000);
  expect(find("needle", [long])).toEqual([]);
  expect(find(Array.from({ length: 10_000 }, (_, at) => `w${at}`).join(" "))).toEqual([]);
});
