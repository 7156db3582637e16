// The validation file of the SpiceDB playground and of `zed`: a schema and relationships in one YAML document.
import { parse } from "yaml";
import { AppError } from "../../contract/errors.ts";
import type { Relationship } from "./relation.ts";
import { parseRelationship, relationshipText } from "./text.ts";

export interface PlaygroundFile {
  readonly schema: string;
  readonly relationships: readonly Relationship[];
}

/** Assertions and expected relations are left to the tools that made them. */
export function parsePlayground(text: string): PlaygroundFile {
  const { schema, relationships } = documentOf(text);
  return {
    schema: textOf("schema", schema),
    relationships: linesOf(textOf("relationships", relationships)),
  };
}

/** One relationship per line; empty lines and `//` comments are skipped. */
export function linesOf(text: string): Relationship[] {
  return text.split("\n").flatMap((line, i) => {
    const content = line.trim();
    if (content === "" || content.startsWith("//")) return [];
    try {
      return [parseRelationship(content)];
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      const { message, remedy = "" } = cause.fault;
      throw new AppError(
        "BAD_REQUEST",
        "invalid_input",
        `relationship in line ${i + 1}: ${message}`,
        { remedy },
      );
    }
  });
}

export function playgroundText({ schema, relationships }: PlaygroundFile): string {
  const lines = relationships.map(relationshipText);
  return `schema: ${block(schema.trimEnd().split("\n"))}relationships: ${block(lines)}`;
}

/** A literal block: nothing in it needs quoting. */
function block(lines: readonly string[]): string {
  const first = lines.find((line) => line !== "");
  if (first === undefined) return '""\n';
  // Where the text itself begins with blanks the indent must be given.
  const indent = first.startsWith(" ") ? "2" : "";
  return `|${indent}-\n${lines.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}\n`;
}

function documentOf(text: string): { readonly [key: string]: unknown } {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw unreadable(cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : "not YAML");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unreadable("expected the keys schema and relationships");
  return value as { readonly [key: string]: unknown };
}

function textOf(key: string, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw unreadable(`${key} must be a text block, "${key}: |-"`);
  return value;
}

function unreadable(why: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `this is no validation file: ${why}`, {
    remedy: "write a file with `ostiary relations export` to see the form",
  });
}
