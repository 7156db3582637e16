import { createHash } from "node:crypto";
import { lstat, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { READ_FLAGS } from "./descriptor.ts";
import { sizeExceeded } from "./fault.ts";
import { requireOwnLinks } from "./owner.ts";
import { locate, withOpened, type FileContext } from "./place.ts";

const CHUNK_BYTES = 262_144;

/** The whole of an opened file, piece by piece; larger ones end with size_exceeded. */
export async function* piecesOf(
  handle: FileHandle,
  given: string,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(CHUNK_BYTES) });
    if (bytesRead === 0) return;
    sizeBytes += bytesRead;
    if (sizeBytes > limit) throw sizeExceeded(given, limit); // it grew meanwhile
    yield buffer.subarray(0, bytesRead);
  }
}

export const readWith =
  (context: FileContext, limit: number) =>
  async (path: string): ReturnType<FilesPower["read"]> => {
    const located = await locate(context, path, "read");
    return withOpened(context, path, located, READ_FLAGS, async (handle, stat) => {
      if (stat.nlink > 1n) {
        requireOwnLinks(path, stat, await lstat(dirname(located.path), { bigint: true }));
        await context.requireUnguarded(path, stat);
      }
      if (stat.size > BigInt(limit)) throw sizeExceeded(path, limit);
      const hash = createHash("sha256");
      const chunks: Buffer[] = [];
      for await (const chunk of piecesOf(handle, path, limit, context.signal)) {
        hash.update(chunk);
        chunks.push(chunk);
      }
      const bytes = Buffer.concat(chunks);
      const modifiedMs = Number(stat.mtimeNs / 1_000_000n);
      return {
        path: located.shown,
        bytes,
        sizeBytes: bytes.length,
        modifiedMs,
        sha256: hash.digest("hex"),
      };
    });
  };
