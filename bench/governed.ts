// Starts the governed server as it ships: the built bundle, built anew when the sources are newer.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, startServer, type BenchServer } from "./process.ts";
import type { BenchOptions } from "./row.ts";

export const BUNDLE = join(ROOT, "dist", "main.js");

/** True when there is a fresh bundle; false (said why) when it cannot be had. */
export function haveBundle(options: BenchOptions): boolean {
  if (options.fromSource) return false;
  if (!existsSync(join(ROOT, "scripts", "build.ts"))) {
    options.note("no build script: the governed server runs from its sources");
    return false;
  }
  if (!existsSync(BUNDLE) || newest(join(ROOT, "src")) > statSync(BUNDLE).mtimeMs) {
    options.note("building the bundle");
    try {
      execFileSync(process.execPath, [join(ROOT, "scripts", "build.ts")], {
        cwd: ROOT,
        stdio: ["ignore", "ignore", "inherit"],
      });
    } catch {
      options.note("the bundle cannot be built: the governed server runs from its sources");
      return false;
    }
  }
  return existsSync(BUNDLE);
}

function newest(folder: string): number {
  const times = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return Math.max(0, ...times);
}

export interface Governed extends BenchServer {
  readonly dataDir: string;
  /** Stops the server and removes its data. */
  remove(): Promise<void>;
}

export async function startGoverned(options: BenchOptions): Promise<Governed> {
  const dataDir = tempDir();
  const profile = options.profileDir === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profileDir}`]; // prettier-ignore
  const script = join(ROOT, "bench", "servers", "governed.ts");
  const server = haveBundle(options)
    ? await startBundle(dataDir, profile)
    : await startServer("governed echo (sources)", [...profile, script, dataDir]);
  return {
    ...server,
    dataDir,
    async remove() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export const tempDir = (): string => mkdtempSync(join(tmpdir(), "ostiary-bench-"));

/** The bundle through its own command line, as a user starts it. */
export async function startBundle(
  dataDir: string,
  nodeFlags: readonly string[] = [],
): Promise<BenchServer> {
  const bin = join(ROOT, "bin", "ostiary.js");
  const args = [...nodeFlags, bin, "serve", "--data-dir", dataDir, "--port", "0"];
  const server = await startServer("governed echo (bundle)", args, {
    ready(line) {
      const port = /^ready http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      return port === undefined ? null : { port: Number(port) };
    },
  });
  return { ...server, key: readFileSync(join(dataDir, "admin.key"), "utf8").trim() };
}
