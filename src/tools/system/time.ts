import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "system/time",
  description:
    "Tell the current time, or convert a given moment, in any time zone. " +
    "Returns the instant in UTC, its milliseconds since 1970, the local form, the offset and the weekday.",
  input: z.strictObject({
    format: z
      .string()
      .min(1)
      .max(100)
      .default("iso")
      .describe(
        "How `formatted` looks: iso, date, time, datetime, http, unix (seconds), unix_ms, or a pattern of " +
          "YYYY MMMM MMM MM DD dddd ddd HH mm ss SSS Z with [literal text] in brackets.",
      ),
    timezone: z
      .string()
      .min(1)
      .max(64)
      .default("UTC")
      .describe("IANA time zone such as Europe/Berlin, or an offset such as +05:30."),
    at: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe(
        "The moment to convert, as ISO 8601 (years 0001-9999); without an offset it is read in `timezone`. Default: now.",
      ),
  }),
  output: z.strictObject({
    iso: z.string().describe("The instant in UTC, ISO 8601."),
    unixMs: z.int().describe("Milliseconds since 1970-01-01T00:00:00Z."),
    formatted: z.string().describe("The local time in the wanted format."),
    timezone: z.string().describe("Canonical name of the time zone."),
    offset: z.string().describe("Offset from UTC at that moment, e.g. +01:00."),
    weekday: z.string().describe("English name of the local weekday."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  idempotent: false,
  needs: ["clock"],
  timeoutMs: 5_000,
  aliases: ["timestamp"],
  tags: ["time"],
  examples: [
    {},
    { timezone: "Asia/Tokyo", format: "datetime" },
    { at: "2026-03-29T12:00:00Z", timezone: "Europe/Berlin", format: "dddd, DD MMMM YYYY" },
  ],
  run({ format, timezone, at }, { clock }) {
    const zone = zoneOf(timezone);
    const unixMs = at === undefined ? clock.now() : parseMoment(at, zone);
    const local = localTime(unixMs, zone);
    return {
      iso: new Date(unixMs).toISOString(),
      unixMs,
      formatted: formatLocal(format, local, unixMs),
      timezone: zone.resolvedOptions().timeZone,
      offset: local.offset,
      weekday: local.weekday,
    };
  },
});

interface LocalTime {
  /** The local wall clock, held in the UTC fields of a Date. */
  wall: Date;
  weekday: string;
  month: string;
  offset: string;
}

function zoneOf(timezone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    throw toolError("timezone_unknown", `time zone ${JSON.stringify(timezone)} is not known`, {
      remedy: "use an IANA name such as Europe/Berlin, or an offset such as +05:30",
    });
  }
}

/** Offset of the zone at an instant, in whole seconds as ms. */
function offsetMs(unixMs: number, zone: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(
    zone.formatToParts(unixMs).map((part) => [part.type, part.value]),
  );
  const year = Number(parts["year"]);
  const wall = new Date(0);
  wall.setUTCFullYear(
    parts["era"] === "BC" ? 1 - year : year,
    Number(parts["month"]) - 1,
    Number(parts["day"]),
  );
  wall.setUTCHours(Number(parts["hour"]), Number(parts["minute"]), Number(parts["second"]));
  return wall.getTime() - Math.floor(unixMs / 1_000) * 1_000;
}

function localTime(unixMs: number, zone: Intl.DateTimeFormat): LocalTime {
  const offset = offsetMs(unixMs, zone);
  const wall = new Date(unixMs + offset);
  const name = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat("en-US", { timeZone: "UTC", ...options }).format(wall);
  const minutes = Math.trunc(Math.abs(offset) / 60_000);
  return {
    wall,
    weekday: name({ weekday: "long" }),
    month: name({ month: "long" }),
    offset: `${offset < 0 ? "-" : "+"}${pad(Math.trunc(minutes / 60), 2)}:${pad(minutes % 60, 2)}`,
  };
}

const MOMENT =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?([Zz]|[+-]\d{2}:?\d{2})?$/;

function parseMoment(text: string, zone: Intl.DateTimeFormat): number {
  const match = MOMENT.exec(text);
  const bad = toolError("invalid_arguments", `at: ${JSON.stringify(text)} is not a moment`, {
    code: "BAD_REQUEST",
    remedy: "write it as ISO 8601, e.g. 2026-03-29T12:00:00Z",
    errors: [{ path: "/at", message: "expected an ISO 8601 date or date-time" }],
  });
  if (!match) throw bad;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const wall = new Date(0);
  wall.setUTCFullYear(year, month - 1, day);
  wall.setUTCHours(hour, minute, second, Number((match[7] ?? "").padEnd(3, "0").slice(0, 3)));
  // A date that rolls over, such as 31 February or 25:00, is not a date.
  const same =
    wall.getUTCMonth() === month - 1 && wall.getUTCDate() === day && wall.getUTCHours() === hour;
  if (!same || minute > 59 || second > 59 || year < 1) throw bad;
  const suffix = match[8];
  if (suffix === undefined) {
    // Twice, since the offset belongs to the instant and the instant depends on the offset (summer time).
    const guess = wall.getTime() - offsetMs(wall.getTime(), zone);
    return wall.getTime() - offsetMs(guess, zone);
  }
  if (suffix.toUpperCase() === "Z") return wall.getTime();
  const hours = Number(suffix.slice(1, 3));
  const minutes = Number(suffix.slice(-2));
  if (hours > 23 || minutes > 59) throw bad;
  const offset = (hours * 60 + minutes) * 60_000;
  return wall.getTime() - (suffix.startsWith("-") ? -offset : offset);
}

function formatLocal(format: string, { wall, weekday, month, offset }: LocalTime, unixMs: number) {
  const date = wall.toISOString().slice(0, -14);
  const time = wall.toISOString().slice(-13, -1);
  const named: Record<string, string> = {
    iso: `${date}T${time}${offset === "+00:00" ? "Z" : offset}`,
    date,
    time: time.slice(0, 8),
    datetime: `${date} ${time.slice(0, 8)}`,
    http: new Date(unixMs).toUTCString(),
    unix: String(Math.floor(unixMs / 1_000)),
    unix_ms: String(unixMs),
  };
  const tokens: Record<string, string> = {
    YYYY: date.slice(0, -6),
    MMMM: month,
    MMM: month.slice(0, 3),
    MM: date.slice(-5, -3),
    DD: date.slice(-2),
    dddd: weekday,
    ddd: weekday.slice(0, 3),
    HH: time.slice(0, 2),
    mm: time.slice(3, 5),
    ss: time.slice(6, 8),
    SSS: time.slice(9),
    Z: offset,
  };
  return (
    (Object.hasOwn(named, format) ? named[format] : undefined) ??
    format.replace(
      /\[([^\]]*)\]|YYYY|MMMM|MMM|MM|DD|dddd|ddd|HH|mm|ss|SSS|Z/g,
      (token, literal: string | undefined) => literal ?? tokens[token] ?? token,
    )
  );
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
