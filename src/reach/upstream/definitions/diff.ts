// What a server changed in a definition, line by line, for the administrator who has to approve it again.
import type { Json } from "../../../contract/call.ts";
import type { ForeignDefinition } from "../../../storage/store/store.ts";
import { unifiedDiff } from "../../../util/text/unified-diff.ts";
import { reveal } from "../scan/hidden.ts";

const MAX_LINES = 1_000;
const MAX_DEPTH = 64;

/** Lines of a unified diff; empty when nothing differs. Hidden characters are written out on both sides. */
export function diffDefinitions(
  before: ForeignDefinition,
  after: ForeignDefinition,
): readonly string[] {
  const { diff } = unifiedDiff(definitionText(before), definitionText(after), {
    names: ["approved", "offered now"],
    maxLines: MAX_LINES,
  });
  return diff === "" ? [] : diff.split("\n");
}

/** The whole definition as readable text. */
export function definitionText(definition: ForeignDefinition): string {
  const { method, name, title, description, inputSchema, outputSchema, annotations, operation } =
    definition;
  const facts: readonly (readonly [string, Json])[] = [
    ["method", method],
    ["name", name],
    ["title", title],
    ["description", description],
    ["inputSchema", inputSchema],
    ["outputSchema", outputSchema],
    ["annotations", annotations],
    ["operation", operation],
  ];
  return facts
    .filter(([, value]) => value !== null)
    .flatMap(([key, value]) => linesOf(key, value, 0))
    .join("\n")
    .concat("\n");
}

/** Keys in one order, since their order is no change; a text of several lines has one line for each of its own. */
function linesOf(key: string, value: Json, depth: number): string[] {
  const indent = "  ".repeat(depth);
  const head = `${indent}${reveal(key)}:`;
  if (typeof value === "string" && value.includes("\n"))
    return [`${head} |`, ...value.split("\n").map((line) => `${indent}  ${lineOf(line)}`)];
  if (typeof value === "string") return [`${head} ${reveal(JSON.stringify(value))}`];
  if (typeof value !== "object" || value === null) return [`${head} ${JSON.stringify(value)}`];
  if (depth >= MAX_DEPTH) return [`${head} … nested deeper`];
  const inner = Array.isArray(value)
    ? (value as readonly Json[]).map((item, at) => [`[${at}]`, item] as const)
    : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  if (inner.length === 0) return [`${head} ${Array.isArray(value) ? "[]" : "{}"}`];
  return [head, ...inner.flatMap(([name, item]) => linesOf(name, item, depth + 1))];
}

/** Blanks at the end of a line would not show. */
function lineOf(text: string): string {
  const shown = reveal(text);
  const end = shown.trimEnd().length;
  const blanks = shown.slice(end);
  // What else ends a line so has been written out.
  return /^ *$/.test(blanks) ? `${shown.slice(0, end)}${"\\u{20}".repeat(blanks.length)}` : shown;
}
