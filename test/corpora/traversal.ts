// T30: every line, raw and once and twice percent-decoded, as every path of every file tool, through the whole gate.
// Canaries lie where the lines lead, seen from the workspace. None may be read, changed or joined by anything new.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { JsonObject, Outcome } from "../../src/contract/call.ts";
import type { CorpusResult } from "./corpus.ts";
import { inParallel, openCorpusApp, type CorpusApp } from "./open-app.ts";

const CANARY = "CANARY-51d0";
const PLANTED = "PLANTED-9b1e";
const BATCH = 128;
const AT_ONCE = 32;

/** Where lines of such lists lead, from the workspace and from each folder above it. */
const LURES = [
  "etc/passwd",
  "etc/shadow",
  "etc/group",
  "etc/hosts",
  "etc/issue",
  "boot.ini",
  "windows/win.ini",
  "windows/system32/drivers/etc/hosts",
  "winnt/win.ini",
  "var/log/apache/access.log",
  "proc/self/environ",
  "index.php",
  "config.php",
  "WEB-INF/web.xml",
  "{FILE}",
  "secret.txt",
];

interface Attempt {
  readonly tool: string;
  readonly input: JsonObject;
}

/** Those that only look come first: a path that gets through there is not handed to one that writes. */
const LOOKING: readonly ((path: string) => Attempt)[] = [
  (path) => ({ tool: "file/read", input: { path } }),
  (path) => ({ tool: "file/list", input: { path, includeHidden: true } }),
  (path) => ({ tool: "file/stat", input: { path, hash: true } }),
  (path) => ({
    tool: "file/search",
    input: { pattern: `${CANARY}|root:`, path, includeHidden: true, respectIgnore: false },
  }),
  (path) => ({ tool: "file/glob", input: { pattern: "*", path } }),
  (path) => ({ tool: "file/glob", input: { pattern: path.slice(0, 500) } }),
  (path) => ({ tool: "file/diff", input: { a: path, content: "" } }),
  (path) => ({ tool: "file/diff", input: { a: "control.txt", b: path } }),
  (path) => ({ tool: "file/parse", input: { path } }),
];

const CHANGING: readonly ((path: string) => Attempt)[] = [
  (path) => ({ tool: "file/write", input: { path, content: PLANTED } }),
  (path) => ({
    tool: "file/edit",
    input: { path, oldContent: "o", newContent: PLANTED, replaceAll: true },
  }),
  (path) => ({ tool: "file/mkdir", input: { path } }),
  (path) => ({ tool: "file/copy", input: { from: "control.txt", to: path, overwrite: true } }),
  (path) => ({
    tool: "file/copy",
    input: { from: path, to: "copied", recursive: true, overwrite: true },
  }),
  (path) => ({ tool: "file/move", input: { from: "movable.txt", to: path, overwrite: true } }),
  (path) => ({ tool: "file/move", input: { from: path, to: "moved", overwrite: true } }),
  (path) => ({ tool: "file/delete", input: { path } }),
];

export async function run(lines: string[]): Promise<CorpusResult> {
  const app = await openCorpusApp();
  try {
    lure(app);
    const around = picture(app);
    const escaped: string[] = [];
    let tried = 0;
    const controls = { tried: 0, failed: [] as string[] };
    for (let at = 0; at < lines.length; at += BATCH) {
      furnish(app);
      if (at % (BATCH * 8) === 0) await control(app, controls);
      const paths = lines
        .slice(at, at + BATCH)
        .flatMap((line) => [...new Set([line, decode(line), decode(decode(line))])]);
      await inParallel(paths, AT_ONCE, async (path) => {
        let out = false;
        for (const attempt of [...LOOKING, ...CHANGING]) {
          if (out && CHANGING.includes(attempt)) break;
          const { tool, input } = attempt(path);
          if (!app.has(tool)) continue;
          tried++;
          const why = leak(await app.call(tool, input));
          if (why === null) continue;
          out = true;
          escaped.push(`${tool} ${JSON.stringify(input).slice(0, 300)}: ${why}`);
        }
      });
    }
    await control(app, controls);
    if (picture(app) !== around) escaped.push("something outside the workspace was changed");
    return { tried, contained: tried - escaped.length, escaped, controls };
  } finally {
    await app.close();
  }
}

/** Once percent-decoded, as leniently as a careless server would. */
function decode(text: string): string {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  const raw = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(raw, "latin1").toString("utf8");
}

