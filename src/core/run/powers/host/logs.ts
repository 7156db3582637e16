// What was logged lately: by this process, from memory, and by the system, from its journal or its plain file.
import { open } from "node:fs/promises";
import { AppError } from "../../../../contract/errors.ts";
import type { LogEntry, LogQuery } from "../../../../contract/powers/host.ts";
import { readJournal, type Journal } from "./journal.ts";
import type { Machine } from "./machine.ts";

/** The last lines of this process's own log. */
export interface LogRing {
  /** One line of JSON as pino writes it. */
  add(line: string): void;
  entries(): readonly LogEntry[];
}

const RING_LINES = 5_000;
const TAIL_BYTES = 1_048_576;
const LEVELS: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};
const SEVERITY = ["trace", "debug", "info", "warn", "error", "fatal"];

export function createLogRing(): LogRing {
  let lines: string[] = [];
  return {
    add(line) {
      lines.push(line);
      // In steps, so that a busy log is not copied line by line.
      if (lines.length > RING_LINES * 2) lines = lines.slice(-RING_LINES);
    },
    entries: () => lines.slice(-RING_LINES).flatMap(entryOf),
  };
}

function entryOf(line: string): LogEntry[] {
  try {
    const { time, level, msg, app: _app, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const more = Object.keys(fields).length > 0 ? ` ${JSON.stringify(withoutStack(fields))}` : "";
    return [
      {
        time: new Date(Number(time)).toISOString(),
        source: "ostiary",
        level: LEVELS[Number(level)] ?? "info",
        message: `${typeof msg === "string" ? msg : ""}${more}`,
      },
    ];
  } catch {
    return [];
  }
}

/** Paths of our own source files stay in the log itself. */
function withoutStack(fields: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = fields;
  const message = typeof err === "object" && err !== null && "message" in err ? err.message : null;
  return message === null ? rest : { ...rest, error: message };
}

export interface Logged {
  readonly entries: LogEntry[];
  readonly truncated: boolean;
}

/** The journal where it can be read, else the plain file. Throws source_unavailable with the reason for both. */
export async function systemLog(
  machine: Machine,
  query: LogQuery,
  signal: AbortSignal,
): Promise<Logged> {
  const journal = await readJournal(machine, query, (entry) => fits(entry, query), signal);
  if (journal.kind === "read") return newest(journal.entries, query, journal.cut);
  for (const path of machine.logFiles) {
    const text = await tailOf(path);
    if (text === null) continue;
    return withinQuery(
      text.split("\n").flatMap((line) => systemEntry(line, query.until)),
      query,
    );
  }
  throw unavailable(journal, machine.logFiles);
}

function unavailable(
  { kind, why }: Exclude<Journal, { kind: "read" }>,
  files: readonly string[],
): AppError {
  const message = `the system's log cannot be read: ${why}, and neither can ${files.join(" or ")}`;
  const remedy =
    kind === "forbidden"
      ? "add the server's user to the group systemd-journal and restart the server, or ask for source ostiary"
      : "run the server where journald keeps the log, or install rsyslog; or ask for source ostiary";
  return new AppError("EXECUTION_FAILED", "source_unavailable", message, { remedy });
}

async function tailOf(path: string): Promise<string | null> {
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(size - from),
      position: from,
    });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** ISO times, or `Nov  3 12:00:00` of the year that makes it past. The host's name is left out. */
function systemEntry(line: string, until: number): LogEntry[] {
  const match = /^(\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) \S+ (.*)$/.exec(line);
  const [, stamp = "", message = ""] = match ?? [];
  if (message === "") return [];
  let time = Date.parse(stamp);
  if (!stamp.includes("T")) {
    const year = new Date(until).getFullYear();
    time = Date.parse(`${stamp} ${year}`);
    if (time > until + 86_400_000) time = Date.parse(`${stamp} ${year - 1}`);
  }
  if (Number.isNaN(time)) return [];
  const level = /\b(error|fail(ed|ure)?|fatal|panic)\b/i.test(message)
    ? "error"
    : /\bwarn(ing)?\b/i.test(message)
      ? "warn"
      : "info";
  return [{ time: new Date(time).toISOString(), source: "system", level, message }];
}

export function withinQuery(entries: readonly LogEntry[], query: LogQuery): Logged {
  return newest(
    entries.filter((entry) => fits(entry, query)),
    query,
    false,
  );
}

function newest(fitting: readonly LogEntry[], { limit }: LogQuery, cut: boolean): Logged {
  return { entries: fitting.slice(-limit), truncated: cut || fitting.length > limit };
}

function fits(entry: LogEntry, { since, until, level, contains }: LogQuery): boolean {
  const at = Date.parse(entry.time);
  if (at < since || at > until) return false;
  if (level !== undefined && SEVERITY.indexOf(entry.level) < SEVERITY.indexOf(level)) return false;
  return contains === undefined || entry.message.toLowerCase().includes(contains.toLowerCase());
}
