// Judges every program that a command would start: by the file its name leads to, its options, operands and
// redirections.
import { basename, isAbsolute, join } from "node:path";
import { quote } from "../../../util/text/quote.ts";
import type { CommandVerdict } from "../../../contract/effect.ts";
import type { ArgumentFinding, Located, Refused, RuleSource } from "../governance.ts";
import { asked, denied, waived, type Judging } from "./finding.ts";
import { unexplained } from "./grammar.ts";
import { match, type Programs } from "./programs.ts";
import type { ShellText, SimpleCommand, Word } from "./shell.ts";

const MAX_WORDS = 1_000;
const TOO_MANY = `it has more than ${MAX_WORDS} words`;
/** Of the commands of one line. */
const MAX_SHOWN = 100;
const PARSED: RuleSource = { at: "built in", text: "a command that is not understood is refused" };
const WORKSPACE: RuleSource = {
  at: "built in",
  text: "rm -r never takes the workspace itself or anything outside it",
};

/** True when nobody need be asked about it. */
export async function judgeCommandLine(
  j: Judging,
  text: string,
  programs: Programs,
): Promise<boolean> {
  const { commands, notUnderstood, beyondPlain } = await readLine(text);
  if (notUnderstood !== null) {
    denied(j, {
      reason: "command_forbidden",
      value: text,
      message: `command ${quote(text)} is not understood: ${notUnderstood}`,
      suggestion: "write plain commands, one program and its arguments each",
      rule: PARSED,
    });
    return false;
  }
  const free = await judgeAll(j, commands, programs);
  if (free && beyondPlain !== null)
    ask(j, text, `it is more than plain commands (${beyondPlain})`, programs.rules.rule);
  return finish(j, text, free && beyondPlain === null, programs);
}

async function readLine(text: string): Promise<ShellText> {
  // The parser is loaded for the first command that is judged: most servers see none for long.
  const { takeApart } = await import("./shell.ts");
  const read = takeApart(text);
  const words = read.commands.reduce((count, { args }) => count + args.length, 0);
  return words > MAX_WORDS ? { ...read, notUnderstood: read.notUnderstood ?? TOO_MANY } : read;
}

/** A program and its arguments without a shell. */
export async function judgeArgv(
  j: Judging,
  argv: readonly string[],
  programs: Programs,
): Promise<boolean> {
  const text = argv.join(" ");
  const why = notUnderstoodIn(argv);
  if (why !== null) {
    const message = `command ${quote(text)} is not understood: ${why}`;
    denied(j, {
      reason: "command_forbidden",
      value: text,
      message,
      suggestion: "give the program first, then its arguments",
      rule: PARSED,
    });
    return false;
  }
  return finish(j, text, await judgeAll(j, [commandOf(argv)], programs), programs);
}

function notUnderstoodIn([name = "", ...args]: readonly string[]): string | null {
  if (name === "") return "it names no program";
  if ([name, ...args].some((word) => word.includes("\0"))) return "it holds NUL";
  return args.length > MAX_WORDS ? TOO_MANY : null;
}

function commandOf([name = "", ...args]: readonly string[]): SimpleCommand {
  const plain = (word: string): Word => ({ text: word, value: word });
  const text = [name, ...args].join(" ");
  return { text, name: plain(name), args: args.map(plain), variables: [], redirects: [] };
}

