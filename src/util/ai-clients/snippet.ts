// An entry as text, for people who put it into the configuration of their client themselves.
import type { Client } from "./clients.ts";

type Entry = Record<string, unknown>;

export function snippetOf({ format, at }: Pick<Client, "format" | "at">, entry: Entry): string {
  if (format === "toml") return tableOf(at, entry).trimEnd();
  const [outer = "", name = ""] = at;
  return JSON.stringify({ [outer]: { [name]: entry } }, null, 2);
}

export function tableOf(at: readonly string[], entry: Entry): string {
  const lines = Object.entries(entry).map(
    ([key, value]) =>
      `${key} = ${
        isTree(value)
          ? `{ ${Object.entries(value)
              .map(([name, text]) => `${JSON.stringify(name)} = ${JSON.stringify(text)}`)
              .join(", ")} }`
          : JSON.stringify(value)
      }`,
  );
  return `[${at.join(".")}]\n${lines.join("\n")}\n`;
}

function isTree(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A command for a POSIX shell. */
export const shellLine = (words: readonly string[]): string =>
  words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(" ");
