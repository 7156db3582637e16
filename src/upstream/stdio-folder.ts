// A folder of a server's own, which it keeps from start to start, and who it runs as there.
import { createHash } from "node:crypto";
import {
  chmod,
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AppError } from "../errors.ts";
import type { ServerRow } from "../store/store.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface OwnFolder {
  readonly path: string;
  /** Who the box runs as on the host; null: whoever Ostiary is. */
  readonly user: User | null;
}

/** Users of servers; those of single runs begin at 50,000. */
const FIRST_UID = 40_000;
const UIDS = 10_000;
const ENTER = 0o001;

/**
 * `<dataDir>/servers/<name>`, or elsewhere on the machine where that is closed to the users of boxes, as root's data folder
 * is; a note in its place then says where. Users who bring credentials of their own get a folder each.
 */
export async function ownFolder(
  row: Pick<ServerRow, "name">,
  credentialId: string,
  dataDir: string,
  wanted: User | null,
): Promise<OwnFolder> {
  const asRoot = process.getuid?.() === 0;
  const root = await rootOf(dataDir, asRoot);
  const path = join(root, folderName(row.name, credentialId));
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
  if (!asRoot) return { path, user: null };
  const { uid, gid } = await stat(path);
  const user = wanted ?? (uid === 0 ? await freeUser(root, path) : { uid, gid });
  if (user.uid !== uid) await give(path, user);
  return { path, user };
}

/** With everything the server kept there. */
export async function removeFolders(server: string, dataDir: string): Promise<void> {
  const root = await rootOf(dataDir, process.getuid?.() === 0);
  for (const name of await readdir(root))
    if (name === server || name.startsWith(`${server}@`))
      await rm(join(root, name), { recursive: true, force: true });
}

/** Names of servers hold no @. */
function folderName(server: string, credentialId: string): string {
  const [whose = ""] = credentialId.split(" ");
  if (!whose.startsWith("user:")) return server;
  return `${server}@${createHash("sha256").update(whose).digest("hex").slice(0, 24)}`;
}

async function rootOf(dataDir: string, asRoot: boolean): Promise<string> {
  const own = join(dataDir, "servers");
  await mkdir(own, { recursive: true, mode: asRoot ? 0o711 : 0o700 });
  if (!asRoot || (await unreachable(own)) === null) return own;
  const note = join(own, "elsewhere");
  const known = (await readFile(note, "utf8").catch(() => "")).trim();
  if (known !== "" && (await unreachable(known)) === null) return known;
  // What belongs to a temporary data folder is as temporary as that is.
  const parent = dataDir.startsWith(`${tmpdir()}/`) ? tmpdir() : "/var/lib/ostiary";
  await mkdir(parent, { recursive: true, mode: 0o711 });
  const made = await mkdtemp(join(parent, "ostiary-servers-"));
  await chmod(made, 0o711);
  await writeFile(note, made, { mode: 0o600 });
  return made;
}

/** The first folder on the way that a user (null: anybody) may not enter; null: none. Boxes of root run as others. */
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
  throw new AppError("UNAVAILABLE", "resource_exhausted", `all ${UIDS} users for servers are taken`, { remedy: "remove servers that are not needed" }); // prettier-ignore
}

/** Links are given, not followed: what they lead to may be somebody else's. */
async function give(path: string, { uid, gid }: User): Promise<void> {
  const below = await readdir(path, { recursive: true, withFileTypes: true });
  for (const entry of below) await lchown(join(entry.parentPath, entry.name), uid, gid);
  await lchown(path, uid, gid);
}
