// Follows README.md, then docs/first-hour.md, command by command, as a newcomer would: in a fresh clone, and in an
// empty folder with the tarball. Prints every step and its seconds; `npm run readme -- tarball` (or clone) follows it
// one way only.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { packTarball } from "../test/fixtures/tarball.ts";

const ROOT = join(import.meta.dirname, "..");
const WAYS = ["tarball", "clone"] as const;
type Way = (typeof WAYS)[number];

/** How far a newcomer must have come, and after how many commands at most. */
const GOALS = { firstCall: 2, refusalAndApproval: 6 };
const STEP_LIMIT_MS = 600_000;

/** How this machine reaches a registry of packages. */
const WAY_OUT = /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file|ssl_cert_dir)$/i;

interface Step {
  readonly line: string;
  readonly comment: string;
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<Ended>;
}

/** What still runs; ended with this program, however that ends. */
const alive = new Set<Running>();
for (const name of ["SIGINT", "SIGTERM"] as const)
  process.once(name, () => {
    for (const one of alive) signal(one, "SIGKILL");
    rmSync(scratch, { recursive: true, force: true });
    process.exit(1);
  });

const total = { passed: 0, failed: 0, skipped: 0 };
const scratch = mkdtempSync(join(tmpdir(), "ostiary-readme-"));
// As folders of people are: started by root, programs run as other users, and must reach theirs.
chmodSync(scratch, 0o755);
try {
  for (const way of WAYS)
    if (process.argv.length < 3 || process.argv.includes(way)) await follow(way);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0) process.exitCode = 1;

async function follow(way: Way): Promise<void> {
  console.log(`-- README.md and the first hour from the ${way}, ${process.version}`);
  const folder = join(scratch, way);
  const home = join(scratch, `${way}-home`);
  mkdirSync(home);
  prepare(way, folder);
  const port = await freePort();
  const place = { folder, env: environment(home, port), port };
  const running: Running[] = [];
  try {
    await walk(way, place, running);
  } finally {
    for (const one of running.toReversed()) await stop(one);
  }
}

/** What the newcomer has before the first command. */
function prepare(way: Way, folder: string): void {
  if (way === "clone") {
    execFileSync("git", ["clone", "--quiet", ROOT, folder]);
    return;
  }
  mkdirSync(folder);
  const tarball = packTarball(join(scratch, "pack"));
  copyFileSync(tarball, join(folder, basename(tarball)));
  // As `npm init` leaves it; without one npm would look for a project in the folders above.
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
}

interface Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly port: number;
}

async function walk(way: Way, place: Place, running: Running[]): Promise<void> {
  const began = performance.now();
  const reached = { firstCall: 0, refused: 0, approved: 0 };
  let commands = 0;
  let waiting: Running | null = null;
  let approval = "";
  let prelude = "";
  const pages = ["README.md", "docs/first-hour.md"].map((page) =>
    readFileSync(join(ROOT, page), "utf8"),
  );
  for (const { line, comment } of pages.flatMap(stepsOf)) {
    const reason = whySkipped(line, comment, way);
    if (reason === "other way") continue;
    if (reason !== null) {
      total.skipped++;
      console.log(`  –           ${line}   (${reason})`);
      continue;
    }
    if (/^[A-Z]+=/.test(line)) {
      prelude += `${line}\n`;
      continue;
    }
    commands++;
    const start = performance.now();
    const text = prelude + line.replaceAll(":3100", `:${place.port}`).replace("<id>", approval);
    const one = launch(text, place);
    if (isServer(line)) {
      running.push(one);
      tell(line, start, await seen(one, /^ready /m));
    } else if (comment.startsWith("waits")) {
      waiting = one;
      running.push(one);
      const isHeld = await seen(one, /apr_\w+/);
      approval = /apr_\w+/.exec(one.output())?.[0] ?? "";
      tell(line, start, isHeld);
    } else {
      const { code, output } = await within(one);
      const expected = Number(/exit code (\d)/.exec(comment)?.[1] ?? 0);
      let problem = code === expected ? null : `exit code ${code}, not ${expected}:\n${output}`;
      if (problem === null && waiting !== null && line.includes("approvals approve")) {
        const outcome = await within(waiting);
        if (outcome.code !== 0) problem = `the call that waited ended with ${outcome.code}`;
        else reached.approved ||= commands;
        waiting = null;
      }
      tell(line, start, problem);
      if (problem === null && /^npx ostiary call/.test(line) && code === 0)
        reached.firstCall ||= commands;
      if (problem === null && code === 3 && line.includes(" explain "))
        reached.refused ||= commands;
    }
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  console.log(`  ${commands} commands in ${seconds} s`);
  const both =
    reached.refused && reached.approved ? Math.max(reached.refused, reached.approved) : 0;
  if (way === "tarball") await measure(place);
  goal("to the first governed call", reached.firstCall, GOALS.firstCall);
  goal("to a refusal explained and an approval given", both, GOALS.refusalAndApproval);
}

/** Printed and not judged: what it takes depends on who else uses the machine. */
async function measure(place: Place): Promise<void> {
  let best = Infinity;
  for (let turn = 0; turn < 5; turn++) {
    const start = performance.now();
    await within(launch("npx ostiary call system/echo text=hello", place));
    best = Math.min(best, performance.now() - start);
  }
  console.log(
    `  npx ostiary call: ${(best / 1000).toFixed(2)} s, the best of 5 (wanted: under 0.5 s)`,
  );
}

/** The lines of all `sh` blocks, continuations joined, with the comment at their end. */
function stepsOf(markdown: string): Step[] {
  const blocks = [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, body = ""]) => body);
  return blocks
    .flatMap((body) => body.replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, command = "", comment = ""] = /^(.*?)(?:\s+# (.*))?$/.exec(line) ?? [];
      return { line: command.trim(), comment };
    });
}

