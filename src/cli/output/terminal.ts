// Results go to stdout, messages for people to stderr; colour and questions only on a terminal.
import picocolors from "picocolors";
import type { Streams } from "../cli.ts";
import { usage } from "../client/fail.ts";

export interface TerminalFlags {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
  readonly yes?: boolean;
}

export type Colors = ReturnType<typeof picocolors.createColors>;

export interface Terminal {
  /** Colours for stdout and for stderr: plain functions when the stream is no screen. */
  readonly out: Colors;
  readonly err: Colors;
  /** A person can answer here. */
  readonly interactive: boolean;
  /** One line of the result, to stdout. */
  print(text: string): void;
  /** The one JSON document, or a line of NDJSON when `line` is set. */
  printJson(value: unknown, line?: "line"): void;
  /** A line for people, to stderr; silent with --quiet. */
  note(text: string): void;
  /** Only with --verbose. */
  trace(text: string): void;
  /** Always shown, to stderr. */
  warn(text: string): void;
  /** Yes or no; `--yes` answers it, and where nobody can be asked it is a usage error that names the flag. */
  confirm(question: string): Promise<boolean>;
  /** A line of text; where nobody can be asked it is a usage error that names the flag. */
  ask(question: string, flag: string, empty?: "may be empty"): Promise<string>;
  /** A secret, not shown while it is typed; only where a person can be asked. */
  askSecret(question: string): Promise<string>;
}

/** Set by coding agents and build machines: plain text, no colour, no questions. */
const MACHINES = [
  "CI",
  "AI_AGENT",
  "CLAUDECODE",
  "CLAUDE_CODE",
  "CURSOR_AGENT",
  "CURSOR_TRACE_ID",
  "GEMINI_CLI",
  "CODEX_SANDBOX",
  "CODEX_CI",
  "OPENCODE",
  "AIDER",
  "REPLIT_AGENT",
  "GITHUB_ACTIONS",
  "BUILD_NUMBER",
  "TF_BUILD",
];

export function runByMachine(env: NodeJS.ProcessEnv): boolean {
  return MACHINES.some(
    (name) => (env[name] ?? "") !== "" && env[name] !== "false" && env[name] !== "0",
  );
}

export function mayColor(
  stream: { isTTY?: boolean },
  env: NodeJS.ProcessEnv,
  flag: boolean | undefined,
): boolean {
  return (
    stream.isTTY === true &&
    flag !== false &&
    (env["NO_COLOR"] ?? "") === "" &&
    env["TERM"] !== "dumb" &&
    !runByMachine(env)
  );
}

export function openTerminal(streams: Streams, flags: TerminalFlags): Terminal {
  const { env, stdin, stdout, stderr } = streams;
  const interactive = stdin.isTTY && stderr.isTTY && !runByMachine(env);
  return {
    out: picocolors.createColors(mayColor(stdout, env, flags.color)),
    err: picocolors.createColors(mayColor(stderr, env, flags.color)),
    interactive,
    print: (text) => void stdout.write(`${text}\n`),
    printJson: (value, line) =>
      void stdout.write(`${JSON.stringify(value, null, line === "line" ? undefined : 2)}\n`),
    note: (text) => void (flags.quiet || stderr.write(`${text}\n`)),
    trace: (text) => void (flags.verbose && stderr.write(`${text}\n`)),
    warn: (text) => void stderr.write(`${text}\n`),
    async confirm(question) {
      if (flags.yes) return true;
      if (!interactive || flags.json)
        throw usage(`${question} Nobody can be asked here.`, "repeat with --yes");
      const { confirm, isCancel } = await import("@clack/prompts");
      const answer = await confirm({
        message: question,
        initialValue: false,
        input: stdin,
        output: stderr,
      });
      return !isCancel(answer) && answer;
    },
    async ask(question, flag, empty) {
      if (!interactive || flags.json)
        throw usage(`${question} Nobody can be asked here.`, `repeat with ${flag}`);
      const { isCancel, text } = await import("@clack/prompts");
      const answer = await text({
        message: question,
        input: stdin,
        output: stderr,
        validate: (line) => (empty || line?.trim() ? undefined : "something must stand here"),
      });
      if (isCancel(answer)) throw usage("nothing was changed", `repeat with ${flag}`);
      return (answer ?? "").trim();
    },
    async askSecret(question) {
      const { isCancel, password } = await import("@clack/prompts");
      const answer = await password({
        message: question,
        input: stdin,
        output: stderr,
        validate: (line) => (line ? undefined : "something must stand here"),
      });
      if (isCancel(answer)) throw usage("nothing was changed");
      return answer;
    },
  };
}
