// Starts the governed server as it ships, with a data directory of its own.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshBundle } from "./bundle.ts";
import { ROOT, startServer, type BenchServer } from "./process.ts";
import type { BenchOptions } from "./row.ts";

/** True when there is a fresh bundle; otherwise it prints why the sources are used. */
export function haveBundle(options: BenchOptions): boolean {
  const why = options.fromSource ? "as asked" : freshBundle();
  if (why !== null) options.note(`the governed server runs from its sources: ${why}`);
  return why === null;
}

export interface Governed extends BenchServer {
  readonly dataDir: string;
  /** Stops the server and removes its data. */
  remove(): Promise<void>;
}

export async function startGoverned(options: BenchOptions): Promise<Governed> {
  const dataDir = tempDir();
  const profile =
    options.profileDir === null ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profileDir}`];
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
  root = ROOT,
): Promise<BenchServer> {
  const bin = join(root, "bin", "ostiary.js");
  const args = [...nodeFlags, bin, "serve", "--data-dir", dataDir, "--port", "0"];
  const server = await startServer("governed echo (bundle)", args, {
    ready(line) {
      const port = /^ready http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      return port === undefined ? null : { port: Number(port) };
    },
  });
  return { ...server, key: readFileSync(join(dataDir, "admin.key"), "utf8").trim() };
}
