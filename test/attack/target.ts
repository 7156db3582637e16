// A real server in a process of its own, as root or as an ordinary user, for one attack.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { configLayout } from "../../src/config/leaves.ts";
import type { Answer, ApiOptions, Ran, ServerUser, Target, TargetOptions } from "./attack.ts";

const ROOT = join(import.meta.dirname, "../..");
const START_LIMIT_MS = 60_000;
const ANSWER_LIMIT_MS = 20_000;
const STOP_LIMIT_MS = 15_000;
const RUN_LIMIT_MS = 60_000;
const MOST_SAID = 1_000_000;
/** `daemon`: it has a name everywhere, and unlike `nobody` it is not what a sandbox shows foreign files as. */
const ORDINARY = { uid: 1, gid: 1 };

interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** What a server is started from: the sources, or a copy where its user cannot read them. */
interface Program {
  readonly node: string;
  readonly main: string;
  readonly copied: boolean;
}

export interface OpenTarget extends Target {
  /** What is wrong with the server now: that it ended, or does not answer; null when nothing is. */
  harm(): Promise<string | null>;
  /** Ends the server and removes its folders. */
  close(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;

/** Why no server can run as this user here; null when one can. */
export const cannotRunAs = (user: ServerUser): string | null =>
  user === "root" && !isRoot ? "only root can start a server as root" : null;

function accountOf(user: ServerUser): Account {
  const why = cannotRunAs(user);
  if (why !== null) throw new Error(why);
  return user === "ordinary" && isRoot ? ORDINARY : {};
}

/** A folder below which the user can reach what it owns: TMPDIR may be closed to it. */
function openFolder(account: Account): string {
  for (const base of [tmpdir(), "/tmp", "/var/tmp"]) {
    if (!existsSync(base)) continue;
    const folder = mkdtempSync(join(base, "ostiary-attack-"));
    // The programs of a server that runs as root have users of their own, who must get through to the workspace.
    chmodSync(folder, 0o711);
    give(folder, account);
    const entered = spawnSync(
      "/bin/sh",
      ["-c", 'cd -- "$0" && : > probe && rm probe', folder],
      account,
    );
    if (entered.status === 0) return folder;
    rmSync(folder, { recursive: true, force: true });
  }
  throw new Error("no temporary folder that the server's user can enter");
}

function give(path: string, { uid, gid }: Account): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

function giveAll(path: string, account: Account): void {
  const { uid, gid } = account;
  if (uid === undefined || gid === undefined) return;
  lchownSync(path, uid, gid);
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true }))
    lchownSync(join(entry.parentPath, entry.name), uid, gid);
}

const programs = new Map<ServerUser, Program>();
const copies: string[] = [];
/** The copies of the program go with this process, or earlier. */
export function removeCopies(): void {
  programs.clear();
  for (const folder of copies.splice(0)) rmSync(folder, { recursive: true, force: true });
}
process.once("exit", removeCopies);

/** The sources where the user can run them; else the bundle of the same sources, in a folder it can read. */
export function programFor(user: ServerUser): Program {
  const known = programs.get(user);
  if (known) return known;
  const account = accountOf(user);
  const sources = { node: process.execPath, main: join(ROOT, "src/main.ts"), copied: false };
  const program = runs(sources, account) ? sources : copyFor(account);
  programs.set(user, program);
  return program;
}

function runs({ node, main }: Program, account: Account): boolean {
  const options = { ...account, cwd: "/", env: { PATH: process.env["PATH"] ?? "", HOME: "/" } };
  return spawnSync(node, [main, "--version"], { ...options, timeout: START_LIMIT_MS }).status === 0;
}

