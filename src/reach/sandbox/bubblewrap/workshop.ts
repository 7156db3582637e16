// What the server keeps ready to build boxes with, and the steps before and after each.
import { randomBytes } from "node:crypto";
import { openSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "../../../contract/errors.ts";
import { checkJob } from "../job.ts";
import { limitsOf } from "../limits.ts";
import type { SandboxJob, SandboxLimits } from "../sandbox.ts";
import type { SystemEntry } from "./arguments.ts";
import { startBox, type Box, type BoxOrder, type Tamper } from "./box.ts";
import type { Cages } from "./cgroup.ts";
import { descendantsOf, watchDisk } from "./disk.ts";
import { openDoor, withDoor } from "./network.ts";
import { protectMounts, type Ghosts } from "./protect.ts";
import type { Identities } from "./system.ts";

export interface Workshop {
  readonly programs: { readonly bwrap: string; readonly prlimit: string };
  readonly system: readonly SystemEntry[];
  /** 0700; holds what boxes are given by descriptor. */
  readonly folder: string;
  readonly names: readonly { readonly at: string; readonly file: string }[];
  readonly isRoot: boolean;
  readonly limits: Partial<SandboxLimits>;
  readonly identities: Identities;
  readonly cages: Cages;
  readonly ghosts: Ghosts;
  /** Where the boxes find Node: a path that their users may reach. */
  readonly node: () => string;
  /** What runs at the moment. */
  readonly open: Set<Pick<Box, "kill" | "ended">>;
  readonly tamper?: Tamper;
}

type Built = Omit<SandboxJob, "stdin" | "signal" | "onOutput">;

export async function buildBox(
  shop: Workshop,
  asked: Built,
  stdio: BoxOrder["stdio"],
): Promise<{ readonly box: Box; readonly limits: SandboxLimits }> {
  checkJob(asked);
  const { network } = asked;
  const job = network === undefined ? asked : withDoor(asked);
  const limits = limitsOf(shop.limits, job.limits);
  if (shop.identities.full)
    throw new AppError("UNAVAILABLE", "resource_exhausted", "Too many sandboxes run at once.", {
      remedy: "try again when some have ended",
    });
  const slot = shop.identities.take();
  const giveUp: (() => unknown)[] = [() => slot !== null && shop.identities.give(slot.uid)];
  try {
    const placed = job.mounts.map((mount) =>
      mount.host === process.execPath ? { ...mount, host: shop.node() } : mount,
    );
    const guarded = protectMounts(placed, shop.ghosts);
    giveUp.push(guarded.release);
    const cage =
      shop.tamper?.cage === false
        ? null
        : await shop.cages.open(randomBytes(6).toString("hex"), limits);
    if (cage !== null) giveUp.push(() => cage.remove().catch(() => undefined));
    const box = await startBox({
      programs: shop.programs,
      argv: job.argv,
      plan: { system: shop.system, limits, mounts: guarded.mounts, env: job.env, cwd: job.cwd },
      owner: shop.isRoot ? (job.owner ?? slot) : null,
      cage,
      seccompFd: openSync(join(shop.folder, filterOf(job)), "r"),
      files: [
        ...shop.names.map(({ at, file }) => ({ at, fd: openSync(file, "r") })),
        ...Object.entries(job.files ?? {}).map(([at, bytes]) => ({
          at,
          fd: descriptorOf(shop.folder, bytes),
        })),
      ],
      stdio,
      channel: network !== undefined,
      ...(shop.tamper === undefined ? {} : { tamper: shop.tamper }),
    });
    shop.open.add(box);
    if (network !== undefined) giveUp.push(openDoor(box.child, network).close);
    const folders = placed.filter(({ access }) => access === "rw").map(({ host }) => host);
    const pid = box.child.pid ?? 0;
    const disk =
      folders.length === 0 || shop.tamper?.disk === false
        ? null
        : watchDisk({
            folders,
            bytes: limits.diskBytes,
            entries: limits.diskEntries,
            members: () => cage?.members() ?? descendantsOf(pid),
            onOver: box.kill,
          });
    const ended = box.ended
      .then((end) => ({ ...end, overfull: disk?.over ?? false }))
      .finally(async () => {
        disk?.close();
        shop.open.delete(box);
        for (const step of giveUp.reverse()) await step();
      });
    return { box: { ...box, ended }, limits };
  } catch (cause) {
    for (const step of giveUp.reverse()) await step();
    throw cause;
  }
}

const filterOf = ({ startsNothing, localSockets }: Built): string =>
  startsNothing ? "filter-alone" : localSockets ? "filter-unix" : "filter";

/** Bytes as an open file without a name. */
function descriptorOf(folder: string, bytes: Uint8Array): number {
  const file = join(folder, `file-${randomBytes(6).toString("hex")}`);
  writeFileSync(file, bytes, { flag: "wx", mode: 0o600 });
  try {
    return openSync(file, "r");
  } finally {
    unlinkSync(file);
  }
}
