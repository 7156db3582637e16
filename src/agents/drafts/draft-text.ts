// A version as readable text, and what it changes compared with another, line by line, hidden characters written out.
import { definitionText } from "../../reach/upstream/definitions/diff.ts";
import { reveal } from "../../reach/upstream/scan/hidden.ts";
import type { ToolDraftRow } from "../../storage/store/store.ts";
import { unifiedDiff } from "../../util/text/unified-diff.ts";

const MAX_LINES = 3_000;

export function draftText({ name, definition, program }: ToolDraftRow): string {
  const { description, inputSchema, outputSchema, timeoutMs } = definition;
  const told = definitionText({
    method: "tools/call",
    name,
    title: null,
    description,
    inputSchema,
    outputSchema,
    annotations: null,
    operation: null,
  });
  const head = `${told}timeoutMs: ${timeoutMs}\n`;
  if (program.kind !== "code") return `${head}program: ${reveal(JSON.stringify(program))}\n`;
  const source = program.source.split("\n").map((line) =>
    line
      .split("\t")
      .map((part) => reveal(part))
      .join("\t"),
  );
  return `${head}program: ${program.language}\n\n${source.join("\n")}\n`;
}

/** Lines of a unified diff; empty without a version to compare with, or when nothing differs. */
export function draftDiff(before: ToolDraftRow | null, after: ToolDraftRow): readonly string[] {
  if (before === null) return [];
  const { diff } = unifiedDiff(draftText(before), draftText(after), {
    names: [before.version, after.version],
    maxLines: MAX_LINES,
  });
  return diff === "" ? [] : diff.split("\n");
}
