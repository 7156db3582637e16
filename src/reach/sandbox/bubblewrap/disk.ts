// Limits what a sandbox writes to the host's disk. The kernel offers no quota without root, so usage is measured: often
// and cheaply whether something grew at all (free space, and the kernel's count of bytes its processes wrote), and only
// then exactly.
import { opendir, lstat, readdir, readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface DiskOrder {
  /** Folders of the host that it may write. */
  readonly folders: readonly string[];
  readonly bytes: number;
  readonly entries: number;
  /** Its processes, as the host numbers them. */
  readonly members: () => Promise<readonly number[]>;
  /** Once, when there is too much. */
  readonly onOver: () => void;
}

export interface DiskWatch {
  readonly over: boolean;
  close(): void;
}

const FIRST_LOOK_MS = 50;
const LOOK_EVERY_MS = 100;
/** Growth by this part of the limit causes an exact measurement. */
const PART = 0.25;
const DUE_MS = 1_000;
const MOST_DUE_MS = 300_000;
/** At most one part in so many of the time goes into measurements without a sign of growth. */
const SHARE = 20;

interface Growth {
  bytes: number;
  entries: number;
}

export function watchDisk(order: DiskOrder): DiskWatch {
  const since = Date.now();
  let over = false;
  let closed = false;
  const work = async (): Promise<void> => {
    let before = await signsOf(order);
    let pace = newPace();
    await sleep(FIRST_LOOK_MS, undefined, { ref: false });
    while (!closed) {
      const now = await signsOf(order);
      if (isWorthLooking(before, now, order) || performance.now() >= pace.next) {
        before = now;
        const began = performance.now();
        const growth = await growthOf(order, since, () => closed);
        pace = paceAfter(pace, growth, performance.now() - began);
        if (growth.bytes > order.bytes || growth.entries > order.entries) {
          over = !closed;
          if (over) order.onOver();
          return;
        }
      }
      await sleep(LOOK_EVERY_MS, undefined, { ref: false });
    }
  };
  // What cannot be measured (a folder that is gone) cannot be limited either.
  work().catch(() => {
    over = !closed;
    if (over) order.onOver();
  });
  return {
    get over() {
      return over;
    },
    close: () => void (closed = true),
  };
}

/** Signs can be hidden by what others remove at the same time, so it is measured at intervals in any case. */
interface Pace {
  readonly next: number;
  readonly waitMs: number;
  readonly found: string;
}

const newPace = (): Pace => ({ next: performance.now() + DUE_MS, waitMs: DUE_MS, found: "0 0" });

/** Rarely where nothing changes, and never so often that measuring takes most of the time. */
function paceAfter(pace: Pace, { bytes, entries }: Growth, tookMs: number): Pace {
  const found = `${bytes} ${entries}`;
  const patient = found === pace.found ? Math.min(pace.waitMs * 2, MOST_DUE_MS) : DUE_MS;
  const waitMs = Math.max(patient, tookMs * SHARE);
  return { next: performance.now() + waitMs, waitMs, found };
}

interface Signs {
  /** By folder. */
  readonly free: readonly { readonly bytes: number; readonly entries: number }[];
  readonly written: number;
}

async function signsOf({ folders, members }: DiskOrder): Promise<Signs> {
  const free = await Promise.all(
    folders.map(async (folder) => {
      const { bfree, bsize, ffree } = await statfs(folder);
      return { bytes: bfree * bsize, entries: ffree };
    }),
  );
  const written = await Promise.all((await members()).map(writtenBy));
  return { free, written: written.reduce((sum, one) => sum + one, 0) };
}

/** By it and the children it has waited for, on real disks; 0 when it is gone. */
async function writtenBy(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/io`, "utf8").catch(() => "");
  return Number(/^write_bytes: (\d+)$/m.exec(text)?.[1] ?? 0);
}

function isWorthLooking(before: Signs, now: Signs, { bytes, entries }: DiskOrder): boolean {
  if (now.written - before.written >= bytes * PART) return true;
  return now.free.some((one, index) => {
    const then = before.free[index] ?? one;
    return then.bytes - one.bytes >= bytes * PART || then.entries - one.entries >= entries * PART;
  });
}

/** The box is paused meanwhile, so that the count is exact. */
async function growthOf(order: DiskOrder, since: number, isOver: () => boolean): Promise<Growth> {
  const paused = await order.members();
  for (const pid of paused) signal(pid, "SIGSTOP");
  try {
    const growth: Growth = { bytes: 0, entries: 0 };
    const seen = new Set<string>();
    const enough = (): boolean =>
      isOver() || growth.bytes > order.bytes || growth.entries > order.entries;
    for (const folder of order.folders) await addFolder(folder, since, growth, seen, enough);
    for (const pid of await order.members()) if (!enough()) await addDeleted(pid, growth, seen);
    return growth;
  } finally {
    for (const pid of paused) signal(pid, "SIGCONT");
  }
}

/**
 * What was changed since the box began, by the change time, which only the kernel sets; a sparse file counts with its
 * blocks.
 */
async function addFolder(
  folder: string,
  since: number,
  growth: Growth,
  seen: Set<string>,
  enough: () => boolean,
): Promise<void> {
  const entries = await opendir(folder).catch(() => null);
  if (entries === null) return;
  for await (const entry of entries) {
    if (enough()) return;
    const path = join(folder, entry.name);
    const found = await lstat(path).catch(() => null);
    if (found === null) continue;
    if (found.ctimeMs >= since && !seen.has(`${found.dev}:${found.ino}`)) {
      seen.add(`${found.dev}:${found.ino}`);
      growth.bytes += found.blocks * 512;
      if (found.birthtimeMs >= since) growth.entries += 1;
    }
    if (entry.isDirectory()) await addFolder(path, since, growth, seen, enough);
  }
}

/** Files without a name that a process still holds open. */
async function addDeleted(pid: number, growth: Growth, seen: Set<string>): Promise<void> {
  for (const name of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
    const found = await stat(`/proc/${pid}/fd/${name}`).catch(() => null);
    if (!found?.isFile() || found.nlink > 0 || seen.has(`${found.dev}:${found.ino}`)) continue;
    seen.add(`${found.dev}:${found.ino}`);
    growth.bytes += found.blocks * 512;
  }
}

/** Of a box without a control group: all that its launcher started. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) =>
      readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => ""),
    ),
  );
  const children = lists.join(" ").split(/\s+/).filter(Boolean).map(Number);
  const below = await Promise.all(children.map(descendantsOf));
  return [pid, ...below.flat()];
}

function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
