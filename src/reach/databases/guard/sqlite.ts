// The first lock of SQLite: how many statements a text holds, and what kind the first is. Reads tokens as SQLite does.
import { badArguments, notReadOnly, severalStatements, sqlError } from "../faults.ts";

const READING = new Set(["select", "with", "values"]);

/**
 * Throws unless the text is exactly one statement that begins like a reading one. The authorizer is the second lock.
 */
export function requireReading(sql: string): void {
  const nul = sql.indexOf("\0");
  // SQLite ends its text there, we would not.
  if (nul >= 0) throw sqlError("SQLITE_ERROR", "a NUL character", nul + 1);
  const statements = statementsOf(sql);
  const [first] = statements;
  if (first === undefined) throw sqlError("SQLITE_ERROR", "there is no statement", null);
  if (statements.length > 1) throw severalStatements(statements.length);
  const [word = "", ...rest] = first;
  if (READING.has(word)) return;
  if (word !== "explain") throw notReadOnly(shown(word));
  const inner = rest[0] === "query" && rest[1] === "plan" ? rest[2] : rest[0];
  if (inner === undefined || !READING.has(inner))
    throw notReadOnly(`EXPLAIN ${shown(inner ?? "")}`.trim());
}

const shown = (word: string): string => word.toUpperCase().slice(0, 40);

/** The first words of each statement that is not empty, lower case; what is no word counts as its character. */
export function statementsOf(sql: string): string[][] {
  const statements: string[][] = [];
  let current: string[] = [];
  const close = (): void => {
    if (current.length > 0) statements.push(current);
    current = [];
  };
  for (let at = 0; at < sql.length;) {
    const end = tokenEnd(sql, at);
    const token = sql.slice(at, end);
    if (token === ";") close();
    else if (!isBlank(token) && current.length < 4) current.push(token.toLowerCase());
    at = end;
  }
  close();
  return statements;
}

/** SQLite takes a missing value for NULL; here it is an error. */
export function requireParameters(sql: string, given: number): void {
  let wanted = 0;
  for (let at = 0; at < sql.length;) {
    const end = tokenEnd(sql, at);
    const token = sql.slice(at, end);
    if (/^[:@$#]./.test(token))
      throw badArguments(
        "/query",
        `named parameter ${token.slice(0, 64)}: only positional ones are offered`,
        "write ? or ?1 and give the values in order",
      );
    if (token === "?") wanted++;
    else if (token.startsWith("?")) wanted = Math.max(wanted, Number(token.slice(1)));
    at = end;
  }
  if (wanted !== given)
    throw badArguments(
      "/params",
      `expected ${wanted} values for the parameters of the statement, got ${given}`,
      "give one value for each ?",
    );
}

function isBlank(token: string): boolean {
  return token.startsWith("--") || token.startsWith("/*") || /^[\s\ufeff]+$/.test(token);
}

const SPACE = /[ \t\n\f\r\ufeff]+/y;
const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const VARIABLE = /\?[0-9]*|[:@$#][A-Za-z0-9_$\u0080-\uffff]+/y;
const CLOSING: Record<string, string> = { "'": "'", '"': '"', "`": "`", "[": "]" };

/** Where the token that begins at `at` ends: always further on. */
function tokenEnd(sql: string, at: number): number {
  const char = sql[at] as string;
  if (sql.startsWith("--", at)) {
    const line = sql.indexOf("\n", at);
    return line < 0 ? sql.length : line + 1;
  }
  if (sql.startsWith("/*", at)) {
    const end = sql.indexOf("*/", at + 2);
    return end < 0 ? sql.length : end + 2;
  }
  const closing = CLOSING[char];
  if (closing !== undefined) return quotedEnd(sql, at + 1, closing);
  return (
    matchEnd(SPACE, sql, at) ?? matchEnd(WORD, sql, at) ?? matchEnd(VARIABLE, sql, at) ?? at + 1
  );
}

function quotedEnd(sql: string, from: number, closing: string): number {
  for (let at = from; ;) {
    const end = sql.indexOf(closing, at);
    if (end < 0) return sql.length;
    if (closing === "]" || sql[end + 1] !== closing) return end + 1;
    at = end + 2; // doubled: it stands for itself
  }
}

function matchEnd(pattern: RegExp, sql: string, at: number): number | null {
  const sticky = new RegExp(pattern);
  sticky.lastIndex = at;
  return sticky.test(sql) ? sticky.lastIndex : null;
}
