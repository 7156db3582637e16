// What a session saved. The folder is written from inside the box: on this side nothing in it is followed or trusted.
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Download as Driven } from "playwright-core";
import type { Download } from "./browser.ts";
import { abortable } from "./abortable.ts";

export interface Downloads {
  add(download: Driven): void;
  /** Those that are complete, one after the other; waits a little for the ones under way. */
  each(signal: AbortSignal, receive: (download: Download) => Promise<void>): Promise<void>;
}

const MAX_DOWNLOADS = 100;
const MAX_BYTES = 104_857_600;
const UNDER_WAY_MS = 2_000;
const NAME_LENGTH = 120;

export function createDownloads(folder: string): Downloads {
  const found: { name: string; file: Promise<string | null> }[] = [];
  return {
    add(download) {
      if (found.length >= MAX_DOWNLOADS) {
        download.cancel().catch(() => undefined);
        return;
      }
      const name = plainName(download.suggestedFilename());
      found.push({
        name,
        file: download.path().then(
          (path) => join(folder, basename(path)),
          () => null,
        ),
      });
    },
    async each(signal, receive) {
      const late = new Promise<null>((resolve) => setTimeout(resolve, UNDER_WAY_MS, null).unref());
      for (const { name, file } of found.splice(0)) {
        const path = await abortable(Promise.race([file, late]), signal);
        if (path !== null) await readOut(path, name, receive);
      }
    },
  };
}

/** Regular files only, no link, no pipe, up to a size. */
async function readOut(
  path: string,
  name: string,
  receive: (download: Download) => Promise<void>,
): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (!file) return;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.nlink > 1 || stat.size > MAX_BYTES) return;
    await receive({ name, bytes: stat.size, source: file.createReadStream({ autoClose: false }) });
  } finally {
    await file.close();
  }
}

/** The last part of whatever the server called it, in harmless letters. */
function plainName(suggested: string): string {
  const name = suggested.split(/[\\/]/).at(-1) ?? "";
  const plain = name.replaceAll(/[^\p{L}\p{N}._ ()-]/gu, "_").replace(/^[. ]+/, "");
  return plain.slice(-NAME_LENGTH) || "download";
}
