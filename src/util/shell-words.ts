// Splits one command into its words the way a shell would, without anything that only a shell could do.
import { parse, type Assignment, type Word } from "unbash";

/** Parsing takes time with the square of some texts. */
const MAX_CHARS = 8_192;

export type Split = { readonly argv: readonly string[] } | { readonly wrong: string };

export function splitCommand(text: string): Split {
  if (text.length > MAX_CHARS) return { wrong: `it is longer than ${MAX_CHARS} characters` };
  if (/[\p{Cc}--[\n\t]]/v.test(text)) return { wrong: "it holds control characters" };
  const script = parse(text);
  const [error] = script.errors ?? [];
  if (error) return { wrong: error.message };
  const [statement, second] = script.commands;
  if (!statement) return { wrong: "it holds no command" };
  if (second) return { wrong: "it holds several commands (; or a line end)" };
  if (statement.background) return { wrong: "& starts something in the background" };
  const { command } = statement;
  if (command.type !== "Command")
    return { wrong: `it holds ${NAMES[command.type] ?? "shell syntax"}` };
  if (command.redirects.length > 0) return { wrong: "< and > redirect" };
  if (command.prefix.length > 0)
    return { wrong: "it sets variables in front of the program (give them as env)" };
  if (!command.name) return { wrong: "it names no program" };
  const words = [command.name, ...command.args].map(valueOf);
  const open = words.find((word) => typeof word !== "string");
  if (open) return { wrong: `what ${open.text} becomes only a shell knows` };
  return { argv: words as string[] };
}

const NAMES: Partial<Record<string, string>> = {
  Pipeline: "| or !",
  AndOr: "&& or ||",
  Subshell: "( )",
  BraceGroup: "{ }",
};

function valueOf(word: Word | Assignment): string | { text: string } {
  if (word.type === "Assignment") return assignedText(word) ?? { text: word.text };
  return isLiteral(word) ? word.value : { text: word.text };
}

/** `NAME=value` where that is written out; else null. */
export function assignedText({ name, value, append, index }: Assignment): string | null {
  const isPlain = value.type === "Word" && !append && !index && isLiteral(value);
  return isPlain ? `${name}=${value.value}` : null;
}

/** Written out: no expansion, no wildcard, no other user's home. */
export function isLiteral(word: Word): boolean {
  if (/^~(?!$|\/)/.test(word.text)) return false;
  return (word.parts ?? []).every(
    (part) =>
      part.type === "Literal" ||
      part.type === "SingleQuoted" ||
      (part.type === "DoubleQuoted" && part.parts.every((inner) => inner.type === "Literal")),
  );
}