/** What the rules say to each command of a line by itself, for people. The line as a whole is judged by the others. */
export async function commandVerdicts(
  j: Omit<Judging, "findings">,
  given: string | readonly string[],
  programs: Programs,
): Promise<CommandVerdict[]> {
  const whole: ArgumentFinding[] = [];
  const judging = { ...j, findings: whole };
  if (typeof given === "string") await judgeCommandLine(judging, given, programs);
  else await judgeArgv(judging, given, programs);
  const text = typeof given === "string" ? given : given.join(" ");
  const verdicts: CommandVerdict[] = [];
  for (const command of await commandsIn(given)) {
    const findings: ArgumentFinding[] = [];
    await judgeOne({ ...j, findings }, command, programs);
    verdicts.push(verdictOf(command.text, findings, ruleWithout(j, programs)));
  }
  const messages = new Set(verdicts.map(({ message }) => message));
  const rest = whole.filter(({ kind, message }) => kind !== "waive" && !messages.has(message));
  // What is found in the line alone: that it is not understood, or more than plain commands.
  const line = rest.filter(({ value }) => value === text);
  return line.length > 0 && !verdicts.some((one) => one.text === text && one.verdict !== "run")
    ? [...verdicts, verdictOf(text, line, PARSED)]
    : verdicts;
}

/** None of what is not understood: the line as a whole is refused. */
async function commandsIn(given: string | readonly string[]): Promise<readonly SimpleCommand[]> {
  if (typeof given !== "string") return notUnderstoodIn(given) === null ? [commandOf(given)] : [];
  const { commands, notUnderstood } = await readLine(given);
  return notUnderstood === null ? commands.slice(0, MAX_SHOWN) : [];
}

/** Where nothing is found against a command. */
const ruleWithout = ({ subject }: Pick<Judging, "subject">, programs: Programs): RuleSource =>
  programs.listOf(subject.mode)?.rule ?? programs.rules.rule;

function verdictOf(
  text: string,
  findings: readonly ArgumentFinding[],
  without: RuleSource,
): CommandVerdict {
  const first = findings.find(({ kind }) => kind === "deny") ?? findings[0];
  if (!first || first.kind === "waive") return { text, verdict: "run", rule: without };
  return { text, verdict: first.kind, message: first.message, rule: first.rule };
}

async function judgeAll(
  j: Judging,
  commands: readonly SimpleCommand[],
  programs: Programs,
): Promise<boolean> {
  let free = true;
  for (const command of commands) free = (await judgeOne(j, command, programs)) && free;
  return free;
}

/** The lists speak of what is asked about because it starts programs, not of other classes. */
function finish(j: Judging, text: string, free: boolean, programs: Programs): boolean {
  const list = programs.listOf(j.subject.mode);
  const { effects, provider } = j.subject.tool;
  // What an upstream server starts runs outside our sandbox, so no run list applies to it.
  if (!free || !list || effects !== "system_dangerous" || provider !== "native") return false;
  const message = `every program of ${quote(text)} is on the run list of ${j.subject.mode}`;
  waived(j, { reason: "listed_command", value: text, message, suggestion: "", rule: list.rule });
  return true;
}

/** True when nothing was found against it; each refusal and each question is found once per command. */
async function judgeOne(j: Judging, command: SimpleCommand, programs: Programs): Promise<boolean> {
  const before = j.findings.length;
  judgeVariables(j, command, programs);
  await judgeRedirects(j, command, programs);
  if (command.name !== null) await judgeProgram(j, command, command.name, programs);
  return j.findings.length === before;
}

function judgeVariables(j: Judging, { variables, text }: SimpleCommand, programs: Programs): void {
  const { denied: never, free } = programs.rules.environment;
  for (const name of variables) {
    // http_proxy works like HTTP_PROXY.
    const rule = match(never, name.toUpperCase());
    if (rule) deny(j, text, `the variable ${name} may not be set`, rule, "leave the variable out");
    else if (match(free, name) === null)
      ask(j, text, `it sets the variable ${name}`, programs.rules.rule);
  }
}

