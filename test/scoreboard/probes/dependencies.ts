// Known faults in what we depend on, and the list of it; an old version that is planted must be reported.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCount, type Probe } from "../figure.ts";
import { NotRun } from "../results.ts";

const ROOT = join(import.meta.dirname, "../../..");
const LIMIT_MS = 90_000;

interface Audit {
  readonly metadata?: {
    readonly vulnerabilities: Record<string, number>;
    readonly dependencies: { readonly total: number };
  };
  readonly message?: string;
  readonly vulnerabilities?: Record<string, { readonly severity: string }>;
}

const probe: Probe = async () => {
  const found = npm<Audit>(ROOT, "audit", "--json");
  if (!found.metadata)
    throw new NotRun(`the registry answers no audit here: ${found.message ?? "no answer"}`);
  const { vulnerabilities, dependencies } = found.metadata;
  const count = openCount("dependencies");
  const bad = Object.entries(found.vulnerabilities ?? {}).filter(
    ([, { severity }]) => severity === "high" || severity === "critical",
  );
  for (let at = bad.length; at < dependencies.total; at++) count.add(null);
  for (const [name, { severity }] of bad) count.add(`${name}: ${severity}`);
  const folder = mkdtempSync(join(tmpdir(), "ostiary-audit-"));
  try {
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ name: "planted", version: "1.0.0", dependencies: { lodash: "4.17.10" } }),
    );
    npm(folder, "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund");
    const planted = npm<Audit>(folder, "audit", "--json");
    count.control(
      Object.hasOwn(planted.vulnerabilities ?? {}, "lodash"),
      "an old lodash is not reported",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const list = npm<{ components?: unknown[] }>(ROOT, "sbom", "--sbom-format", "cyclonedx");
  return count.figure({
    figures: `${list.components?.length ?? 0} components in the list, ${vulnerabilities["moderate"] ?? 0} moderate and ${vulnerabilities["low"] ?? 0} low faults`,
    note: "provenance of packages is not looked at",
  });
};
export default probe;

function npm<T>(cwd: string, ...args: string[]): T {
  const { stdout } = spawnSync("npm", args, {
    cwd,
    timeout: LIMIT_MS,
    encoding: "utf8",
    maxBuffer: 64 * 1_048_576,
  });
  try {
    return JSON.parse(stdout) as T;
  } catch {
    return {} as T;
  }
}
