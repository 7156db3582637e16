// One entry in a file of another program: everything around it stays unchanged, or the file is not written.
import { isDeepStrictEqual } from "node:util";
import {
  applyEdits,
  findNodeAtLocation,
  modify,
  parse,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { failed } from "../client/fail.ts";
import type { Client } from "../../util/ai-clients/clients.ts";
import { tableOf } from "../../util/ai-clients/snippet.ts";

type Tree = Record<string, unknown>;

export interface ConfigFile {
  readonly path: string;
  readonly client: Pick<Client, "format" | "at">;
}

/** The entry as it is now; undefined when there is none. Throws when the file cannot be read. */
export function entryIn(file: ConfigFile, text: string): unknown {
  return file.client.at.reduce<unknown>(
    (tree, key) => (isTree(tree) ? tree[key] : undefined),
    treeOf(file, text),
  );
}

export function withEntry(file: ConfigFile, text: string, entry: Tree): string {
  const before = treeOf(file, text);
  const { format, at } = file.client;
  const next =
    format === "toml"
      ? `${spaced(withoutTable(text, at))}${tableOf(at, entry)}`
      : jsonWith(text, at, entry);
  return checked(file, next, changed(before, at, entry));
}

export function withoutEntry(file: ConfigFile, text: string): string {
  const before = treeOf(file, text);
  const { format, at } = file.client;
  const next = format === "toml" ? withoutTable(text, at) : jsonWith(text, at, undefined);
  return checked(file, next, changed(before, at, undefined));
}

/** What was meant is what came out, and nothing else; otherwise it is not written. */
function checked(file: ConfigFile, text: string, wanted: Tree): string {
  let tree: Tree | null;
  try {
    tree = treeOf(file, text);
  } catch {
    tree = null;
  }
  if (
    tree !== null &&
    isDeepStrictEqual(withoutEmpty(tree, file.client.at), withoutEmpty(wanted, file.client.at))
  )
    return text;
  throw failed(
    "not_editable",
    `${file.path} cannot be changed without touching the rest of it.`,
    "add the entry by hand: ostiary connect <client> --print",
  );
}

/** The table around the entry may stay behind empty. */
function withoutEmpty(tree: Tree, [outer = ""]: readonly string[]): Tree {
  const { [outer]: inner, ...rest } = tree;
  return isTree(inner) && Object.keys(inner).length > 0 ? { ...rest, [outer]: { ...inner } } : rest;
}

function changed(
  tree: Tree,
  [outer = "", name = ""]: readonly string[],
  entry: Tree | undefined,
): Tree {
  const { [name]: _former, ...others } = isTree(tree[outer]) ? tree[outer] : {};
  return { ...tree, [outer]: entry === undefined ? others : { ...others, [name]: entry } };
}

function treeOf({ path, client }: ConfigFile, text: string): Tree {
  const broken = (why: string) =>
    failed(
      "broken_file",
      `${path} is not ${client.format === "toml" ? "TOML" : "JSON"}: ${why}. It was not touched.`,
      "repair it, then connect again",
    );
  if (text.trim() === "") return {};
  if (client.format === "toml") {
    try {
      return plain(parseToml(text)) as Tree;
    } catch (cause) {
      throw broken((cause as Error).message.split("\n", 1)[0] ?? "");
    }
  }
  const errors: ParseError[] = [];
  const tree: unknown = parse(text.replace(/^\ufeff/, ""), errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error)
    throw broken(
      `${printParseErrorCode(error.error)} in line ${text.slice(0, error.offset).split("\n").length}`,
    );
  if (!isTree(tree)) throw broken("expected an object");
  const outer = tree[client.at[0] ?? ""];
  if (outer !== undefined && !isTree(outer)) throw broken(`${client.at[0]}: expected an object`);
  return tree;
}

/** Only the entry's own characters come or go: what stands beside it keeps its form, comments and commas. */
function jsonWith(text: string, at: readonly string[], entry: Tree | undefined): string {
  const path = [...at];
  const root = parseTree(text);
  if (entry === undefined) return applyEdits(text, modify(text, path, undefined, {}));
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const written = (value: unknown, indent: string): string =>
    JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);
  if (!root) return `${written({ [at[0] ?? ""]: { [at[1] ?? ""]: entry } }, "")}${eol}`;
  const former = findNodeAtLocation(root, path);
  if (former)
    return replaced(text, former, written(entry, indentAt(text, former.parent?.offset ?? 0)));
  const outer = findNodeAtLocation(root, path.slice(0, 1));
  const [around, name, value] = outer
    ? [outer, at[1], entry]
    : [root, at[0], { [at[1] ?? ""]: entry }];
  const last = around.children?.at(-1);
  const indent = last ? indentAt(text, last.offset) : `${indentAt(text, around.offset)}${unit}`;
  const added = `${eol}${indent}${JSON.stringify(name)}: ${written(value, indent)}`;
  if (last) return inserted(text, last.offset + last.length, `,${added}`);
  const isBare = /^\{\s*\}$/.test(text.slice(around.offset, around.offset + around.length));
  return isBare
    ? replaced(text, around, `{${added}${eol}${indentAt(text, around.offset)}}`)
    : inserted(text, around.offset + 1, added);
}

const inserted = (text: string, at: number, more: string): string =>
  text.slice(0, at) + more + text.slice(at);
const replaced = (text: string, { offset, length }: Node, by: string): string =>
  text.slice(0, offset) + by + text.slice(offset + length);

/** Of the line that a place is in. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? "";
}

/** A blank line before what is added. */
function spaced(text: string): string {
  if (text.trim() === "") return text;
  return text.endsWith("\n\n") ? text : text.endsWith("\n") ? `${text}\n` : `${text}\n\n`;
}

/** From its head to the next one. */
function withoutTable(text: string, at: readonly string[]): string {
  const [outer = "", name = ""] = at;
  const own = new RegExp(`^\\s*\\[\\s*${outer}\\s*\\.\\s*"?${name}"?\\s*(?:\\..*)?\\]`);
  let inside = false;
  const kept = text.split("\n").filter((line) => {
    if (/^\s*\[/.test(line)) inside = own.test(line);
    return !inside;
  });
  return kept.join("\n");
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Tables of the parser have no prototype, which would count as a difference. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isTree(value) || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
