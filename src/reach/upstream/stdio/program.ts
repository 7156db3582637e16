// Turns a command line into what a sandbox can start: absolute paths, our own Node, and the folders it needs.
import { constants } from "node:fs";
import { access, open, readFile, realpath, stat } from "node:fs/promises";
import { basename, delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { AppError } from "../../../contract/errors.ts";
import type { ServerTransport } from "../../../storage/store/store.ts";
import { quote } from "../../../util/text/quote.ts";
import { foldersFor } from "./program-folders.ts";

type Stdio = Extract<ServerTransport, { kind: "stdio" }>;

export interface ResolvedProgram {
  /** `node` as its first word stands for the Node that runs Ostiary. */
  readonly argv: readonly string[];
  /** What the program itself needs; folders to work on are for an administrator to name. */
  readonly folders: Stdio["folders"];
}

export interface ProgramOptions {
  readonly isolation?: Stdio["isolation"] | undefined;
  readonly network?: Stdio["network"] | undefined;
  /** Where programs are looked for; the server's own PATH. */
  readonly path?: string | undefined;
}

const INTERPRETER = /^(node|bun|deno|python[\d.]*|ruby|perl|php|bash|sh|dash|zsh)$/;
/** Behind them comes code or a module, no script. */
const NO_SCRIPT = new Set(["-e", "--eval", "-p", "--print", "-c", "-m"]);
/** Options of Node with a value of their own. */
const WITH_VALUE = new Set([
  "-r",
  "--require",
  "--import",
  "--loader",
  "--experimental-loader",
  "-C",
  "--conditions",
  "--env-file",
  "-W",
  "-X",
]);
const SHEBANG = /^#!\s*(?:\S*\/env\s+(?:-S\s+)?)?(?:\S*\/)?node(?:\s|$)/;
const SHEBANG_BYTES = 512;
const BOX_PATH = ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

export async function resolveProgram(
  given: readonly string[],
  cwd: string,
  options: ProgramOptions = {},
): Promise<ResolvedProgram> {
  const [first = "", ...rest] = given;
  if (first.trim() === "")
    throw wrong(
      "argv: expected a program and its arguments, got nothing",
      'name a program, such as ["node", "server.js"]',
    );
  const [program, ...args] =
    basename(first) === "npx"
      ? await withoutNpx(first, rest, cwd, options)
      : await started(first, rest, cwd, options);
  const script = INTERPRETER.test(basename(program)) ? scriptAt(args) : -1;
  const words = await Promise.all(args.map((word, index) => absolute(word, cwd, index === script)));
  const main = words[script];
  if (program === "node" && main !== undefined && !(await exists(main)))
    throw wrong(`script ${quote(main)} does not exist`, "name the script by its full path");
  if (options.isolation === "none") return { argv: [program, ...words], folders: [] };
  const needed = [program, await interpreterOf(program), main]
    .filter((path) => path !== undefined && path !== null)
    .filter(isAbsolute);
  const folders = (await Promise.all(needed.map(foldersFor))).flat();
  return {
    argv: [program, ...words],
    folders: [...new Set(folders)].map((path) => ({ path, access: "ro" as const })),
  };
}

/** Scripts for Node run on ours, since a box may have none or another. */
async function started(
  program: string,
  args: readonly string[],
  cwd: string,
  options: ProgramOptions,
): Promise<[string, ...string[]]> {
  const found = await located(program, cwd, options);
  if (found === "node") return [found, ...args];
  const real = await realpath(found);
  return (await isForNode(real)) ? ["node", real, ...args] : [found, ...args];
}

/** A program by its full path. */
async function located(
  program: string,
  cwd: string,
  { isolation, path: given = process.env["PATH"] ?? "" }: ProgramOptions,
): Promise<string> {
  if (program === "node") return program;
  // In a box those of the system come first: nothing has to be shown for them.
  const path = isolation === "none" ? given : `${BOX_PATH}${delimiter}${given}`;
  const found = program.includes("/")
    ? resolve(cwd, program)
    : ((await inEnvironment(program, given)) ?? (await onPath(program, path)));
  if (found === null)
    throw wrong(
      `program ${quote(program)} was not found`,
      "install it, or name it by its full path",
    );
  const info = await stat(found).catch(() => null);
  if (info === null)
    throw wrong(`program ${quote(found)} does not exist`, "name it by its full path");
  if (!info.isFile())
    throw wrong(
      `program ${quote(found)}: expected a file, got a folder`,
      "name the program inside it",
    );
  if (!(await mayExecute(found)))
    throw wrong(
      `program ${quote(found)} cannot be executed`,
      `chmod +x it, or name its interpreter first, such as ["node", "${basename(found)}"]`,
    );
  return found;
}

/**
 * npx only looks for a package and starts it. One that is installed is started without it; one that is not must be
 * fetched, which a box without network cannot do.
 */
async function withoutNpx(
  npx: string,
  args: readonly string[],
  cwd: string,
  options: ProgramOptions,
): Promise<[string, ...string[]]> {
  const at = args.findIndex((word) => !word.startsWith("-"));
  const named = args
    .slice(0, at === -1 ? undefined : at)
    .map((word) => /^--package=(.+)$/.exec(word)?.[1])
    .find((word) => word !== undefined);
  const spec = named ?? args[at];
  if (spec === undefined)
    throw wrong(
      "npx: expected the name of a package",
      "name the package, such as npx -y @scope/server",
    );
  const rest = args.slice(at + 1);
  const { name, version } = partsOf(spec);
  const bin = await installed(name, version, named === undefined ? null : (args[at] ?? null), [
    ...above(cwd),
    "/usr/local/lib",
    "/usr/lib",
  ]);
  if (bin !== null) return ["node", bin, ...rest];
  const mayFetch = options.isolation === "none" || (options.network ?? "none") !== "none";
  if (!mayFetch)
    throw wrong(
      `npx: the package ${quote(name)} is not installed, and a sandbox without network cannot fetch it`,
      `let it be fetched from your package registry: --network registry.npmjs.org (for servers add and servers import); or npm install ${name} in a folder, and add the server as: node <folder>/node_modules/${name}/<its script>`,
    );
  return started(npx, args, cwd, options);
}

function partsOf(spec: string): { name: string; version: string | null } {
  const at = spec.indexOf("@", 1);
  return at === -1
    ? { name: spec, version: null }
    : { name: spec.slice(0, at), version: spec.slice(at + 1) };
}

/** The script of an installed package; a version that was asked for must be the one that is there. */
async function installed(
  name: string,
  version: string | null,
  command: string | null,
  places: readonly string[],
): Promise<string | null> {
  if (!/^(@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i.test(name)) return null;
  for (const place of places) {
    const folder = join(place, "node_modules", name);
    const about = await readPackage(join(folder, "package.json"));
    if (about === null) continue;
    const { bin, version: found } = about;
    if (version !== null && version !== "latest" && version !== found) continue;
    const bins = typeof bin === "string" ? { [basename(name)]: bin } : (bin ?? {});
    const script =
      bins[command ?? basename(name)] ??
      (Object.keys(bins).length === 1 ? Object.values(bins)[0] : undefined);
    if (script !== undefined) return join(folder, script);
  }
  return null;
}

async function readPackage(
  path: string,
): Promise<{ bin?: string | Record<string, string>; version?: string } | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as { bin?: string; version?: string } | null;
  } catch {
    return null;
  }
}

