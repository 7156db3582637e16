import { z } from "zod";
import { cutToBytes } from "../../util/text/lines.ts";
import type { LinterName } from "../../util/computations/lint-report.ts";
import { quote } from "../../util/text/quote.ts";
import type { ToolPowers } from "../../contract/powers.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

type Powers = Pick<ToolPowers, "files" | "process">;

interface Linter {
  /** Of these one must exist beside the path or above it; null: works without. */
  readonly configs: readonly string[] | null;
  /** Extensions of the files it takes, for `auto`. */
  readonly takes: RegExp;
  /** Its main file below node_modules, or the name of a program. */
  readonly installed?: string;
  readonly program?: string;
  /** Also as a package of Python. */
  readonly python?: string;
  argv(target: string, fix: boolean): string[];
  readonly fixes: boolean;
}

const SCRIPTS = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;
const PYTHON = /\.pyi?$/;

const LINTERS: Record<LinterName, Linter> = {
  eslint: {
    configs: [
      "eslint.config.js",
      "eslint.config.mjs",
      "eslint.config.cjs",
      "eslint.config.ts",
      "eslint.config.mts",
      "eslint.config.cts",
      ".eslintrc.json",
      ".eslintrc.js",
      ".eslintrc.cjs",
      ".eslintrc.yml",
      ".eslintrc.yaml",
    ],
    takes: SCRIPTS,
    installed: "eslint/bin/eslint.js",
    argv: (target, fix) => ["--format", "json", ...(fix ? ["--fix"] : []), "--", target],
    fixes: true,
  },
  biome: {
    configs: ["biome.json", "biome.jsonc"],
    takes: SCRIPTS,
    installed: "@biomejs/biome/bin/biome",
    argv: (target, fix) => [
      "lint",
      "--reporter=github",
      "--max-diagnostics=none",
      ...(fix ? ["--write"] : []),
      "--",
      target,
    ],
    fixes: true,
  },
  tsc: {
    configs: ["tsconfig.json"],
    takes: /\.[cm]?tsx?$/,
    installed: "typescript/bin/tsc",
    argv: (target) => ["--noEmit", "--pretty", "false", "--project", target],
    fixes: false,
  },
  ruff: {
    configs: null,
    takes: PYTHON,
    program: "ruff",
    python: "ruff",
    argv: (target, fix) => [
      "check",
      "--no-cache",
      "--output-format",
      "json",
      ...(fix ? ["--fix"] : []),
      "--",
      target,
    ],
    fixes: true,
  },
  mypy: {
    configs: null,
    takes: PYTHON,
    program: "mypy",
    python: "mypy",
    argv: (target) => [
      "--no-error-summary",
      "--show-column-numbers",
      "--no-color-output",
      "--cache-dir=/tmp/mypy",
      "--",
      target,
    ],
    fixes: false,
  },
  shellcheck: {
    configs: null,
    takes: /\.(?:sh|bash|ksh)$/,
    program: "shellcheck",
    argv: (target) => ["--format=json1", "--", target],
    fixes: false,
  },
};
const NAMES = Object.keys(LINTERS) as [LinterName, ...LinterName[]];

const MAX_ISSUES = 1_000;
const MAX_SCRIPTS = 200;

