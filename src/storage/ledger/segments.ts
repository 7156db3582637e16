// Archived stretches of the log as files: exports, packed, in one folder beside the database.
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

const ARCHIVE_FOLDER = "archive";

export interface SegmentFiles {
  nameOf(from: number, to: number): string;
  /** Durable under a name of its own when it resolves; `settle` gives it its place. */
  write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
  /** As it was written; null when there is no such file. */
  read(name: string, state?: "unsettled"): AsyncIterable<Uint8Array> | null;
  settle(name: string): Promise<void>;
  discard(name: string): Promise<void>;
  has(name: string): boolean;
  /** Lines after the manifest; null when there is no such file. */
  lines(name: string): AsyncIterable<Uint8Array> | null;
}

export function segmentFiles(dataDir: string): SegmentFiles {
  const folder = join(dataDir, ARCHIVE_FOLDER);
  const unsettled = (name: string): string => join(folder, `${name}.part`);
  return {
    nameOf: (from, to) => `${from}-${to}.ndjson.gz`,
    async write(name, bytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await pipeline(bytes, createGzip(), createWriteStream(unsettled(name), { mode: 0o600 }));
      await flush(unsettled(name));
    },
    read(name, state) {
      const path = state ? unsettled(name) : join(folder, name);
      return existsSync(path) ? createReadStream(path) : null;
    },
    async settle(name) {
      await rename(unsettled(name), join(folder, name));
      await flush(folder);
    },
    discard: (name) => rm(unsettled(name), { force: true }),
    has: (name) => existsSync(join(folder, name)),
    lines(name) {
      const path = join(folder, name);
      return existsSync(path) ? linesIn(path) : null;
    },
  };
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* linesIn(path: string): AsyncGenerator<Uint8Array> {
  const packed = createReadStream(path);
  const bytes = createGunzip();
  packed.on("error", (cause) => bytes.destroy(cause)).pipe(bytes);
  let parts: Uint8Array[] = [];
  let first = true;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      const line = Buffer.concat([...parts, chunk.subarray(start, end)]);
      parts = [];
      start = end + 1;
      if (!first) yield line;
      first = false;
    }
    parts.push(chunk.subarray(start));
  }
}
