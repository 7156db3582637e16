// Schema and relationships in one YAML document, as the SpiceDB playground and `zed` have it.
import { parseYaml } from "@ostiary/rego/documents";
import { RegoObject } from "@ostiary/rego/values";

export interface PlaygroundLine {
  /** From 1, within the block of relationships. */
  readonly line: number;
  readonly text: string;
}

export interface Playground {
  readonly schema: string;
  readonly relationships: readonly PlaygroundLine[];
}

/** Throws an error that says what was expected. Assertions are left to the tools that made them. */
export function parsePlayground(text: string): Playground {
  const document = parseYaml(text);
  if (!(document instanceof RegoObject))
    throw new Error("expected a YAML document with the keys schema and relationships");
  const block = (key: string): string => {
    const value = document.get(key) ?? "";
    if (typeof value === "string") return value;
    if (value === null) return "";
    throw new Error(`${key} must be a text block: "${key}: |-"`);
  };
  const relationships = block("relationships")
    .split("\n")
    .map((line, at) => ({ line: at + 1, text: line.trim() }))
    .filter(({ text: line }) => line !== "" && !line.startsWith("//"));
  if (relationships.length === 0)
    throw new Error("there are no relationships in it; each stands on a line of its own");
  return { schema: block("schema"), relationships };
}

export const playgroundText = (schema: string, relationships: readonly string[]): string =>
  `schema: ${literal(schema.trimEnd().split("\n"))}relationships: ${literal(relationships)}`;

/** A literal block: nothing in it needs quoting. */
function literal(lines: readonly string[]): string {
  const first = lines.find((line) => line !== "");
  if (first === undefined) return '""\n';
  // Where the text itself begins with blanks the indent must be said.
  const indent = first.startsWith(" ") ? "2" : "";
  return `|${indent}-\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}\n`;
}

export const isSameSchema = (one: string, other: string): boolean =>
  one.replace(/\s+/g, "") === other.replace(/\s+/g, "");
