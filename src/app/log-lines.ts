// The log as people read it on a terminal; everywhere else its lines are JSON.
import { visible } from "../util/text/visible.ts";

const LEVELS: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "FATAL",
};

/** Longer values are cut: the whole line is in the record, and in JSON. */
const MAX_VALUE = 200;

/** `12:03:04 WARN  tool_call_blocked  toolName=file/read reason=path_forbidden` */
export function readableLine(line: string): string {
  const record = recordIn(line);
  if (record === null) return line;
  const { level, time, msg, app: _app, err, ...rest } = record;
  const clock = typeof time === "number" ? new Date(time).toTimeString().slice(0, 8) : "--:--:--";
  const name = (LEVELS[Number(level)] ?? "LOG").padEnd(5);
  const values = Object.entries(rest).map(([key, value]) => `${key}=${shown(value)}`);
  const head = [`${clock} ${name} ${typeof msg === "string" ? msg : ""}`, values.join(" ")]
    .filter(Boolean)
    .join("  ");
  return `${[head, ...errorLines(err)].map(visible).join("\n")}\n`;
}

function recordIn(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function shown(value: unknown): string {
  const text =
    typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

/** The stack where there is one: it begins with the message. */
function errorLines(error: unknown): string[] {
  if (error === undefined) return [];
  const hasStack = typeof error === "object" && error !== null && "stack" in error;
  const text = hasStack && typeof error.stack === "string" ? error.stack : shown(error);
  return text.split("\n").map((line) => `    ${line.trimEnd()}`);
}