/** Variables given beside a command: those that are not free are never covered by a list of programs. */
export function judgeEnvironment(
  j: Judging,
  names: readonly string[],
  programs: Programs,
): boolean {
  const { denied: never, free } = programs.rules.environment;
  const before = j.findings.length;
  for (const name of names) {
    const at = { ...j, at: `${j.at}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` };
    // http_proxy works like HTTP_PROXY.
    const rule = match(never, name.toUpperCase());
    if (rule)
      denied(at, {
        reason: "env_forbidden",
        value: name,
        message: `the variable ${quote(name)} may not be set`,
        suggestion: "leave the variable out; this rule has no exception",
        rule,
      });
    else if (match(free, name) === null)
      asked(at, {
        reason: "command_asks",
        value: name,
        message: `it sets the variable ${quote(name)}`,
        suggestion: "leave the variable out",
        rule: programs.rules.rule,
      });
  }
  return j.findings.length === before;
}

async function judgeRedirects(
  j: Judging,
  { redirects, text }: SimpleCommand,
  programs: Programs,
): Promise<void> {
  for (const { access, target } of redirects) {
    if (target.value === null) {
      ask(j, text, `where ${target.text} leads is not written out`, programs.rules.rule);
      continue;
    }
    const pathRules = await j.pathRules();
    const found = await pathRules.locate(placed(j, target.value), access);
    if (!found.ok) refusePath(j, target.value, found);
    else if (
      access === "write" &&
      !(j.subject.mode === "NORMAL" && pathRules.unattended(found.path))
    )
      ask(j, text, `it writes ${quote(found.shown)}`, programs.rules.rule);
  }
}

async function judgeProgram(
  j: Judging,
  command: SimpleCommand,
  name: Word,
  programs: Programs,
): Promise<void> {
  const { text, args } = command;
  if (name.value === null)
    return deny(
      j,
      text,
      `which program ${name.text} is, is not written out`,
      PARSED,
      "write the program's name",
    );
  const never = programs.deniedBy(basename(name.value));
  if (never)
    return deny(
      j,
      text,
      `${basename(name.value)} is never run`,
      never,
      "use a program that needs no other rights",
    );
  if (refusesArguments(j, command, basename(name.value), programs)) return;
  const listName = programs.listName(name.value);
  const list = programs.listOf(j.subject.mode);
  const listed = listName !== null && list?.names.has(listName) === true;
  const before = j.findings.length;
  const reachesOut = await judgeOperands(j, command, basename(name.value), programs);
  if (j.findings.length > before) return;
  const rule = list?.rule ?? programs.rules.rule;
  if (!listed)
    return ask(j, text, `${name.value} is not on the run list of ${j.subject.mode}`, rule);
  const real = await programs.realName(listName);
  const realDenied = real === null ? null : programs.deniedBy(real);
  if (realDenied)
    return deny(
      j,
      text,
      `${listName} leads to ${real}, which is never run`,
      realDenied,
      "use another program",
    );
  if (real === null)
    return ask(j, text, `${listName} is in none of ${programs.rules.path.join(", ")}`, rule);
  if (!list?.names.has(real))
    return ask(j, text, `${listName} leads to ${real}, which is not on the run list`, rule);
  const open = args.find(({ value }) => value === null);
  if (open) return ask(j, text, `what ${open.text} becomes is not written out`, rule);
  if (reachesOut !== null)
    return ask(j, text, `${quote(reachesOut)} leads outside the workspace`, rule);
  const grammar = programs.grammarOf(listName);
  if (grammar === null)
    return ask(
      j,
      text,
      `nothing says which options of ${listName} are harmless (commands.grammar)`,
      rule,
    );
  const words = args.map(({ value }) => value).filter((value) => value !== null);
  const why = unexplained(words, grammar);
  if (why !== null) return ask(j, text, `${listName}: ${why}`, rule);
  const most = programs.rules.maxOperands.get(listName);
  const operands = words.filter((word) => !/^-./.test(word)).length;
  if (most !== undefined && operands > most)
    ask(j, text, `${listName} with more than ${most} operands may write`, rule);
}

