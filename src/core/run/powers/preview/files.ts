// What a call would do to files: the tool works on a copy, and the copy is compared with what was there.
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FilesEffect } from "../../../../contract/effect.ts";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import type { FileRules } from "../../../../governance/rules/governance.ts";
import { copyWith } from "../files/copy.ts";
import { makeFolderWith } from "../files/folder.ts";
import { keepWith } from "../files/keep.ts";
import { moveWith } from "../files/move.ts";
import { readWith } from "../files/read.ts";
import { removeWith } from "../files/remove.ts";
import { openShadow, type Shadow } from "../files/shadow.ts";
import { statWith } from "../files/stat.ts";
import { receiveWith, writeWith } from "../files/write.ts";
import { changesOf } from "./file-changes.ts";
import { fileTexts, type DiffPowers } from "./file-diffs.ts";
import { NoPreview } from "./no-preview.ts";

const ITSELF = { itself: true } as const;

export interface PreviewedFiles {
  readonly power: FilesPower;
  /** After the tool has done its work on the copy. */
  effect(): Promise<FilesEffect>;
  close(): Promise<void>;
}

/** `folder` is where copies are made; it is private to the server. */
export async function previewFiles(
  rules: FileRules,
  folder: string,
  { executionId, signal, ...diffs }: DiffPowers & { executionId: string; signal: AbortSignal },
): Promise<PreviewedFiles> {
  const own = await realpath(await mkdtemp(join(folder, "preview-")));
  const shadow = await openShadow(rules, own, signal);
  return {
    power: filesOf(shadow, rules, executionId),
    async effect() {
      const found = await changesOf(shadow);
      return fileTexts(found, shadow, diffs);
    },
    close: () => rm(own, { recursive: true, force: true }),
  };
}

/** As the power itself, with everything brought first that is going to be touched. */
function filesOf(shadow: Shadow, rules: FileRules, executionId: string): FilesPower {
  const { context } = shadow;
  const unseen = (): Promise<never> =>
    Promise.reject(new NoPreview("what it finds by searching is not known beforehand"));
  return {
    async read(path, { maxBytes }) {
      await shadow.requireContent(path, "read");
      return readWith(context, Math.min(maxBytes, rules.maxReadBytes))(path);
    },
    list: unseen,
    search: unseen,
    stat: (path) => statWith(context)(path),
    async write(path, bytes, options) {
      if (options.expectedSha256 !== undefined) await shadow.requireContent(path, "write");
      return writeWith(context)(path, bytes, options);
    },
    receive: (path, source, options) => receiveWith(context)(path, source, options),
    async move(from, to, options) {
      await shadow.bringTree(from, "write", ITSELF);
      return moveWith(context)(from, to, options);
    },
    async copy(from, to, options) {
      if (options.recursive) {
        await shadow.bringTree(from, "read");
        await shadow.bringTree(to, "write");
      }
      return copyWith(context)(from, to, options);
    },
    makeFolder: (path, options) => makeFolderWith(context)(path, options),
    async remove(path, options) {
      if (options.expectedSha256 !== undefined) await shadow.requireContent(path, "write", ITSELF);
      if (options.recursive) await shadow.bringTree(path, "write", ITSELF);
      else await shadow.bringSome(path, "write", ITSELF);
      return removeWith(context)(path, options);
    },
    keep: (name, bytes) => keepWith(context, executionId)(name, bytes),
  };
}
