// A folder of a server's own, which it keeps from start to start, and who it runs as there.
import { createHash } from "node:crypto";
import { chown, lstat, mkdir, readdir, realpath, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../../../contract/errors.ts";
import type { ServerRow } from "../../../storage/store/store.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface OwnFolder {
  readonly path: string;
  /** Who the box runs as on the host; null: the user Ostiary runs as. */
  readonly user: User | null;
}

type Whose = Pick<ServerRow, "name" | "tenantId" | "createdAt">;

/** Users of servers; those of single runs begin at 50,000. */
const FIRST_UID = 40_000;
const UIDS = 10_000;
const ENTER = 0o001;

/**
 * `<dataDir>/servers/<name>@…`, or elsewhere on the machine where that is closed to the users of boxes, as root's
 * data folder is. Users who bring credentials of their own get a folder each, and so does each user that it is to run
 * as.
 */
export async function ownFolder(
  row: Whose,
  credentialId: string,
  dataDir: string,
  wanted: User | null,
): Promise<OwnFolder> {
  const asRoot = process.getuid?.() === 0;
  const root = await rootOf(dataDir, asRoot);
  const path = join(root, folderName(row, credentialId, wanted));
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (!asRoot) return { path, user: null };
  const { uid, gid } = await stat(path);
  if (uid !== 0) return { path, user: { uid, gid } };
  const user = wanted ?? (await freeUser(root, path));
  await chown(path, user.uid, user.gid);
  return { path, user };
}

/** With everything the server kept there. */
export async function removeFolders(server: string, dataDir: string): Promise<void> {
  const root = await rootOf(dataDir, process.getuid?.() === 0);
  for (const name of await readdir(root))
    if (name.startsWith(`${server}@`)) await rm(join(root, name), { recursive: true, force: true });
  // The last one takes the place itself along.
  await rmdir(root).catch(() => undefined);
}

/**
 * Names of servers hold no @. What another server of the same name left behind, here or while this instance was away,
 * is none of its business.
 */
function folderName(
  { name, tenantId, createdAt }: Whose,
  credentialId: string,
  wanted: User | null,
): string {
  const [whose = ""] = credentialId.split(" ");
  const own = JSON.stringify([
    tenantId,
    createdAt,
    whose.startsWith("user:") ? whose : "",
    wanted?.uid ?? null,
  ]);
  return `${name}@${createHash("sha256").update(own).digest("hex").slice(0, 16)}`;
}

async function rootOf(dataDir: string, asRoot: boolean): Promise<string> {
  const own = join(dataDir, "servers");
  await mkdir(own, { recursive: true, mode: asRoot ? 0o711 : 0o700 });
  if (!asRoot || (await unreachable(own)) === null) return own;
  const name = `ostiary-servers-${createHash("sha256")
    .update(await realpath(own))
    .digest("hex")
    .slice(0, 16)}`;
  // What belongs to a temporary data folder is as temporary as that is.
  const elsewhere = join(dataDir.startsWith(`${tmpdir()}/`) ? tmpdir() : "/var/lib", name);
  await mkdir(elsewhere, { recursive: true, mode: 0o711 });
  const found = await lstat(elsewhere);
  if (!found.isDirectory() || found.uid !== 0 || (await unreachable(elsewhere)) !== null)
    throw new AppError(
      "UNAVAILABLE",
      "resource_exhausted",
      `folder ${elsewhere} is not ours to use: expected one of root that others may enter`,
      { remedy: `remove it, or open ${dataDir} to others (chmod o+x)` },
    );
  return elsewhere;
}

/** The first folder on the way that a user (null: any user) may not enter; null: none. Boxes of root run as others. */
export async function unreachable(path: string, user: User | null = null): Promise<string | null> {
  const found = await stat(path).catch(() => null);
  if (found === null) return path;
  const shift = found.uid === user?.uid ? 6 : found.gid === user?.gid ? 3 : 0;
  if (found.isDirectory() && ((found.mode >> shift) & ENTER) === 0) return path;
  return path === dirname(path) ? null : unreachable(dirname(path), user);
}

/** Always the same for a server where it can be, and never that of another. */
async function freeUser(root: string, path: string): Promise<User> {
  const taken = new Set<number>();
  for (const name of await readdir(root)) taken.add((await stat(join(root, name))).uid);
  const start = createHash("sha256").update(path).digest().readUInt32BE() % UIDS;
  for (let step = 0; step < UIDS; step++) {
    const uid = FIRST_UID + ((start + step) % UIDS);
    if (!taken.has(uid)) return { uid, gid: uid };
  }
  throw new AppError(
    "UNAVAILABLE",
    "resource_exhausted",
    `all ${UIDS} users for servers are taken`,
    { remedy: "remove servers that are not needed" },
  );
}