function above(cwd: string): string[] {
  return cwd === dirname(cwd) ? [cwd] : [cwd, ...above(dirname(cwd))];
}

/** Where among the arguments of an interpreter its script is; -1: there is none. */
function scriptAt(args: readonly string[]): number {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (NO_SCRIPT.has(word)) return -1;
    if (WITH_VALUE.has(word)) at++;
    else if (!word.startsWith("-")) return at;
  }
  return -1;
}

async function absolute(word: string, cwd: string, isScript: boolean): Promise<string> {
  if (isAbsolute(word)) return word;
  if (!isScript && !/^\.{1,2}(\/|$)/.test(word)) return word;
  const path = resolve(cwd, word);
  return isScript || (await exists(path)) ? path : word;
}

/** Python of the virtual environment that is switched on, if one is: its modules are nowhere else. */
async function inEnvironment(program: string, path: string): Promise<string | null> {
  const found = /^python[\d.]*$/.test(program) ? await onPath(program, path) : null;
  const isOwn = found !== null && (await exists(join(dirname(dirname(found)), "pyvenv.cfg")));
  return isOwn ? found : null;
}

async function onPath(program: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const found = join(folder, program);
    if ((await stat(found).catch(() => null))?.isFile() && (await mayExecute(found))) return found;
  }
  return null;
}

/** By its first line. */
const isForNode = async (path: string): Promise<boolean> => SHEBANG.test(await beginningOf(path));

/** A command of a virtual environment of Python names its interpreter in the first line, which may be anywhere. */
async function interpreterOf(program: string): Promise<string | null> {
  if (!isAbsolute(program)) return null;
  const named = /^#!\s*(\/\S+)/.exec(await beginningOf(program))?.[1];
  return named !== undefined && (await exists(named)) ? named : null;
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(SHEBANG_BYTES), 0, SHEBANG_BYTES, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}

const mayExecute = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function wrong(message: string, remedy: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_arguments", message, { remedy });
}
