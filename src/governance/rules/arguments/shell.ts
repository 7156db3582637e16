// Takes a line of shell apart into the simple commands that it would run. Nothing is decided here.
import {
  forEachChild,
  parse,
  type Assignment,
  type Command,
  type Redirection,
  type SyntaxNode,
  type Word as ShellWord,
} from "unbash";
import { assignedText, isLiteral } from "../../../util/shell-words.ts";

/** A word of a command; `value` is null when only the shell could say what it becomes. */
export interface Word {
  readonly text: string;
  readonly value: string | null;
}

export interface Redirect {
  readonly access: "read" | "write";
  readonly target: Word;
}

export interface SimpleCommand {
  /** As written, for messages. */
  readonly text: string;
  /** Null: only assignments or redirections. */
  readonly name: Word | null;
  readonly args: readonly Word[];
  readonly variables: readonly string[];
  readonly redirects: readonly Redirect[];
}

export interface ShellText {
  readonly commands: readonly SimpleCommand[];
  /** Why it is not understood; such a text must be refused. */
  readonly notUnderstood: string | null;
  /** What is more than plain commands joined by | && || ; and line ends, if anything. */
  readonly beyondPlain: string | null;
}

/** Parsing takes time with the square of some texts; scripts are not judged here. */
const MAX_CHARS = 8_192;
/** Deeper nesting than real commands have. */
const MAX_DEPTH = 200;
const PLAIN: ReadonlySet<string> = new Set([
  "Script",
  "Statement",
  "AndOr",
  "Pipeline",
  "Command",
  "Word",
  "Literal",
  "SingleQuoted",
  "DoubleQuoted",
  "Redirect",
  "FileDescriptor",
  "Assignment",
]);
/** Targets of redirections that are no files. */
const HARMLESS: ReadonlySet<string> = new Set([
  "/dev/null",
  "/dev/stdin",
  "/dev/stdout",
  "/dev/stderr",
]);

export function takeApart(text: string): ShellText {
  if (text.length > MAX_CHARS) return refused(`it is longer than ${MAX_CHARS} characters`);
  // Shells differ in what they make of control characters.
  if (/[\p{Cc}--[\n\t]]/v.test(text)) return refused("it holds control characters");
  const walk = new Walk(text);
  walk.visit(parse(text), 0);
  if (walk.notUnderstood === null && walk.commands.length === 0)
    return refused("it holds no command");
  const selfCall = walk.notUnderstood ?? callsItself(walk);
  return { commands: walk.commands, notUnderstood: selfCall, beyondPlain: walk.beyondPlain };
}

const refused = (notUnderstood: string): ShellText => ({
  commands: [],
  notUnderstood,
  beyondPlain: null,
});

class Walk {
  readonly commands: SimpleCommand[] = [];
  readonly functions: { readonly name: string; readonly first: number; readonly last: number }[] =
    [];
  notUnderstood: string | null = null;
  beyondPlain: string | null = null;
  /** Positions of a nested script count in its own text. */
  #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  visit(node: SyntaxNode, depth: number): void {
    if (depth > MAX_DEPTH) this.notUnderstood ??= "it is nested too deeply";
    if (this.notUnderstood !== null) return;
    if (!PLAIN.has(node.type)) this.beyondPlain ??= node.type;
    const outer = this.#source;
    if (node.type === "Script") {
      const [error] = node.errors ?? [];
      if (error) this.notUnderstood ??= error.message;
      this.#source = node.source ?? outer;
    } else if (node.type === "Statement" && node.background) this.beyondPlain ??= "Background";
    else if (node.type === "Unknown") this.notUnderstood ??= "an expansion is not known";
    else if (isSubstitution(node) && node.script === undefined)
      this.notUnderstood ??= `${node.text} cannot be read`;
    else if (node.type === "Command") this.commands.push(this.#simple(node));
    else if (node.type === "Redirected")
      this.#redirected(node.redirects, this.#source.slice(node.pos, node.end));
    const first = this.commands.length;
    forEachChild(node, (child) => this.visit(child, depth + 1));
    if (node.type === "Function")
      this.functions.push({ name: node.name.value, first, last: this.commands.length });
    this.#source = outer;
  }

  #simple(node: Command): SimpleCommand {
    const args: Word[] = [];
    const variables: string[] = [];
    for (const part of node.prefix) if (part.type === "Assignment") variables.push(part.name);
    for (const part of node.args) {
      // `export X=1` names a variable too.
      if (part.type === "Assignment") variables.push(part.name);
      args.push(part.type === "Assignment" ? assignmentOf(part) : wordOf(part));
    }
    const text = this.#source.slice(node.pos, node.end);
    const redirects = this.#redirects(node.redirects);
    return { text, name: node.name ? wordOf(node.name) : null, args, variables, redirects };
  }

  /** Redirections of a whole block: a command without a name. */
  #redirected(redirections: readonly Redirection[], text: string): void {
    this.commands.push({
      text,
      name: null,
      args: [],
      variables: [],
      redirects: this.#redirects(redirections),
    });
  }

  #redirects(redirections: readonly Redirection[]): Redirect[] {
    return redirections.flatMap((redirection) => {
      if (redirection.type !== "Redirect") return []; // text in place of a file
      const { operator } = redirection;
      if (!redirection.target) {
        this.notUnderstood ??= `${operator} names no file`;
        return [];
      }
      const target = wordOf(redirection.target);
      const isDescriptor =
        operator.includes("&") && target.value !== null && /^(\d+-?|-)$/.test(target.value);
      if (isDescriptor || (target.value !== null && HARMLESS.has(target.value))) return [];
      return [{ access: operator === "<" ? "read" : "write", target } as const];
    });
  }
}

function isSubstitution(node: SyntaxNode): node is SyntaxNode & { script: unknown; text: string } {
  return (
    node.type === "CommandExpansion" ||
    node.type === "ProcessSubstitution" ||
    node.type === "ArithmeticCommandExpansion"
  );
}

function wordOf(word: ShellWord): Word {
  return { text: word.text, value: isLiteral(word) ? word.value : null };
}

function assignmentOf(assignment: Assignment): Word {
  return { text: assignment.text, value: assignedText(assignment) };
}

/** A function that calls a function of the same text may never end: a fork bomb. */
function callsItself({ commands, functions }: Walk): string | null {
  const names = new Set(functions.map(({ name }) => name));
  for (const { name, first, last } of functions) {
    for (const command of commands.slice(first, last))
      if (command.name && names.has(command.name.value ?? command.name.text))
        return `the function ${name} calls ${command.name.text}`;
  }
  return null;
}