/** Options and started programs that are refused whatever the lists say. */
function refusesArguments(
  j: Judging,
  { text, args }: SimpleCommand,
  name: string,
  programs: Programs,
): boolean {
  const end = args.findIndex(({ value }) => value === "--");
  const options = end < 0 ? args : args.slice(0, end);
  for (const { value: option, rule } of programs.rules.deniedOptions.get(name) ?? []) {
    if (!options.some(({ value }) => value !== null && isOption(value, option))) continue;
    deny(j, text, `${name} ${option} is refused`, rule, `leave ${option} out`);
    return true;
  }
  if (!programs.rules.starters.has(name)) return false;
  for (const { value } of args) {
    // What is not written out is asked about.
    const program = value === null ? "" : basename(value);
    const rule = programs.deniedBy(program);
    if (!rule) continue;
    deny(
      j,
      text,
      `${name} would start ${program}, which is never run`,
      rule,
      "use another program",
    );
    return true;
  }
  return false;
}

/** `--out` is short for `--output`, and `-nofile` holds `-o`: what might be the option counts as it. */
function isOption(word: string, option: string): boolean {
  if (!option.startsWith("--")) return /^-[^-]/.test(word) && word.includes(option.slice(1), 1);
  const [name = ""] = word.split("=");
  return name.length > 2 && option.startsWith(name);
}

/** Finds forbidden paths among the operands of programs that take files; answers one that is merely not allowed. */
async function judgeOperands(
  j: Judging,
  { text, args }: SimpleCommand,
  name: string,
  programs: Programs,
): Promise<string | null> {
  if (!programs.isListed(name) && !programs.rules.fileOperands.has(name)) return null;
  const recursive =
    name === "rm" &&
    args.some(
      ({ value }) =>
        value !== null &&
        (isOption(value, "-r") || isOption(value, "-R") || isOption(value, "--recursive")),
    );
  let outside: string | null = null;
  for (const path of args.flatMap(({ value }) => (value === null ? [] : pathsIn(value)))) {
    const found = await (await j.pathRules()).locate(placed(j, path), "read");
    if (recursive && takesTooMuch(found)) {
      deny(
        j,
        text,
        `${quote(path)} is not below the workspace`,
        WORKSPACE,
        "name what is to be removed inside the workspace",
      );
      return null;
    }
    if (!found.ok && found.reason === "path_forbidden") {
      refusePath(j, path, found);
      return null;
    }
    if (!found.ok) outside ??= path;
  }
  return outside;
}

/** Relative paths start from the folder that the program is started in. */
function placed({ from }: Judging, path: string): string {
  return from === undefined || isAbsolute(path) || /^(~|\$HOME)/.test(path)
    ? path
    : join(from, path);
}

const takesTooMuch = (found: Located | Refused): boolean => !found.ok || found.shown === ".";

/** What an argument may name as a path: itself, the value of an option, the right side of `of=file`. */
function pathsIn(word: string): string[] {
  if (word === "" || word === "-" || word === "--") return [];
  const value = /^[^=]*=(.*)$/s.exec(word)?.[1];
  if (!word.startsWith("-")) return value ? [word, value] : [word];
  if (value !== undefined) return value === "" ? [] : [value];
  const at = word.search(/\/|~|\.\./);
  return at < 0 ? [] : [word.slice(at)];
}

function refusePath(j: Judging, value: string, { reason, message, remedy, rule }: Refused): void {
  denied(j, {
    reason: reason === "path_not_found" ? "path_not_allowed" : reason,
    value,
    message,
    suggestion: remedy,
    rule,
  });
}

function deny(
  j: Judging,
  text: string,
  message: string,
  rule: RuleSource,
  suggestion: string,
): void {
  denied(j, {
    reason: "command_forbidden",
    value: text,
    message: `command ${quote(text)}: ${message}`,
    suggestion,
    rule,
  });
}

function ask(j: Judging, text: string, why: string, rule: RuleSource): void {
  const suggestion = "use a program of the run list, with its arguments written out";
  asked(j, {
    reason: "command_asks",
    value: text,
    message: `command ${quote(text)}: ${why}`,
    suggestion,
    rule,
  });
}
