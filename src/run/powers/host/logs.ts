// What was logged lately: by this process, from memory, and by the system, from its plain file where there is one.
import { open } from "node:fs/promises";
import { AppError } from "../../../errors.ts";
import type { LogEntry, LogQuery } from "../../../tools/powers/host.ts";

/** The last lines of this process's own log. */
export interface LogRing {
  /** One line of JSON as pino writes it. */
  add(line: string): void;
  entries(): readonly LogEntry[];
}

const RING_LINES = 5_000;
const TAIL_BYTES = 1_048_576;
const SYSTEM_LOGS = ["/var/log/syslog", "/var/log/messages"] as const;
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

/** Places in our own files are for the log itself. */
function withoutStack(fields: Record<string, unknown>): Record<string, unknown> {
  const { err, ...rest } = fields;
  const message = typeof err === "object" && err !== null && "message" in err ? err.message : null;
  return message === null ? rest : { ...rest, error: message };
}

export async function systemLog({ until }: LogQuery): Promise<readonly LogEntry[]> {
  for (const path of SYSTEM_LOGS) {
    const text = await tailOf(path);
    if (text !== null) return text.split("\n").flatMap((line) => systemEntry(line, until));
  }
  throw new AppError(
    "EXECUTION_FAILED",
    "source_unavailable",
    "the system keeps no log that this server can read",
    {
      remedy:
        "install rsyslog and let the server's user read /var/log/syslog, or ask for source ostiary",
    },
  );
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

export function withinQuery(
  entries: readonly LogEntry[],
  { since, until, level, contains, limit }: LogQuery,
): { entries: LogEntry[]; truncated: boolean } {
  const least = level === undefined ? 0 : SEVERITY.indexOf(level);
  const text = contains?.toLowerCase();
  const fitting = entries.filter((entry) => {
    const at = Date.parse(entry.time);
    return (
      at >= since &&
      at <= until &&
      SEVERITY.indexOf(entry.level) >= least &&
      (text === undefined || entry.message.toLowerCase().includes(text))
    );
  });
  return { entries: fitting.slice(-limit), truncated: fitting.length > limit };
}
