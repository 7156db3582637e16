// The box on Linux. Opens at once; a real run in the background decides whether it works.
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openCages } from "./bubblewrap/cgroup.ts";
import type { Tamper } from "./bubblewrap/box.ts";
import { closeInherited } from "./bubblewrap/descriptors.ts";
import { openLauncher } from "./bubblewrap/launcher.ts";
import { openProcess } from "./bubblewrap/open.ts";
import { probe } from "./bubblewrap/probe.ts";
import { createGhosts } from "./bubblewrap/protect.ts";
import { runJob } from "./bubblewrap/run.ts";
import { seccompFilter } from "./bubblewrap/seccomp.ts";
import { findProgram, identities, NAMES, nodeFor, systemEntries } from "./bubblewrap/system.ts";
import type { Workshop } from "./bubblewrap/workshop.ts";
import { noSandbox, unavailable } from "./none.ts";
import type { Sandbox, SandboxConfig, SandboxStatus } from "./sandbox.ts";

const UNKNOWN: SandboxStatus = {
  ready: false,
  reason: "it is still being tried",
  fix: null,
  limits: "weak",
  version: null,
};

const FILTERS = {
  filter: { unixSockets: false },
  "filter-unix": { unixSockets: true },
  "filter-alone": { unixSockets: false, startsNothing: true },
} as const;

export function openBubblewrap(config: SandboxConfig, tamper?: Tamper): Sandbox {
  const bwrap = findProgram("bwrap", config.path);
  const prlimit = findProgram("prlimit", config.path);
  if (bwrap === null)
    return noSandbox(
      "bubblewrap is not installed",
      "apt install bubblewrap (or `ostiary doctor --fix`)",
    );
  if (prlimit === null)
    return noSandbox(
      "prlimit is not installed",
      "apt install util-linux (or `ostiary doctor --fix`)",
    );
  const machine = process.arch;
  if (machine !== "x64" && machine !== "arm64")
    return noSandbox(
      `no system call filter exists for ${machine}`,
      "run the server on x86-64 or arm64",
    );

  if (tamper?.descriptors !== false) closeInherited();
  mkdirSync(config.folder, { recursive: true, mode: 0o700 });
  const folder = mkdtempSync(join(config.folder, "box-"));
  chmodSync(folder, 0o700);
  for (const [name, options] of Object.entries(FILTERS))
    writeFileSync(join(folder, name), seccompFilter({ machine, ...options }));
  for (const [at, text] of Object.entries(NAMES)) writeFileSync(join(folder, nameOf(at)), text);

  const isRoot = process.getuid?.() === 0;
  const cages = openCages(`ostiary-${process.pid}-${randomBytes(4).toString("hex")}`);
  const node = nodeFor(isRoot);
  const open: Workshop["open"] = new Set();
  const shop: Workshop = {
    programs: { bwrap, prlimit },
    system: systemEntries(),
    folder,
    names: Object.keys(NAMES).map((at) => ({ at, file: join(folder, nameOf(at)) })),
    isRoot,
    limits: config.limits ?? {},
    identities: identities(isRoot),
    cages,
    ghosts: createGhosts(),
    node: node.path,
    open,
    ...(tamper === undefined ? {} : { tamper }),
  };
  let status = UNKNOWN;
  const probed = probe(shop).then((found) => (status = found));
  const ready = async (): Promise<void> => {
    await probed;
    if (!status.ready) throw unavailable(status);
  };
  return {
    kind: "bubblewrap",
    get status() {
      return status;
    },
    probed,
    async run(job) {
      await ready();
      return runJob(shop, job);
    },
    async open(job) {
      await ready();
      return openProcess(shop, job);
    },
    async launcher(job) {
      await ready();
      return openLauncher(shop, job);
    },
    async close() {
      await probed;
      for (const box of open) box.kill();
      await Promise.allSettled([...open].map(({ ended }) => ended));
      cages.close();
      node.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const nameOf = (at: string): string => at.slice(1).replaceAll("/", "-");
