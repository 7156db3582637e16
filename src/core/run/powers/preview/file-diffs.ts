// Changes of files as people read them: sizes, and what changes in the text, with secrets masked before it is compared.
import { readFile } from "node:fs/promises";
import type { FileChange, FilesEffect } from "../../../../contract/effect.ts";
import type { ComputePower } from "../../../../contract/powers/compute.ts";
import type { Masker } from "../../../../util/secrets/masker.ts";
import { textOf } from "../../../../util/text/text.ts";
import type { Shadow } from "../files/shadow.ts";
import type { FoundChange, FoundChanges } from "./file-changes.ts";

export interface DiffPowers {
  readonly compute: ComputePower;
  readonly masker: Pick<Masker, "valueInSlices">;
}

const MAX_CHANGES = 200;
const MAX_DIFFS = 20;
const MAX_TEXT_BYTES = 1_048_576;
const MAX_DIFF_LINES = 400;
/** Of all diffs of one preview. */
const MAX_DIFF_CHARS = 262_144;

export async function fileTexts(
  { changes, totals }: FoundChanges,
  shadow: Shadow,
  p: DiffPowers,
): Promise<FilesEffect> {
  const shown: FileChange[] = [];
  const room = { diffs: MAX_DIFFS, chars: MAX_DIFF_CHARS };
  for (const found of changes.slice(0, MAX_CHANGES)) {
    const facts = factsOf(found, shadow);
    const masked = await p.masker.valueInSlices({ ...facts });
    const text = hasText(found) ? await diffOf(found, room, p) : {};
    shown.push({ ...masked, ...text });
  }
  return { kind: "files", changes: shown, totals, cut: shown.length < changes.length };
}

function factsOf(found: FoundChange, { show }: Shadow): FileChange {
  const { change, type, path, from, replaces, was, is, inside } = found;
  const size = (is ?? was)?.sizeBytes ?? 0;
  return {
    change,
    type,
    path: show(path),
    ...(from === undefined ? {} : { from: show(from) }),
    ...(replaces ? { replaces } : {}),
    ...(type === "file" ? { sizeBytes: size } : {}),
    ...(change === "changed" && was?.type === "file" ? { previousSizeBytes: was.sizeBytes } : {}),
    ...(inside ?? {}),
  };
}

const hasText = ({ change, type }: FoundChange): boolean => type === "file" && change !== "moved";

type TextFields = Pick<FileChange, "diff" | "diffCut" | "addedLines" | "removedLines" | "note">;

async function diffOf(
  { was, is }: FoundChange,
  room: { diffs: number; chars: number },
  { compute, masker }: DiffPowers,
): Promise<TextFields> {
  if (room.diffs === 0 || room.chars === 0) return { note: "only the first diffs are shown" };
  if (Math.max(was?.sizeBytes ?? 0, is?.sizeBytes ?? 0) > MAX_TEXT_BYTES)
    return { note: `larger than ${MAX_TEXT_BYTES} bytes: no diff` };
  if (was?.why !== undefined) return { note: `no diff: ${was.why}` };
  const texts = [await textAt(was?.kept ?? null), await textAt(is?.at ?? null)];
  const [before, after] = texts;
  if (typeof before !== "string" || typeof after !== "string") return { note: "binary: no diff" };
  room.diffs--;
  const [a, b] = [await masker.valueInSlices(before), await masker.valueInSlices(after)];
  const compared = await compute.run("unifiedDiff", a, b, { maxLines: MAX_DIFF_LINES });
  const diff = firstLines(compared.diff, room.chars);
  room.chars -= diff.length;
  return {
    diff,
    ...(compared.truncated || diff.length < compared.diff.length ? { diffCut: true } : {}),
    addedLines: compared.added,
    removedLines: compared.removed,
    ...(diff === "" && before !== after ? { note: "only masked secrets or line ends differ" } : {}),
  };
}

/** Null: no text. What is not there is empty. */
async function textAt(path: string | null): Promise<string | null> {
  return path === null ? "" : textOf(await readFile(path));
}

function firstLines(diff: string, chars: number): string {
  if (diff.length <= chars) return diff;
  return diff.slice(0, Math.max(0, diff.lastIndexOf("\n", chars)));
}
