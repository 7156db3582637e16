// The argument list is the protection: bubblewrap protects nothing by itself. One pure function; the command comes
// after `--` and is no part of it.
import type { SandboxLimits } from "../sandbox.ts";

/** The kind of the host's /bin, /lib and so on: links into /usr, or folders of their own. */
export type SystemEntry =
  { readonly at: string; readonly link: string } | { readonly at: string; readonly folder: true };

export interface BoxMount {
  readonly host: string;
  readonly at: string;
  readonly access: "ro" | "rw";
}

/** A file made for the box; its bytes come through a descriptor. */
export interface BoxFile {
  readonly fd: number;
  readonly at: string;
}

export interface BoxPlan {
  readonly system: readonly SystemEntry[];
  readonly limits: SandboxLimits;
  /** In the order they are made; a mount on `/job` takes the place of the private folder. */
  readonly mounts: readonly BoxMount[];
  readonly files: readonly BoxFile[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly fds: { readonly seccomp: number; readonly status: number; readonly block: number };
}

export const JOB = "/job";
export const PATH = "/usr/local/bin:/usr/bin:/bin";
const SHM_BYTES = 16_777_216;
/** What programs of a distribution need below /etc; nothing there names the host or holds a secret. */
const ETC = [
  "/etc/ssl/certs",
  "/etc/ca-certificates",
  "/etc/alternatives",
  "/etc/ld.so.cache",
  "/etc/fonts",
];

export function boxArguments(plan: BoxPlan): string[] {
  const { limits } = plan;
  return [
    // Listed one by one: `--unshare-all` only tries, and goes on where a namespace is not available.
    ...["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"],
    "--unshare-cgroup-try",
    ...["--disable-userns", "--assert-userns-disabled"],
    ...["--uid", "1000", "--gid", "1000"],
    ...["--cap-drop", "ALL"],
    ...["--new-session", "--die-with-parent"],
    "--clearenv",
    ...variables(plan.env),
    ...["--hostname", "job"],
    ...["--ro-bind", "/usr", "/usr"],
    ...plan.system.flatMap((entry) =>
      "link" in entry ? ["--symlink", entry.link, entry.at] : ["--ro-bind", entry.at, entry.at],
    ),
    ...ETC.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--size", String(SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm"],
    ...["--remount-ro", "/dev"],
    ...["--size", String(limits.tmpBytes), "--perms", "1777", "--tmpfs", "/tmp"],
    ...(plan.mounts.some(({ at }) => at === JOB)
      ? []
      : ["--size", String(limits.tmpBytes), "--perms", "0700", "--tmpfs", JOB]),
    ...plan.mounts.flatMap(({ host, at, access }) => [
      access === "rw" ? "--bind" : "--ro-bind",
      host,
      at,
    ]),
    ...plan.files.flatMap(({ fd, at }) => ["--perms", "0555", "--ro-bind-data", String(fd), at]),
    ...["--chdir", plan.cwd],
    ...["--remount-ro", "/"],
    ...["--seccomp", String(plan.fds.seccomp)],
    ...["--json-status-fd", String(plan.fds.status)],
    ...["--block-fd", String(plan.fds.block)],
  ];
}

function variables(env: Readonly<Record<string, string>>): string[] {
  const all = { ...env, PATH, HOME: JOB, TMPDIR: "/tmp", LANG: "C.UTF-8" };
  return Object.entries(all).flatMap(([name, value]) => ["--setenv", name, value]);
}