function whySkipped(line: string, comment: string, way: Way): string | null {
  if (/^(OSTIARY|OTEL)_/.test(line)) return "a setting, for servers that are not here";
  if (line.includes("npm test")) return "the test suite has a step of its own";
  if (line.startsWith("npm ci") && way !== "clone") return "other way";
  if (line.startsWith("npm install ./") && way !== "tarball") return "other way";
  if (comment.includes("a clone has it") && way === "clone") return "other way";
  return null;
}

function isServer(line: string): boolean {
  return /(npm start|&& npx ostiary)$/.test(line);
}

/** In a process group of its own, so that what npm starts ends with it. */
function launch(text: string, { folder, env }: Place): Running {
  const child = spawn("bash", ["-c", text], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => (output += part));
  const ended = once(child, "close").then(([code]) => {
    alive.delete(one);
    return { code: code as number | null, output };
  });
  const one = { child, output: () => output, ended };
  alive.add(one);
  return one;
}

/** Null once the output shows it; else what went wrong. */
async function seen(one: Running, pattern: RegExp): Promise<string | null> {
  const until = performance.now() + STEP_LIMIT_MS;
  while (!pattern.test(one.output())) {
    const hasEnded = one.child.exitCode !== null || one.child.signalCode !== null;
    if (hasEnded || performance.now() > until) return `never said ${pattern}:\n${one.output()}`;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

async function within(one: Running): Promise<Ended> {
  const late = setTimeout(() => signal(one, "SIGKILL"), STEP_LIMIT_MS);
  try {
    return await one.ended;
  } finally {
    clearTimeout(late);
  }
}

async function stop(one: Running): Promise<void> {
  const late = setTimeout(() => signal(one, "SIGKILL"), 30_000);
  signal(one, "SIGTERM");
  await one.ended;
  clearTimeout(late);
}

function signal({ child }: Running, name: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, name);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause;
  }
}

function tell(line: string, start: number, problem: string | null): void {
  const seconds = ((performance.now() - start) / 1000).toFixed(2).padStart(6);
  console.log(`  ${problem === null ? "✓" : "✗"} ${seconds} s  ${line}`);
  if (problem !== null) console.log(problem.replaceAll(/^/gm, "      "));
  total[problem === null ? "passed" : "failed"]++;
}

function goal(what: string, commands: number, most: number): void {
  const isMet = commands > 0 && commands <= most;
  console.log(`  ${isMet ? "✓" : "✗"} ${what}: ${commands || "never"} of at most ${most} commands`);
  total[isMet ? "passed" : "failed"]++;
}

/** Nothing of the machine's but this very Node first on the path, and where npm gets packages from. */
function environment(home: string, port: number): NodeJS.ProcessEnv {
  const cache = process.env["npm_config_cache"] ?? join(process.env["HOME"] ?? "", ".npm");
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => WAY_OUT.test(name))),
    PATH: `${dirname(process.execPath)}:${systemPath()}`,
    HOME: home,
    MCP_PORT: String(port),
    npm_config_cache: cache,
    npm_config_userconfig:
      process.env["npm_config_userconfig"] ?? join(process.env["HOME"] ?? "", ".npmrc"),
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
}

/** Without the folders that npm puts before it for scripts: there `ostiary` would be the clone's. */
function systemPath(): string {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.filter((folder) => !folder.includes("node_modules")).join(":");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
