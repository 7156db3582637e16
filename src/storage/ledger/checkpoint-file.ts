// The checkpoints of this server outside the database: a file that only grows, each line durable before the next.
import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  truncateSync,
} from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const CHECKPOINT_FILE = "checkpoints.ndjson";

export interface CheckpointFile {
  /** Durable when it resolves. */
  append(line: string): Promise<void>;
  /** The complete lines; a torn last one is left out. */
  lines(): AsyncIterable<string>;
  last(): string | null;
  exists(): boolean;
  /** Removes what a crash left of a last line. */
  mend(): void;
  /** Renames it, so that it is kept as evidence; returns its new name. */
  setAside(name: string): Promise<string>;
}

/** `assertKept` throws while the directory is not the one that was opened. */
export function checkpointFile(
  dataDir: string,
  assertKept: () => void = () => undefined,
): CheckpointFile {
  const path = join(dataDir, CHECKPOINT_FILE);
  async function* lines(): AsyncGenerator<string> {
    const { end } = tailOf(path);
    if (end === 0) return;
    const whole = createReadStream(path, { end: end - 1 });
    yield* createInterface({ input: whole, crlfDelay: Infinity });
  }
  return {
    async append(line) {
      assertKept();
      const file = await open(path, "a", 0o600);
      try {
        await file.appendFile(`${line}\n`);
        await file.datasync();
      } finally {
        await file.close();
      }
    },
    lines,
    last: () => tailOf(path).last,
    exists: () => existsSync(path),
    mend() {
      if (existsSync(path)) truncateSync(path, tailOf(path).end);
    },
    async setAside(name) {
      await rename(path, join(dirname(path), name));
      return name;
    },
  };
}

const PIECE = 65_536;

/** The last whole line, and where it ends: read from the end, because the file may be large. */
function tailOf(path: string): { end: number; last: string | null } {
  if (!existsSync(path)) return { end: 0, last: null };
  const file = openSync(path, "r");
  try {
    let tail = Buffer.alloc(0);
    for (let start = fstatSync(file).size; ;) {
      const end = tail.lastIndexOf(0x0a);
      const before = end <= 0 ? -1 : tail.lastIndexOf(0x0a, end - 1);
      if (before >= 0 || start === 0)
        return end < 0
          ? { end: 0, last: null }
          : { end: start + end + 1, last: tail.toString("utf8", before + 1, end) };
      const piece = Buffer.alloc(Math.min(PIECE, start));
      start -= piece.length;
      readSync(file, piece, 0, piece.length, start);
      tail = Buffer.concat([piece, tail]);
    }
  } finally {
    closeSync(file);
  }
}
