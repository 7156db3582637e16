// Checks what a job may set for its box. Everything else about the box is set by the server.
import { isAbsolute, normalize } from "node:path";
import { AppError } from "../../contract/errors.ts";
import type { SandboxJob } from "./sandbox.ts";

/** Set by the box itself. */
const OWN_VARIABLES = new Set(["PATH", "HOME", "TMPDIR", "LANG"]);
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Inside: what the isolation consists of. */
const KEPT = [
  "/bin",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/proc",
  "/sbin",
  "/sys",
  "/usr",
];
/** Paths of the host that no box may see. */
const NEVER = ["/dev", "/proc", "/run", "/sys", "/var/run"];

type Checked = Pick<
  SandboxJob,
  | "argv"
  | "cwd"
  | "env"
  | "mounts"
  | "files"
  | "owner"
  | "startsNothing"
  | "network"
  | "localSockets"
>;

export function checkJob(job: Checked): void {
  const { argv, cwd, env, mounts, files = {}, owner, startsNothing, network, localSockets } = job;
  if (argv[0] === undefined || argv[0] === "") wrong("argv", "the name of a program");
  argv.forEach((word, index) => {
    if (word.includes("\0")) wrong(`argv/${index}`, "text without a zero byte");
  });
  inside("cwd", cwd);
  for (const [name, value] of Object.entries(env)) {
    if (!VARIABLE.test(name)) wrong(`env/${name}`, "a name of letters, digits and _");
    if (OWN_VARIABLES.has(name)) wrong(`env/${name}`, "another name: the sandbox sets this one");
    if (value.includes("\0")) wrong(`env/${name}`, "text without a zero byte");
  }
  mounts.forEach(({ host, at, protect = [] }, index) => {
    inside(`mounts/${index}/at`, at);
    if (at === "/" || KEPT.some((kept) => within(at, kept)))
      wrong(`mounts/${index}/at`, "a folder that is not the sandbox's own");
    if (!plain(host)) wrong(`mounts/${index}/host`, "an absolute path");
    if (host === "/" || NEVER.some((never) => within(host, never)))
      wrong(`mounts/${index}/host`, "a folder or file, not the system's own");
    for (const path of protect)
      if (path === "" || !plain(`/${path}`)) wrong(`mounts/${index}/protect`, "paths below it");
  });
  for (const at of Object.keys(files)) {
    inside("files", at);
    if (KEPT.some((kept) => within(at, kept)))
      wrong("files", "paths that are not the sandbox's own");
  }
  if (startsNothing && (network !== undefined || localSockets))
    wrong("startsNothing", "neither network nor sockets beside it");
  if (owner !== undefined && !(isId(owner.uid) && isId(owner.gid)))
    wrong("owner", "a user and group that are not root");
}

const isId = (id: number): boolean => Number.isInteger(id) && id > 0;
const within = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** Absolute, in its shortest form, and text the kernel takes. */
function plain(path: string): boolean {
  return (
    isAbsolute(path) && !path.includes("\0") && normalize(path).replace(/(.)\/$/, "$1") === path
  );
}

function inside(field: string, path: string): void {
  if (!plain(path)) wrong(field, "an absolute path without . and ..");
}

function wrong(field: string, expected: string): never {
  throw new AppError(
    "BAD_REQUEST",
    "invalid_arguments",
    `sandbox job: ${field}: expected ${expected}`,
    { remedy: `change ${field}` },
  );
}
