// The official referee, run on one address: the checks of each scenario, and which scenarios a requirement set scores.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Check } from "./mcp-judge.ts";
import type { RequirementSet } from "./mcp-left-out.ts";

export const SETS: readonly RequirementSet[] = ["2025-11-25", "2026-07-28"];
const RUN_LIMIT_MS = 300_000;
const PACKAGE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance");
const referee = join(PACKAGE, "dist/index.js");

/** Runs one requirement set; resolves with the checks of each scenario. */
export async function runReferee(url: string, set: RequirementSet): Promise<Map<string, Check[]>> {
  const output = await mkdtemp(join(tmpdir(), "ostiary-conformance-"));
  try {
    const args = [referee, "server", "--url", url, "--requirements", set, "-o", output];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "ignore", "inherit"],
      timeout: RUN_LIMIT_MS,
    });
    await new Promise((resolve, reject) => child.on("error", reject).on("exit", resolve));
    const found = new Map<string, Check[]>();
    for (const folder of await readdir(output)) {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder) ?? [];
      if (scenario === undefined) continue;
      // Cut off by the limit where it is missing.
      const text = await readFile(join(output, folder, "checks.json"), "utf8").catch(() => "[]");
      found.set(scenario, JSON.parse(text) as Check[]);
    }
    return found;
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

/** The scenarios a set scores, from the referee's own listing, so that one that never ran is noticed. */
export async function scored(set: RequirementSet): Promise<string[]> {
  const file = join(PACKAGE, "requirements", `${set}.yaml`);
  const { server } = parse(await readFile(file, "utf8")) as { server: string[] };
  return server;
}