function copyFor(account: Account): Program {
  const folder = openFolder(account);
  copies.push(folder);
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts"), join(folder, "dist")]);
  mkdirSync(join(folder, "bin"));
  for (const name of ["bin/ostiary.js", "package.json", "governance", "docs"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  const node = join(folder, "node");
  cpSync(process.execPath, node, { dereference: true });
  chmodSync(node, 0o755);
  giveAll(folder, account);
  const program = { node, main: join(folder, "bin/ostiary.js"), copied: true };
  if (!runs(program, account))
    throw new Error(`the server's user cannot run the copy of the program in ${folder}`);
  return program;
}

/** Starts the server and waits until it is ready; throws with what it said when it ends before. */
export async function openTarget(options: TargetOptions & { seed?: number }): Promise<OpenTarget> {
  const { user, seed = 1, settings = {} } = options;
  const account = accountOf(user);
  const program = programFor(user);
  const folder = openFolder(account);
  const own = (given: string | undefined, name: string): string => {
    const path = resolve(folder, given ?? name);
    mkdirSync(path, { recursive: true });
    // Also the folders made on the way.
    for (let at = path; at.startsWith(`${folder}/`); at = dirname(at)) give(at, account);
    if (!path.startsWith(`${folder}/`)) giveAll(path, account);
    return path;
  };
  const home = own(undefined, "home");
  const workspace = own(options.workspace, "workspace");
  const dataDir = own(options.dataDir, "data");
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    TMPDIR: own(undefined, "tmp"),
    // A fresh install gives each user 100 calls a minute: attacks make more, and are not meant to end there.
    RATE_LIMIT_REQUESTS_PER_MINUTE: "1000000",
    ...environment({ ...settings, workspace }),
  };

  const asUser = (argv: readonly string[], { cwd = workspace } = {}): Promise<Ran> =>
    run(argv, { ...account, cwd, env: { PATH: env.PATH, HOME: home, TMPDIR: env.TMPDIR } });

  let said = "";
  let child: ChildProcess | undefined;
  let url = "";
  let adminKey = "";
  const start = async (): Promise<void> => {
    const args = [program.main, "serve", "--no-open", "--data-dir", dataDir, "--port", "0"];
    child = spawn(program.node, args, {
      ...account,
      cwd: home,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    url = await ready(child, (text) => (said = (said + text).slice(-MOST_SAID)));
    adminKey = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  };
  const remove = (): void => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };

  try {
    await options.prepare?.({ user, workspace, dataDir, asUser });
    await start();
  } catch (error) {
    if (child) await end(child, "SIGKILL");
    remove();
    throw error;
  }

  const api: Target["api"] = (method, path, request) =>
    send(url, method, path, { key: adminKey, ...request });
  return {
    user,
    seed,
    workspace,
    dataDir,
    get url() {
      return url;
    },
    get pid() {
      return child?.pid ?? 0;
    },
    get adminKey() {
      return adminKey;
    },
    said: () => said,
    api,
    call: (tool, args, request = {}) =>
      api("POST", "/executions", {
        ...request,
        body: { name: tool, arguments: args, ...(request.body as object) },
      }),
    async restart(signal = "SIGTERM") {
      if (child) await end(child, signal);
      await start();
    },
    asUser,
    async harm() {
      const answered = await fetch(`${url}/healthz`, {
        signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      })
        .then((response) => response.arrayBuffer())
        .catch(() => null);
      if (answered) return null;
      // The end of a process is told a moment after its port is closed.
      for (let turn = 0; turn < 20 && child && running(child); turn++) await setTimeout(100);
      return child && running(child)
        ? `the server did not answer within ${ANSWER_LIMIT_MS / 1000} s`
        : "the server ended";
    },
    async close() {
      if (child) await end(child, "SIGTERM");
      remove();
    },
  };
}

function environment(settings: Record<string, string>): Record<string, string> {
  const { leaves } = configLayout();
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const leaf = leaves.get(key);
      if (!leaf) throw new Error(`no such setting: ${key}`);
      return [leaf.env, value];
    }),
  );
}

function ready(child: ChildProcess, say: (text: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = globalThis.setTimeout(() => child.kill("SIGKILL"), START_LIMIT_MS);
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(late);
      reject(new Error(`the server ended (${code ?? signal}) before it was ready: ${text}`));
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (part: string) => {
        say(part);
        if (text.length < 20_000) text += part;
        const url = /^ready (http\S+)$/m.exec(text)?.[1];
        if (url === undefined) return;
        clearTimeout(late);
        resolve(url);
      });
  });
}

async function send(
  url: string,
  method: string,
  path: string,
  { key, body, headers }: ApiOptions,
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(key === null || key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

/** Pages and texts stay what they are. */
function parsed(text: string): unknown {
  try {
    return text === "" ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

async function run(
  argv: readonly string[],
  options: Account & { cwd: string; env: Record<string, string> },
): Promise<Ran> {
  const [program = "", ...args] = argv;
  const child = spawn(program, args, {
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: RUN_LIMIT_MS,
  });
  const parts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (parts[name] += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...parts };
}

const running = (child: ChildProcess): boolean =>
  child.exitCode === null && child.signalCode === null;

async function end(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (!running(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const late = globalThis.setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
  await gone;
  clearTimeout(late);
}