/** Null when the answer stays inside: a result about the workspace, or a refusal that says why. */
function leak(outcome: Outcome): string | null {
  const { output, error } = outcome;
  if (error) {
    const told = ["FORBIDDEN", "BAD_REQUEST", "CONFLICT", "EXECUTION_FAILED"].includes(error.code);
    if (!told || ["unexpected", "output_invalid", "internal"].includes(error.reason))
      return `${error.code} ${error.reason}: ${error.message}`;
    return JSON.stringify(error).includes(CANARY) ? "a canary in the message" : null;
  }
  const text = JSON.stringify(output);
  if (text.includes(CANARY) || /root:[x*!]?:0:/.test(text)) return "a canary was read";
  for (const key of ["path", "from", "to"]) {
    const shown = (output as JsonObject)[key];
    const missing = (output as JsonObject)["exists"] === false;
    if (typeof shown === "string" && !missing && /^(\/|\.\.(\/|$))/.test(shown))
      return `it reached ${shown}`;
  }
  return null;
}

async function control(
  app: CorpusApp,
  controls: { tried: number; failed: string[] },
): Promise<void> {
  const must: [Attempt, (output: JsonObject) => boolean][] = [
    [
      { tool: "file/read", input: { path: "dir/../control.txt" } },
      (output) => output["content"] === "control\n",
    ],
    [{ tool: "file/list", input: { path: "dir/.." } }, (output) => output["path"] === "."],
    [
      { tool: "file/stat", input: { path: join(app.workspace, "control.txt") } },
      (output) => output["exists"] === true,
    ],
    [
      { tool: "file/search", input: { pattern: "control", path: "./dir/.." } },
      (output) => JSON.stringify(output).includes("control.txt"),
    ],
    [
      { tool: "file/write", input: { path: "%2e%2e/odd name", content: "x" } },
      (output) => output["created"] === true,
    ],
    [
      { tool: "file/edit", input: { path: "%2e%2e/odd name", oldContent: "x", newContent: "y" } },
      (output) => output["applied"] === true,
    ],
    [
      { tool: "file/move", input: { from: "%2e%2e/odd name", to: "..hidden" } },
      (output) => output["to"] === "..hidden",
    ],
    [
      { tool: "file/copy", input: { from: "..hidden", to: "dir/...", overwrite: true } },
      (output) => output["files"] === 1,
    ],
    [{ tool: "file/delete", input: { path: "dir/..." } }, (output) => output["files"] === 1],
    [
      { tool: "file/diff", input: { a: "control.txt", b: "./..hidden" } },
      (output) => output["identical"] === false,
    ],
    [{ tool: "file/mkdir", input: { path: "dir/new" } }, (output) => output["created"] === true],
    [
      { tool: "file/glob", input: { pattern: "control.*" } },
      (output) => JSON.stringify(output).includes("control.txt"),
    ],
  ];
  for (const [{ tool, input }, holds] of must) {
    controls.tried++;
    const { output, error } = await app.call(tool, input);
    if (error || !holds(output as JsonObject))
      controls.failed.push(
        `${tool} ${JSON.stringify(input)}: ${JSON.stringify(error ?? output).slice(0, 200)}`,
      );
  }
}

/** The workspace as each batch finds it. */
function furnish({ workspace }: CorpusApp): void {
  for (const name of readdirSync(workspace))
    rmSync(join(workspace, name), { recursive: true, force: true });
  mkdirSync(join(workspace, "dir"));
  writeFileSync(join(workspace, "control.txt"), "control\n");
  writeFileSync(join(workspace, "movable.txt"), "movable\n");
}

function lure({ root, workspace }: CorpusApp): void {
  for (let folder = dirname(workspace); folder.startsWith(root); folder = dirname(folder)) {
    for (const name of LURES) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), `root:x:0:0:${CANARY}\n`);
    }
  }
}

/** Everything around the workspace: names, contents, times. The data directory is the server's own. */
function picture({ root, workspace }: CorpusApp): string {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (path) =>
        ![workspace, join(root, "data")].some((own) => path === own || path.startsWith(own + sep)),
    )
    .map((path) => {
      const stat = statSync(path);
      return `${path} ${stat.mode} ${stat.ino} ${stat.isFile() ? `${stat.mtimeMs} ${readFileSync(path, "utf8")}` : ""}`;
    })
    .sort()
    .join("\n");
}
