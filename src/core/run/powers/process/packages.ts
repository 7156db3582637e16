// Packages that a tenant has installed, outside its workspace and shared by its programs.
import { cp, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxMount } from "../../../../reach/sandbox/sandbox.ts";
import type { ProcessJob } from "../../../../contract/powers/process.ts";
import { copyTree, type User } from "./copy.ts";
import { isOpenTo } from "./direct.ts";
import { treeOf } from "./tree.ts";
import type { Staging } from "./workspace.ts";

const INSIDE = "/packages";
const LIMITS = { files: 100_000, bytes: 2_147_483_648 };

export interface PlacedPackages {
  readonly mounts: readonly SandboxMount[];
  readonly env: Readonly<Record<string, string>>;
  readonly owner: User | null;
  /** Of `write`: moves what was installed to the tenant's packages. */
  collect(): Promise<void>;
  discard(): void;
}

export interface Packages {
  place(
    access: ProcessJob["packages"] | null,
    tenantId: string,
    owner: User | null,
    signal: AbortSignal,
  ): Promise<PlacedPackages>;
}

const NONE: PlacedPackages = {
  mounts: [],
  env: {},
  owner: null,
  collect: () => Promise.resolve(),
  discard: () => undefined,
};

/** Addresses that package managers install from. */
export interface Registries {
  readonly pip: string;
  readonly npm: string;
}

export function tenantPackages(
  dataDir: string,
  staging: Staging,
  registries: Registries,
): Packages {
  /** Of two installations at once each would lose the packages of the other. */
  const turns = new Map<string, Promise<void>>();
  const turn = async (home: string): Promise<() => void> => {
    const before = turns.get(home);
    const { promise, resolve } = Promise.withResolvers<void>();
    turns.set(home, promise);
    await before;
    return resolve;
  };
  return {
    async place(access, tenantId, owner, signal) {
      if (!access) return NONE;
      const home = join(dataDir, "packages", encodeURIComponent(tenantId).replaceAll(".", "%2E"));
      if (access === "read") return reading(home, owner, staging, signal);
      const done = await turn(home);
      try {
        const placed = await writing(home, owner, staging, signal);
        const env = { PACKAGES_PIP: registries.pip, PACKAGES_NPM: registries.npm };
        return { ...placed, env, discard: () => (placed.discard(), done()) };
      } catch (cause) {
        done();
        throw cause;
      }
    },
  };
}

async function reading(
  home: string,
  owner: User | null,
  staging: Staging,
  signal: AbortSignal,
): Promise<PlacedPackages> {
  const env = { PYTHONPATH: `${INSIDE}/pip`, NODE_PATH: `${INSIDE}/npm/node_modules` };
  const { entries } = await treeOf(home, { maxEntries: 1, signal });
  if (entries.size === 0) return NONE;
  if (process.getuid?.() !== 0 || (await isOpenTo(home, owner, "read")))
    return { ...NONE, env, mounts: [{ host: home, at: INSIDE, access: "ro" }] };
  const folder = await staging.folder();
  const copy = join(folder, "packages");
  await mkdir(copy, { mode: 0o755 });
  await copyTree(home, copy, {
    user: null,
    shared: true,
    limits: LIMITS,
    mayRead: () => true,
    signal,
  });
  return {
    ...NONE,
    env,
    mounts: [{ host: copy, at: INSIDE, access: "ro" }],
    discard: () => staging.drop(folder),
  };
}

async function writing(
  home: string,
  owner: User | null,
  staging: Staging,
  signal: AbortSignal,
): Promise<PlacedPackages> {
  const user = owner ?? staging.user();
  const folder = await staging.folder();
  const fresh = join(folder, "packages");
  const copy = join(folder, "taken");
  await mkdir(fresh, { mode: 0o700 });
  await copyTree(home, fresh, { user, limits: LIMITS, mayRead: () => true, signal });
  return {
    mounts: [{ host: fresh, at: INSIDE, access: "rw" }],
    env: {},
    owner: user,
    /** Copied by the server, so that nothing in it belongs to the job; then one rename. */
    async collect() {
      await mkdir(copy, { mode: 0o755 });
      await copyTree(fresh, copy, {
        user: null,
        shared: true,
        limits: LIMITS,
        mayRead: () => true,
        signal,
      });
      const next = `${home}.new`;
      await rm(next, { recursive: true, force: true });
      await mkdir(join(home, ".."), { recursive: true, mode: 0o711 });
      await cp(copy, next, { recursive: true, verbatimSymlinks: true });
      await rm(home, { recursive: true, force: true });
      await rename(next, home);
    },
    discard: () => staging.drop(folder),
  };
}