export default defineTool({
  name: "shell/lint",
  displayName: "Lint",
  description:
    "Check a file or folder of the workspace with the project's own linter (eslint, biome, tsc, ruff, mypy or " +
    "shellcheck; auto picks by configuration and file type) and list the issues with place and rule. With fix:true the " +
    "linter mends what it can, which changes files and may need approval. Issues are an answer, not an error.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .describe("File or folder to check, relative to the workspace."),
    linter: z
      .enum(["auto", ...NAMES])
      .default("auto")
      .describe("Which linter; auto finds the project's own."),
    fix: z.boolean().default(false).describe("Mend what can be mended; writes files."),
  }),
  output: z.strictObject({
    linter: z.string(),
    version: z.string(),
    ok: z.boolean().describe("No error was found; warnings may have been."),
    issues: z.array(
      z.strictObject({
        path: z.string(),
        line: z.int(),
        column: z.int(),
        severity: z.enum(["error", "warning"]),
        rule: z.string(),
        message: z.string(),
      }),
    ),
    counts: z.strictObject({ error: z.int(), warning: z.int() }),
    fixed: z.int().optional().describe("With fix: how many files were changed."),
    truncated: z.boolean().describe("There are more issues than were listed."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["process", "files", "compute"],
  sandbox: "ro",
  timeoutMs: 60_000,
  tags: ["code"],
  aliases: ["run_linter"],
  escalations: [
    { argument: "/fix", equals: true, risk: "dangerous", effects: "system_write", sandbox: "rw" },
  ],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  examples: [{ path: "build.sh", linter: "shellcheck" }],
  async run({ path, linter, fix }, powers, context) {
    const found = await powers.files.stat(path);
    if (found === null)
      throw toolError("path_not_found", `path ${quote(path)}: does not exist`, {
        remedy: "list the directory to see what is there",
      });
    const isFolder = found.type === "dir";
    const name = linter === "auto" ? await choose(found.path, isFolder, powers) : linter;
    const chosen = LINTERS[name];
    const config = await configOf(chosen, found.path, powers);
    if (chosen.configs !== null && config === null) throw noConfig(name, chosen.configs);
    const command = await commandOf(name, powers);
    const targets = await targetsOf(name, found.path, isFolder, config, powers);
    const argv = chosen.argv(targets[0] ?? "", fix && chosen.fixes);
    const workspace = fix && chosen.fixes ? "rw" : "ro";
    const ended = await powers.process.run({
      argv: [...command, ...argv, ...targets.slice(1)],
      workspace,
      packages: "read",
      inlineBytes: 10_485_760,
    });
    const report = await powers.compute.run(
      "lintReport",
      name,
      ended.stdout,
      "/workspace",
      MAX_ISSUES,
    );
    // Exit 1 means issues everywhere; 2 and above that the linter itself failed.
    if (
      report === null ||
      (ended.exitCode !== 0 &&
        report.issues.length === 0 &&
        (ended.exitCode !== 1 || name !== "mypy"))
    )
      throw toolError(
        "linter_failed",
        `${name} ended with ${ended.exitCode}: ${cutToBytes(ended.stderr.trim() || ended.stdout.trim(), 800)}`,
        { remedy: "mend its configuration; the text is the linter's own" },
      );
    const counts = { error: report.errors, warning: report.warnings };
    context.note({ filesTouched: ended.filesWritten.map((one) => one.path) });
    return {
      linter: name,
      version: await versionOf(name, command, powers),
      ok: counts.error === 0,
      issues: [...report.issues],
      counts,
      ...(fix ? { fixed: ended.filesWritten.length } : {}),
      truncated: report.errors + report.warnings > MAX_ISSUES || ended.truncated,
    };
  },
});

/** By the type of the file, and by the configuration beside it or above. */
async function choose(path: string, isFolder: boolean, powers: Powers): Promise<LinterName> {
  for (const name of NAMES) {
    const { configs, takes } = LINTERS[name];
    if (!isFolder && !takes.test(path)) continue;
    if (configs !== null) {
      if ((await configOf(LINTERS[name], path, powers)) !== null) return name;
    } else if (!isFolder || (await holds(path, takes, powers))) {
      // Of two that need no configuration the one that is installed.
      if (name !== "ruff" || (await commandFor(name, powers)) !== null) return name;
    }
  }
  throw noConfig(
    "auto",
    NAMES.flatMap((name) => LINTERS[name].configs?.slice(0, 1) ?? []),
  );
}

async function holds(folder: string, takes: RegExp, { files }: Powers): Promise<boolean> {
  const { entries } = await files.list(folder, {
    depth: 4,
    includeHidden: false,
    maxEntries: 1,
    accept: (entry) => entry.type === "file" && takes.test(entry.path),
  });
  return entries.length > 0;
}

async function configOf(
  { configs }: Linter,
  path: string,
  { files }: Powers,
): Promise<string | null> {
  const parts = path.split("/");
  for (let depth = path === "." ? 0 : parts.length; depth >= 0; depth--) {
    const folder = parts.slice(0, depth).join("/");
    for (const config of configs ?? []) {
      const candidate = folder === "" ? config : `${folder}/${config}`;
      if ((await files.stat(candidate).catch(() => null))?.type === "file") return candidate;
    }
  }
  return null;
}

async function commandFor(
  name: LinterName,
  { files, process: programs }: Powers,
): Promise<string[] | null> {
  const { installed, program, python } = LINTERS[name];
  if (installed !== undefined) {
    const main = `node_modules/${installed}`;
    return (await files.stat(main).catch(() => null)) ? ["node", `/workspace/${main}`] : null;
  }
  if (program !== undefined && (await programs.find(program)) !== null) return [program];
  if (python === undefined || (await programs.find("python3")) === null) return null;
  const tried = await programs.run({
    argv: ["python3", "-c", `import ${python}`],
    workspace: "none",
    packages: "read",
  });
  return tried.exitCode === 0 ? ["python3", "-m", python] : null;
}

async function commandOf(name: LinterName, powers: Powers): Promise<string[]> {
  const command = await commandFor(name, powers);
  if (command !== null) return command;
  const { installed, program } = LINTERS[name];
  throw toolError("linter_missing", `${name} is not installed`, {
    remedy:
      installed === undefined
        ? `install ${program} on the server, or with system/package_install`
        : `install it in the workspace: npm install --save-dev ${installed.split("/bin", 1)[0]}`,
  });
}

/** Shellcheck takes files only; tsc a project. */
async function targetsOf(
  name: LinterName,
  path: string,
  isFolder: boolean,
  config: string | null,
  { files }: Powers,
): Promise<string[]> {
  if (name === "tsc") return [`/workspace/${config}`];
  if (name !== "shellcheck" || !isFolder)
    return [path === "." ? "/workspace" : `/workspace/${path}`];
  const { entries } = await files.list(path, {
    depth: 10,
    includeHidden: false,
    maxEntries: MAX_SCRIPTS,
    accept: (entry) => entry.type === "file" && LINTERS.shellcheck.takes.test(entry.path),
  });
  if (entries.length === 0)
    throw toolError("no_config", `there are no shell scripts in ${quote(path)}`, {
      remedy: "name a file, or another linter",
    });
  return entries.map((entry) => `/workspace/${entry.path}`);
}

async function versionOf(
  name: LinterName,
  command: readonly string[],
  { files, process: programs }: Powers,
): Promise<string> {
  const { installed } = LINTERS[name];
  if (installed !== undefined) {
    const folder = installed
      .split("/")
      .slice(0, installed.startsWith("@") ? 2 : 1)
      .join("/");
    const { bytes } = await files.read(`node_modules/${folder}/package.json`, {
      maxBytes: 1_048_576,
    });
    return /"version"\s*:\s*"([^"]+)"/.exec(new TextDecoder().decode(bytes))?.[1] ?? "unknown";
  }
  const { stdout } = await programs.run({
    argv: [...command, "--version"],
    workspace: "none",
    packages: "read",
  });
  return /\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? "unknown";
}

function noConfig(name: string, configs: readonly string[]): Error {
  return toolError(
    "no_config",
    name === "auto"
      ? "no linter is configured for this path"
      : `${name} has no configuration for this path`,
    {
      remedy: `add one of ${configs.slice(0, 4).join(", ")}, or name another linter`,
    },
  );
}
