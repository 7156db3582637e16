// The framework examples as people run them: their packages installed, Ostiary from the packed tarball, each example
// against it. One that does not end as expected fails the run.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { installTarball, npm, packTarball } from "../fixtures/tarball.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples");
const NAMES = ["langgraph", "ai-sdk", "langchain", "openai-agents"];
const TIME_LIMIT_MS = 120_000;

/** Both must be in what an example prints: the result of one call, and why the other was refused. */
const EXPECTED = ["hello from a framework", "Path /etc/passwd is forbidden"];

const folder = mkdtempSync(join(tmpdir(), "ostiary-examples-"));
const dataDir = join(folder, "data");
let server: RunningServer | null = null;
const failed: string[] = [];
try {
  npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund"], EXAMPLES);
  const program = installTarball(packTarball(folder), join(folder, "installed"));
  symlinkSync(
    join(folder, "installed/node_modules/ostiary"),
    join(EXAMPLES, "node_modules/ostiary"),
  );
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--project", EXAMPLES], { stdio: "inherit" });
  server = await startServer(["--data-dir", dataDir, "--port", "0"], { program });
  for (const name of NAMES) await check(name, server);
} finally {
  await server?.stop();
  rmSync(join(EXAMPLES, "node_modules/ostiary"), { force: true });
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${NAMES.length - failed.length} passed, ${failed.length} failed, 0 skipped`);
if (failed.length > 0) process.exitCode = 1;

async function check(name: string, { url }: RunningServer): Promise<void> {
  const apiKey = readFileSync(join(dataDir, "cli.key"), "utf8").trim();
  const before = (await calls(url, apiKey)).length;
  const output = run(name, { OSTIARY_URL: url, OSTIARY_KEY: apiKey });
  const missing = EXPECTED.filter((text) => !output.includes(text));
  const made = (await calls(url, apiKey)).slice(0, -before || undefined).join(", ");
  const isRecorded = made === "file/read failed path_forbidden, system/echo success";
  console.log(output.replaceAll(/^/gm, "    "));
  if (missing.length === 0 && isRecorded) return console.log(`✓ ${name}`);
  failed.push(name);
  console.log(`✗ ${name}: printed no ${missing.join(" and no ") || "fault"}; on record: ${made}`);
}

function run(name: string, env: Record<string, string>): string {
  try {
    return execFileSync(process.execPath, [`${name}.ts`], {
      cwd: EXAMPLES,
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
      stdio: ["ignore", "pipe", "inherit"],
      timeout: TIME_LIMIT_MS,
    });
  } catch (cause) {
    return `${name} failed: ${String(cause)}`;
  }
}

/** The agent's calls on record, newest first. */
async function calls(url: string, apiKey: string): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/executions?limit=100`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  const { executions } = (await response.json()) as {
    executions: { toolName: string; status: string; errorReason?: string }[];
  };
  return executions.map(({ toolName, status, errorReason }) =>
    [toolName, status, errorReason].filter(Boolean).join(" "),
  );
}
