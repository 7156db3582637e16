// Errors of policies as people read them, and values as JSON that keeps every digit.
import { RegoObject, RegoSet, Num, keyText } from "@ostiary/rego/values";
import type { LoadError, Value } from "@ostiary/rego";
import type { Cli } from "../cli.ts";

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

type Texts = Readonly<Record<string, string>>;

const MAX_WIDTH = 120;

export function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `file:line:column: code: message`, the line, and a caret under the column. */
export function errorLines(error: LoadError, texts: Texts): string[] {
  const head = `${placeText(error)}: ${error.code}: ${error.message}`;
  const text = Object.hasOwn(texts, error.file) ? texts[error.file] : undefined;
  const line = text?.split(/\r?\n/)[error.line - 1];
  if (line === undefined || line.trim() === "") return [head];
  // Of a very long line only the part around the column.
  const from = Math.max(0, Math.min(error.column - MAX_WIDTH / 2, line.length - MAX_WIDTH));
  const shown = plain(line.slice(from, from + MAX_WIDTH));
  const before = shown.slice(0, Math.max(0, error.column - 1 - from));
  return [head, `    ${shown}`, `    ${before.replace(/[^\t]/g, " ")}^`];
}

/** Ends the command: the policies do not load. */
export function showLoadErrors(cli: Cli, errors: readonly LoadError[], texts: Texts): void {
  cli.exitCode = 1;
  if (cli.flags.json) return cli.term.printJson({ valid: false, errors });
  for (const error of errors) for (const line of errorLines(error, texts)) cli.term.warn(line);
  cli.term.warn(`${cli.term.err.red("✗")} ${counted(errors.length, "error")}`);
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Not yet in the library of the compiler. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** For JSON.stringify: sets are arrays, keys are text, numbers keep all their digits. */
export function exactJson(value: Value): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Num) return rawJSON(value.text);
  if (value instanceof RegoSet) return value.items().map(exactJson);
  if (!(value instanceof RegoObject)) return value.map(exactJson);
  // A key may be __proto__; fromEntries defines it like any other.
  return Object.fromEntries(value.entries().map(([key, item]) => [keyText(key), exactJson(item)]));
}

/** Policies may come from anywhere: nothing in them steers the terminal. */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, "\ufffd");
}
