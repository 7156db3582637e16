// Writing: into a new file beside the target, which then takes its place. A reader never sees half of it, and other
// names of a replaced file keep their content.
import { createHash, randomBytes, type Hash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { link, open, rename, unlink, type FileHandle } from "node:fs/promises";
import { AppError } from "../../../../contract/errors.ts";
import type { FilesPower, Written } from "../../../../contract/powers/files.ts";
import { quote } from "../../../../util/text/quote.ts";
import { CREATE_FLAGS, READ_FLAGS } from "./descriptor.ts";
import { changed, conflict, forbidden, sizeExceeded } from "./fault.ts";
import { giveToOwner } from "./owner.ts";
import { locate, requireKind, withEntry, type FolderEntry, type FileContext } from "./place.ts";
import { piecesOf } from "./read.ts";

const NEW_MODE = 0o644;
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** What to write, and when to refuse. */
interface Plan {
  readonly mode: "overwrite" | "append" | "create";
  readonly makeFolders: boolean;
  readonly maxBytes: number;
  /** Of the present file. */
  readonly expectedSha256?: string | undefined;
  /** Of the new content. */
  readonly arrivingSha256?: string | undefined;
  /** Permission bits of a new file; an execute bit is dropped. */
  readonly newMode?: number;
  /** It is not synced to the disk: files that may be lost in a power failure must not delay the commits of others. */
  readonly fleeting?: boolean;
}

export const writeWith =
  (context: FileContext): FilesPower["write"] =>
  (path, bytes, { mode, createDirectories, expectedSha256 }) => {
    const maxBytes = context.rules.maxWriteBytes;
    return put(context, path, [bytes], {
      mode,
      makeFolders: createDirectories,
      maxBytes,
      expectedSha256,
    });
  };

/** A rule on the size of files of a tool that downloads counts through its own `maxBytes` too. */
export const receiveWith =
  (context: FileContext): FilesPower["receive"] =>
  (path, source, { maxBytes, overwrite, expectedSha256 }) =>
    put(context, path, source, {
      mode: overwrite ? "overwrite" : "create",
      makeFolders: true,
      maxBytes,
      arrivingSha256: expectedSha256,
    });

export async function put(
  context: FileContext,
  given: string,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  plan: Plan,
): Promise<Written> {
  const located = await locate(context, given, "write");
  return withEntry(context, given, located, { access: "write", make: plan.makeFolders }, (entry) =>
    replace(context, given, located.shown, entry, source, plan),
  );
}

async function replace(
  context: FileContext,
  given: string,
  shown: string,
  entry: FolderEntry,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  plan: Plan,
): Promise<Written> {
  requireFilePlace(context, given, entry);
  const before = await entry.look();
  if (before) requireKind(given, before, READ_FLAGS);
  if (before && plan.mode === "create") throw exists(given);
  const previousSha256 = before && (await hashOf(context, given, entry, before));
  if (plan.expectedSha256 !== undefined && plan.expectedSha256.toLowerCase() !== previousSha256)
    throw stale(given, previousSha256);

  const temporary = entry.beside(`.ostiary-${randomBytes(8).toString("hex")}.tmp`);
  const handle = await open(temporary, CREATE_FLAGS, 0o600);
  try {
    const hash = createHash("sha256");
    const keep = plan.mode === "append" && before ? previous(context, given, entry, before) : [];
    const kept = await pour(handle, hash, keep, given, plan.maxBytes, context.signal);
    const bytes = await pour(handle, hash, source, given, plan.maxBytes - kept, context.signal);
    const sha256 = hash.digest("hex");
    if (plan.arrivingSha256 !== undefined && plan.arrivingSha256.toLowerCase() !== sha256)
      throw mismatch(given, plan.arrivingSha256, sha256);
    await handle.chmod(before ? Number(before.mode & 0o777n) : (plan.newMode ?? NEW_MODE) & 0o666);
    await giveToOwner(handle, before ?? entry.folder);
    if (plan.fleeting !== true) await handle.sync();
    await context.inTurn(() => settle(context, given, entry, temporary, before, plan.mode));
    return { path: shown, created: before === null, bytes, sha256, previousSha256 };
  } catch (cause) {
    await unlink(temporary).catch(() => undefined);
    throw cause;
  } finally {
    await handle.close();
  }
}

/** Moves the finished file to its target, if the target has not changed meanwhile. */
async function settle(
  context: FileContext,
  given: string,
  entry: FolderEntry,
  temporary: string,
  before: BigIntStats | null,
  mode: Plan["mode"],
): Promise<void> {
  context.signal.throwIfAborted();
  await entry.requireStillAllowed();
  const now = await entry.look();
  if (now && !before && mode === "create") throw exists(given);
  if (!same(now, before))
    throw conflict("stale", given, "was changed meanwhile", "read it again, then repeat the call");
  if (before !== null) return rename(temporary, entry.reach);
  try {
    await link(temporary, entry.reach); // unlike rename, it never replaces anything
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST") throw exists(given);
    // File systems without hard links.
    if (code === "EPERM" || code === "ENOTSUP" || code === "EOPNOTSUPP")
      return rename(temporary, entry.reach);
    throw cause;
  }
  await unlink(temporary);
}

const same = (a: BigIntStats | null, b: BigIntStats | null): boolean =>
  a === b ||
  (a !== null &&
    b !== null &&
    a.dev === b.dev &&
    a.ino === b.ino &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs);

/** Where a rule names something below, a file or link here would circumvent it. */
export function requireFilePlace({ paths }: FileContext, given: string, entry: FolderEntry): void {
  const rule = paths.foldersOnly(entry.real);
  if (rule)
    throw forbidden(
      given,
      `only a folder may stand there (${rule.text.replace(/^- /, "")})`,
      "use another name; this rule has no exception",
    );
}

async function* previous(
  context: FileContext,
  given: string,
  entry: FolderEntry,
  before: BigIntStats,
  limit = context.rules.maxWriteBytes,
): AsyncGenerator<Buffer> {
  const handle = await open(entry.reach, READ_FLAGS);
  try {
    const stat = await handle.stat({ bigint: true });
    if (stat.dev !== before.dev || stat.ino !== before.ino) throw changed(given);
    yield* piecesOf(handle, given, limit, context.signal);
  } finally {
    await handle.close();
  }
}

/** The checksum of an entry as it is now. */
export async function hashOf(
  context: FileContext,
  given: string,
  entry: FolderEntry,
  stat: BigIntStats,
): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of previous(context, given, entry, stat, UNLIMITED)) hash.update(chunk);
  return hash.digest("hex");
}

async function pour(
  handle: FileHandle,
  hash: Hash,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  given: string,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  let bytes = 0;
  for await (const chunk of source) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > limit) throw sizeExceeded(given, limit);
    hash.update(chunk);
    await writeAll(handle, chunk);
  }
  return bytes;
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) at += (await handle.write(chunk, at)).bytesWritten;
}

export const exists = (given: string): AppError =>
  conflict(
    "already_exists",
    given,
    "something is there already",
    "use another path, or allow it to be replaced",
  );

export function stale(given: string, actual: string | null): AppError {
  const message =
    actual === null
      ? "is not there, though a checksum was expected"
      : `its checksum is ${actual}, not the expected one`;
  return conflict("stale", given, message, "read it again and decide anew");
}

function mismatch(given: string, expected: string, actual: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "checksum_mismatch",
    `path ${quote(given)}: expected SHA-256 ${expected}, got ${actual}; nothing was kept`,
    { remedy: "check the source and the checksum" },
  );
}
