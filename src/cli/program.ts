// Reads the command line, loads the one command it names, and turns every failure into words and an exit code.
import { Command, CommanderError, type Option } from "commander";
import { nearest } from "../util/text/nearest.ts";
import { VERSION } from "../util/version.ts";
import type { Cli, GlobalFlags, Streams } from "./cli.ts";
import { COMMANDS, DEFAULT_COMMAND, type CommandEntry } from "./commands.ts";
import { examplesOf } from "./examples.ts";
import { CliError, failed, fromFault, usage } from "./client/fail.ts";
import { openTerminal } from "./output/terminal.ts";

const FOOTER = `
Exit codes: 0 success · 1 failed · 2 usage · 3 denied · 4 approval pending · 5 rate limit or budget
Every command has --help. Without a command the server starts.`;

export async function runCli(argv: string[], streams: Streams): Promise<number> {
  const cli = openCli(argv, streams);
  // A reader that has seen enough (`| head`) is no failure, and no reason to stop a server.
  for (const stream of [streams.stdout, streams.stderr])
    stream.on("error", () => cli.keepsRunning || process.exit(0));
  try {
    const program = newProgram(streams);
    const words = argv[0] === "help" ? [...argv.slice(1), "--help"] : argv;
    await defineCommand(program, chosen(words, program), cli);
    await program.parseAsync(words, { from: "user" });
    return cli.exitCode;
  } catch (cause) {
    return report(cause, cli);
  }
}

function openCli(argv: string[], streams: Streams): Cli {
  const cli: Cli = {
    ...streams,
    exitCode: 0,
    keepsRunning: false,
    flags: early(argv),
    get term() {
      return openTerminal(streams, cli.flags);
    },
    async connect(need = "caller") {
      const { connect } = await import("./client/client.ts");
      return connect(cli, need);
    },
    async tree() {
      const program = newProgram(streams);
      for (const entry of COMMANDS) await defineCommand(program, entry, cli);
      return program;
    },
  };
  return cli;
}

/** Before the line is parsed, so that even a parse error honours these. */
function early(argv: string[]): GlobalFlags {
  const end = argv.indexOf("--");
  const words = new Set(end < 0 ? argv : argv.slice(0, end));
  const verbose = words.has("--verbose") || words.has("-v");
  return { json: words.has("--json"), color: !words.has("--no-color"), verbose };
}

function newProgram(streams: Streams): Command {
  const program = new Command("ostiary")
    .description("The doorkeeper between AI agents and the tools they use.")
    .usage("[command] [options]")
    .option("--json", "one JSON document on stdout, the API object unchanged")
    .option(
      "--server <url>",
      "the server to talk to (default: the one that owns the data directory)",
    )
    .option("--key <ref>", "API key by reference: env:NAME or file:PATH")
    .option("--data-dir <folder>", "data directory (OSTIARY_DATA_DIR, default ~/.ostiary)")
    .option("-q, --quiet", "no words for people, only results and errors")
    .option("-v, --verbose", "say what is sent where")
    .option("--no-color", "plain text (also NO_COLOR)")
    .option("-y, --yes", "answer every question with yes")
    .version(VERSION, "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .configureHelp({ showGlobalOptions: true })
    .helpCommand(false)
    .addHelpText("after", FOOTER)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: () => undefined, // printed once, by `report`
    });
  for (const { name, summary } of COMMANDS)
    program.command(name, { isDefault: name === DEFAULT_COMMAND }).description(summary);
  return program;
}

/** The command the words name; without one the default, and null when only general help is wanted. */
function chosen(words: string[], program: Command): CommandEntry | null {
  const word = firstOperand(words, program);
  const named = COMMANDS.find(({ name }) => name === (word ?? DEFAULT_COMMAND));
  if (named === undefined) throw unknownCommand(word ?? "");
  return word === null && words.some((each) => each === "--help" || each === "-h") ? null : named;
}

/** The first word that is neither a flag nor the value of a global flag. */
function firstOperand(words: string[], program: Command): string | null {
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "--") return null;
    if (!word.startsWith("-")) return word;
    const option = program.options.find((each) => isFlag(each, word.split("=", 1)[0]));
    // A flag of the default command: what follows may be its value.
    if (option === undefined && word.startsWith("--") && !word.includes("=")) return null;
    if (option?.required && !word.includes("=")) i++;
  }
  return null;
}

const isFlag = (option: Option, word: string | undefined) =>
  word === option.long || word === option.short;

async function defineCommand(
  program: Command,
  entry: CommandEntry | null,
  cli: Cli,
): Promise<void> {
  const command = program.commands.find((each) => each.name() === entry?.name);
  if (!entry || !command) return;
  (await entry.load()).define(command, cli);
  command.addHelpText("after", examplesOf(entry.name));
  program.hook("preAction", () => {
    cli.flags = program.opts<GlobalFlags>();
  });
}

function unknownCommand(word: string): CliError {
  const guess = nearest(
    word,
    COMMANDS.map(({ name }) => name),
  );
  return usage(
    `unknown command ${JSON.stringify(word)}`,
    guess === null ? "ostiary --help lists the commands" : `did you mean ostiary ${guess}?`,
  );
}

async function report(cause: unknown, cli: Cli): Promise<number> {
  if (cause instanceof CommanderError && cause.exitCode === 0) return 0;
  const error = asCliError(cause);
  const { term } = cli;
  if (error.problem.reason === "unexpected") term.trace((cause as Error).stack ?? "");
  if (cli.flags.json) term.printJson(error.problem);
  else {
    const { problemLines } = await import("./output/render.ts");
    for (const line of problemLines(error.problem, term.err, error.hint)) term.warn(line);
  }
  return error.exit;
}

function asCliError(cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  if (cause instanceof CommanderError) return fromCommander(cause);
  if (!(cause instanceof Error)) return failed("unexpected", String(cause));
  if (cause.name === "ConfigError") {
    const { faults } = cause as Error & { faults: { where: string }[] };
    const flagsOnly = faults.every(({ where }) => where.startsWith("--"));
    const remedy = "correct these settings; docs/config.md lists them all";
    return new CliError(failed("invalid_config", cause.message, remedy).problem, flagsOnly ? 2 : 1);
  }
  return (
    fromFault(cause) ?? failed("unexpected", cause.message, "repeat with --verbose for details")
  );
}

function fromCommander(cause: CommanderError): CliError {
  const [first = "", second = ""] = cause.message.replace(/^error: /, "").split("\n");
  const guess = /Did you mean (.+)\?\)?$/.exec(second)?.[1];
  return usage(
    first,
    guess === undefined ? "--help shows what is understood" : `did you mean ${guess}?`,
  );
}
