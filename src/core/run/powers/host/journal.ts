// The system's journal, read with journalctl: fixed arguments, newest first, no further than is needed.
import type { LogEntry, LogQuery } from "../../../../contract/powers/host.ts";
import { readProgram, type Machine } from "./machine.ts";

export type Journal =
  | { readonly kind: "read"; readonly entries: LogEntry[]; readonly cut: boolean }
  | { readonly kind: "absent" | "empty" | "forbidden" | "failed"; readonly why: string };

const LIMIT_MS = 10_000;
const MAX_BYTES = 8_388_608;
const FIELDS = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_PID";
const ARGUMENTS = [
  "--system",
  "--no-pager",
  "--output=json",
  `--output-fields=${FIELDS}`,
  "--reverse",
];
/** By priority (syslog(3)). */
const LEVELS = ["fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"] as const;
const LEAST: Readonly<Record<string, number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/** `fits` is called for every entry; after `limit` entries that fit, no more are read. */
export async function readJournal(
  machine: Machine,
  query: LogQuery,
  fits: (entry: LogEntry) => boolean,
  signal: AbortSignal,
): Promise<Journal> {
  const entries: LogEntry[] = [];
  const onLine = (line: string): boolean => {
    const entry = entryOf(line);
    if (entry && fits(entry)) entries.push(entry);
    return entries.length <= query.limit;
  };
  const args = argumentsFor(query);
  const reading = { program: "journalctl", args, limitMs: LIMIT_MS, maxBytes: MAX_BYTES, onLine };
  const { why, code, errors } = await readProgram(machine, reading, signal);
  if (why === "absent") return { kind: "absent", why: "journalctl is not installed" };
  if (why === "ended" && entries.length === 0) {
    if (/permission/i.test(errors)) {
      return { kind: "forbidden", why: "the server's user may not read the system's journal" };
    }
    if (/no journal files/i.test(errors))
      return { kind: "empty", why: "journald keeps no journal" };
    if (code !== 0) return { kind: "failed", why: `journalctl failed: ${firstLine(errors)}` };
  }
  return { kind: "read", entries: entries.toReversed(), cut: why !== "ended" };
}

function argumentsFor({ since, until, level }: LogQuery): string[] {
  const least = level === undefined ? undefined : LEAST[level];
  const from = `--since=@${Math.max(0, Math.floor(since / 1_000))}`;
  const to = `--until=@${Math.max(0, Math.ceil(until / 1_000))}`;
  return [...ARGUMENTS, from, to, ...(least === undefined ? [] : [`--priority=${least}`])];
}

/** systemd.journal-fields(7). The name of the host is not among the fields that are asked for. */
function entryOf(line: string): LogEntry | null {
  if (!line.startsWith("{")) return null;
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
  const at = Number(fields["__REALTIME_TIMESTAMP"]) / 1_000;
  const text = textOf(fields["MESSAGE"]);
  if (!(at > 0 && at < 8.64e15) || text === "") return null;
  const name = textOf(fields["SYSLOG_IDENTIFIER"]) || textOf(fields["_COMM"]);
  const pid = textOf(fields["_PID"]);
  const from = name === "" ? "" : `${name}${pid === "" ? "" : `[${pid}]`}: `;
  const level = LEVELS[Number(fields["PRIORITY"] ?? 6)] ?? "info";
  return { time: new Date(at).toISOString(), source: "system", level, message: from + text };
}

/** A text that is not UTF-8 comes as a list of bytes; one that is too long as null. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value) || !value.every((byte) => typeof byte === "number")) return "";
  return Buffer.from(value).toString("utf8");
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]?.slice(0, 200) || "it says nothing";
}
