// Starts the program of a server: in a box, or as an ordinary process where an administrator took it out of one.
import { realpath, stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { AppError } from "../../../contract/errors.ts";
import type { Egress } from "../../egress/egress.ts";
import { rulesForHosts } from "../../egress/operator.ts";
import type { Sandbox, SandboxLimits, SandboxMount } from "../../sandbox/sandbox.ts";
import type { ServerRow, ServerTransport } from "../../../storage/store/store.ts";
import { quote } from "../../../util/text/quote.ts";
import { ownFolder, unreachable, type User } from "./folder.ts";
import type { Credential } from "../upstream.ts";

export type StdioSettings = Extract<ServerTransport, { kind: "stdio" }>;

/** What becomes of a folder that a program may write, as long as it runs. */
export interface ProtectedFolder {
  /** Paths within that cannot be changed, renamed or made. */
  readonly protect: readonly string[];
  /** Once the program has ended; answers the repositories that it had made and that were disarmed. */
  release(): Promise<readonly string[]>;
}

export interface FolderGuard {
  /** Throws when a program that sees the folder would see what the server keeps for itself. */
  requireApart(folder: StdioSettings["folders"][number]): void;
  hold(path: string): Promise<ProtectedFolder>;
}

export interface StdioPowers {
  readonly guard: FolderGuard;
  readonly sandbox: Pick<Sandbox, "open">;
  readonly egress: Pick<Egress, "serve">;
  readonly dataDir: string;
}

export interface ServerProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Why it ended; never rejects. */
  readonly ended: Promise<string>;
  /** At once, with all that it started. */
  kill(): void;
}

/** Where the box has the Node that runs Ostiary. */
const NODE = "/opt/ostiary/node";
const HOME = "/job";
/** What the box shows of the host anyway. */
const SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/sbin"];
const MIB = 1_048_576;
/** Threads count as processes, and a server may run once per user. */
const LIMITS: Partial<SandboxLimits> = {
  memoryBytes: 1_024 * MIB,
  processes: 512,
  cpus: 1,
  tmpBytes: 256 * MIB,
  openFiles: 4_096,
  fileBytes: 1_024 * MIB,
};
/** With sockets of its own it starts a browser. */
const LARGE_LIMITS: Partial<SandboxLimits> = {
  ...LIMITS,
  memoryBytes: 2_048 * MIB,
  processes: 1_536,
  cpus: 2,
};

export async function startProgram(
  row: ServerRow,
  given: StdioSettings,
  credential: Credential,
  p: StdioPowers,
): Promise<ServerProgram> {
  const env = await credential.env();
  if (given.isolation === "none") {
    const { path } = await ownFolder(row, credential.id, p.dataDir, null);
    const { startUnsandboxed: startDirect } = await import("./unsandboxed.ts");
    return startDirect(given.argv, env, path);
  }
  for (const folder of given.folders) p.guard.requireApart(folder);
  const user = await userFor(given.folders);
  const own = await ownFolder(row, credential.id, p.dataDir, user);
  const over = new AbortController();
  const rules =
    given.network === "none" ? null : rulesForHosts(given.network.hosts, `server ${row.name}`);
  const subject = rules && { rules, signal: over.signal };
  const [program = "", ...rest] = given.argv;
  const held = await holdAll(given.folders, p.guard);
  const started = await p.sandbox
    .open({
      argv: [program === "node" ? NODE : program, ...rest],
      cwd: HOME,
      // Node's own fetch uses a proxy only with this variable.
      env: { ...(subject && { NODE_USE_ENV_PROXY: "1" }), ...env },
      mounts: [
        { host: own.path, at: HOME, access: "rw" },
        { host: process.execPath, at: NODE, access: "ro" },
        ...mountsOf(given.folders, held),
      ],
      limits: given.localSockets ? LARGE_LIMITS : LIMITS,
      signal: over.signal,
      ...(own.user && { owner: own.user }),
      ...(subject && { network: (connection) => p.egress.serve(connection, subject) }),
      ...(given.localSockets && { localSockets: true as const }),
    })
    .catch(async (cause: unknown) => {
      await releaseAll(held);
      throw cause;
    });
  // Connections of the box end with it. It has ended once what it left in its folders was looked at.
  const ended = started.ended.then(async ({ reason }) => {
    over.abort();
    const disarmed = await releaseAll(held);
    return disarmed.length === 0
      ? reason
      : `${reason}; it had made git repositories, which were renamed: ${disarmed.slice(0, 5).join(", ")}`;
  });
  return { ...started, ended };
}

type Held = ReadonlyMap<string, ProtectedFolder>;

async function holdAll(folders: StdioSettings["folders"], guard: FolderGuard): Promise<Held> {
  const held = new Map<string, ProtectedFolder>();
  try {
    for (const { path, access } of folders)
      if (access === "rw" && !held.has(path)) held.set(path, await guard.hold(path));
    return held;
  } catch (cause) {
    await releaseAll(held);
    throw cause;
  }
}

/** A folder that cannot be checked is reported, and checked again at the next start. */
async function releaseAll(held: Held): Promise<string[]> {
  const found = await Promise.allSettled([...held.values()].map((one) => one.release()));
  return found.flatMap((one) =>
    one.status === "fulfilled" ? one.value : ["a folder that could not be looked at"],
  );
}

/** Outer ones first: a later mount hides what an earlier one shows at its place. */
function mountsOf(folders: StdioSettings["folders"], held: Held): SandboxMount[] {
  return folders
    .filter(
      ({ path, access }) =>
        access === "rw" || !SYSTEM.some((one) => path === one || path.startsWith(`${one}/`)),
    )
    .toSorted((a, b) => a.path.length - b.path.length)
    .map(({ path, access }) => ({
      host: path,
      at: path,
      access,
      protect: held.get(path)?.protect ?? [],
    }));
}

/**
 * The owner of what it may write; null: no particular user. Every folder is checked, so that no box is built in
 * vain.
 */
async function userFor(folders: StdioSettings["folders"]): Promise<User | null> {
  const asRoot = process.getuid?.() === 0;
  let user: User | null = null;
  for (const { path, access } of folders) {
    const found = await stat(path).catch(() => null);
    if (found === null)
      throw wrong(
        `folder ${quote(path)} does not exist`,
        "make it, or take it off the server's list of folders",
      );
    if (!asRoot || access === "ro") continue;
    if (found.uid === 0)
      throw wrong(
        `folder ${quote(path)} belongs to root, and no program in a sandbox runs as root`,
        `give it to another user: chown -R <user> ${path}`,
      );
    if (user !== null && user.uid !== found.uid)
      throw wrong(
        `the folders that may be written belong to different users (${user.uid} and ${found.uid})`,
        "give them to one user, or add a server for each",
      );
    user = { uid: found.uid, gid: found.gid };
  }
  for (const { path } of asRoot ? folders : []) {
    const closed = await unreachable(await realpath(path), user);
    if (closed !== null)
      throw wrong(
        `folder ${quote(path)} cannot be reached by the user that the program runs as: ${quote(closed)} is closed to it`,
        `open it to others (chmod o+x ${closed}), move the folder to /opt or /srv, or run Ostiary as an ordinary user`,
      );
  }
  return user;
}

function wrong(message: string, remedy: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_arguments", message, { remedy });
}
