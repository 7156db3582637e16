// Programs that some tools need. None is required: without one those tools answer UNAVAILABLE.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { DoctorFinding } from "./finding.ts";

const run = promisify(execFile);

interface Program {
  readonly name: string;
  /** The first that answers `--version` counts. */
  readonly commands: readonly string[];
  readonly without: string;
  readonly apt: string;
  readonly brew: string | null;
}

const PROGRAMS: readonly Program[] = [
  {
    name: "bubblewrap",
    commands: ["bwrap"],
    without: "tools that need a sandbox are refused",
    apt: "bubblewrap",
    brew: null,
  },
  {
    name: "ripgrep",
    commands: ["rg"],
    without: "searching files is slower",
    apt: "ripgrep",
    brew: "ripgrep",
  },
  {
    name: "chromium",
    commands: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    without: "browser tools are not available",
    apt: "chromium",
    brew: "--cask chromium",
  },
  {
    name: "git",
    commands: ["git"],
    without: "git tools are not available",
    apt: "git",
    brew: "git",
  },
];

export async function checkPrograms(): Promise<DoctorFinding[]> {
  // On macOS the sandbox is part of the system.
  const wanted = PROGRAMS.filter(
    ({ name }) => name !== "bubblewrap" || process.platform === "linux",
  );
  const installer = await findInstaller();
  return Promise.all(wanted.map((program) => checkProgram(program, installer)));
}

async function checkProgram(program: Program, installer: Installer | null): Promise<DoctorFinding> {
  const { name } = program;
  for (const command of program.commands) {
    const version = await versionOf(command);
    if (version !== null) return { name, status: "ok", detail: version };
  }
  const detail = `not installed; ${program.without}`;
  const words = installer?.(program) ?? null;
  if (words === null) return { name, status: "missing", detail };
  return {
    name,
    status: "missing",
    detail,
    fix: words.join(" "),
    repair: async () => {
      const [file = "", ...args] = words;
      await run(file, args, { timeout: 600_000 });
    },
  };
}

async function versionOf(command: string): Promise<string | null> {
  try {
    const { stdout } = await run(command, ["--version"], { timeout: 5000 });
    return stdout.split("\n", 1)[0]?.trim() || command;
  } catch (cause) {
    // A program that is there but fails on --version is still there.
    return (cause as NodeJS.ErrnoException).code === "ENOENT" ? null : command;
  }
}

type Installer = (program: Program) => string[] | null;

async function findInstaller(): Promise<Installer | null> {
  if (process.platform === "darwin") {
    if ((await versionOf("brew")) === null) return null;
    return ({ brew }) => (brew === null ? null : ["brew", "install", ...brew.split(" ")]);
  }
  if (process.platform !== "linux" || (await versionOf("apt-get")) === null) return null;
  const root = process.getuid?.() === 0;
  if (!root && (await versionOf("sudo")) === null) return null;
  return ({ apt }) => [...(root ? [] : ["sudo"]), "apt-get", "install", "-y", apt];
}
