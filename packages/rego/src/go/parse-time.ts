// Go's time.Parse.
import { quoteGo } from "./quote.ts";
import { splitLayout } from "./layout.ts";
import { DAYS, MONTHS, daysFromCivil, fromWall } from "./time.ts";
import type { Instant } from "./time.ts";
import { UTC, fixedZone } from "./zone.ts";

export class TimeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TimeError";
  }
}

interface Parsed {
  year: number;
  month: number;
  day: number;
  yearDay: number;
  hour: number;
  minute: number;
  second: number;
  nanos: number;
  pm: boolean | undefined;
  offset: number | undefined;
  zoneName: string;
}

/** A part that does not fit; `range` names a field whose value is impossible. */
class Mismatch extends Error {
  readonly range: string | undefined;

  constructor(range?: string) {
    super(range ?? "mismatch");
    this.range = range;
  }
}

class Reader {
  rest: string;
  readonly out: Parsed = {
    year: 0,
    month: -1,
    day: -1,
    yearDay: -1,
    hour: 0,
    minute: 0,
    second: 0,
    nanos: 0,
    pm: undefined,
    offset: undefined,
    zoneName: "",
  };

  constructor(text: string) {
    this.rest = text;
  }

  private take(pattern: RegExp): string {
    const found = pattern.exec(this.rest)?.[0];
    if (found === undefined) throw new Mismatch();
    this.rest = this.rest.slice(found.length);
    return found;
  }

  private number(pattern: RegExp, what: string, low: number, high: number): number {
    const n = Number(this.take(pattern));
    if (n < low || n > high) throw new Mismatch(what);
    return n;
  }

  private name(names: readonly string[], length?: number): number {
    const lower = this.rest.toLowerCase();
    const index = names.findIndex((name) => lower.startsWith(name.slice(0, length).toLowerCase()));
    if (index < 0) throw new Mismatch();
    this.rest = this.rest.slice((names[index] ?? "").slice(0, length).length);
    return index;
  }

  literal(text: string): void {
    let wanted = text;
    while (wanted !== "") {
      if (wanted.startsWith(" ")) {
        if (this.rest !== "" && !this.rest.startsWith(" ")) throw new Mismatch();
        wanted = wanted.replace(/^ +/, "");
        this.rest = this.rest.replace(/^ +/, "");
        continue;
      }
      if (this.rest.charAt(0) !== wanted.charAt(0)) throw new Mismatch();
      wanted = wanted.slice(1);
      this.rest = this.rest.slice(1);
    }
  }

  field(field: string, next: string | undefined): void {
    const { out } = this;
    switch (field) {
      case "2006":
        out.year = Number(this.take(/^\d{4}/));
        return;
      case "06": {
        const n = Number(this.take(/^\d\d/));
        out.year = n >= 69 ? n + 1900 : n + 2000;
        return;
      }
      case "January":
        out.month = this.name(MONTHS) + 1;
        return;
      case "Jan":
        out.month = this.name(MONTHS, 3) + 1;
        return;
      case "01":
        out.month = this.number(/^\d\d/, "month", 1, 12);
        return;
      case "1":
        out.month = this.number(/^\d\d?/, "month", 1, 12);
        return;
      case "Monday":
        this.name(DAYS);
        return;
      case "Mon":
        this.name(DAYS, 3);
        return;
      case "02":
      case "_2":
      case "2":
        if (field === "_2") this.rest = this.rest.replace(/^ /, "");
        out.day = Number(this.take(field === "02" ? /^\d\d/ : /^\d\d?/));
        return;
      case "002":
      case "__2":
        if (field === "__2") this.rest = this.rest.replace(/^ {1,2}/, "");
        out.yearDay = Number(this.take(field === "002" ? /^\d{3}/ : /^\d{1,3}/));
        return;
      case "15":
        out.hour = this.number(/^\d\d?/, "hour", 0, 23);
        return;
      case "03":
        out.hour = this.number(/^\d\d/, "hour", 0, 12);
        return;
      case "3":
        out.hour = this.number(/^\d\d?/, "hour", 0, 12);
        return;
      case "04":
        out.minute = this.number(/^\d\d/, "minute", 0, 59);
        return;
      case "4":
        out.minute = this.number(/^\d\d?/, "minute", 0, 59);
        return;
      case "05":
      case "5":
        out.second = this.number(field === "05" ? /^\d\d/ : /^\d\d?/, "second", 0, 59);
        // A fraction may follow although the layout does not ask for one.
        if (/^[.,]\d/.test(this.rest) && !/^[.,]/.test(next ?? "")) {
          this.fraction(this.take(/^[.,]\d+/));
        }
        return;
      case "PM":
      case "pm": {
        const word = this.take(field === "PM" ? /^(?:AM|PM)/ : /^(?:am|pm)/);
        out.pm = word.toLowerCase() === "pm";
        return;
      }
      case "MST":
        this.zone();
        return;
      default:
        this.special(field);
    }
  }

  private special(field: string): void {
    if (/^[.,]0/.test(field)) {
      const digits = this.rest.slice(0, field.length);
      if (!/^[.,]\d+$/.test(digits) || digits.length < field.length) throw new Mismatch();
      this.rest = this.rest.slice(field.length);
      this.fraction(digits);
    } else if (/^[.,]9/.test(field)) {
      if (/^[.,]\d/.test(this.rest)) this.fraction(this.take(/^[.,]\d+/));
    } else this.offset(field);
  }

  private fraction(text: string): void {
    this.out.nanos = Number(text.slice(1, 10).padEnd(9, "0"));
  }

  private offset(field: string): void {
    if (field.startsWith("Z") && this.rest.startsWith("Z")) {
      this.rest = this.rest.slice(1);
      this.out.offset = 0;
      return;
    }
    const count = (field.replaceAll(":", "").length - 1) / 2;
    const colon = field.includes(":") ? ":" : "";
    const text = this.take(new RegExp(`^[+-]\\d\\d(?:${colon}\\d\\d){${count - 1}}`));
    const [h = 0, m = 0, s = 0] = (text.match(/\d\d/g) ?? []).map(Number);
    if (h > 24) throw new Mismatch("time zone offset hour");
    if (m > 60) throw new Mismatch("time zone offset minute");
    if (s > 60) throw new Mismatch("time zone offset second");
    this.out.offset = (text.startsWith("-") ? -1 : 1) * (h * 3600 + m * 60 + s);
  }

  private zone(): void {
    if (this.rest.startsWith("UTC")) {
      this.rest = this.rest.slice(3);
      this.out.offset = 0;
      return;
    }
    this.out.zoneName = this.take(
      /^(?:GMT[+-]\d{1,2}|ChST|MeST|WITA|[+-]\d\d(?:\d\d)?|[A-Z]{4}T|[A-Z]{3}T|[A-Z]{3})/,
    );
  }
}

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

function checkDate(out: Parsed): void {
  if (out.yearDay >= 0) {
    const length = isLeap(out.year) ? 366 : 365;
    if (out.yearDay < 1 || out.yearDay > length) throw new Mismatch("day-of-year");
    const start = daysFromCivil(out.year, 1, 1);
    let month = 12;
    while (daysFromCivil(out.year, month, 1) - start + 1 > out.yearDay) month--;
    const day = out.yearDay - (daysFromCivil(out.year, month, 1) - start);
    if (out.month >= 0 && out.month !== month)
      throw new Mismatch("day-of-year does not match month");
    if (out.day >= 0 && out.day !== day) throw new Mismatch("day-of-year does not match day");
    out.month = month;
    out.day = day;
    return;
  }
  if (out.month < 0) out.month = 1;
  if (out.day < 0) out.day = 1;
  const max = out.month === 2 && isLeap(out.year) ? 29 : (DAYS_IN_MONTH[out.month - 1] ?? 31);
  if (out.day < 1 || out.day > max) throw new Mismatch("day");
}

function finish(out: Parsed): Instant {
  if (out.pm === true && out.hour < 12) out.hour += 12;
  else if (out.pm === false && out.hour === 12) out.hour = 0;
  checkDate(out);
  // A zone known only by its name says nothing about the offset: the clock is taken as UTC.
  const offset = out.offset ?? 0;
  const zone = offset === 0 ? UTC : fixedZone(out.zoneName, offset);
  return fromWall(out, zone);
}

function mismatch(layout: string, value: string, element: string, rest: string): TimeError {
  return new TimeError(
    `parsing time ${quoteGo(value)} as ${quoteGo(layout)}: cannot parse ${quoteGo(rest)} as ${quoteGo(element)}`,
  );
}

export function parseTime(layout: string, value: string): Instant {
  const reader = new Reader(value);
  const chunks = splitLayout(layout);
  const outOfRange = (what: string): TimeError =>
    new TimeError(
      `parsing time ${quoteGo(value)}: ${what}${what.includes("match") ? "" : " out of range"}`,
    );
  let held: string | undefined;
  for (const [i, chunk] of chunks.entries()) {
    const before = reader.rest;
    try {
      if (chunk.kind === "literal") reader.literal(chunk.text);
      else reader.field(chunk.text, chunks[i + 1]?.text);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      if (error.range !== undefined) throw outOfRange(error.range);
      throw mismatch(layout, value, chunk.text, chunk.kind === "literal" ? reader.rest : before);
    }
    held = chunk.text;
  }
  if (reader.rest !== "") {
    throw new TimeError(`parsing time ${quoteGo(value)}: extra text: ${quoteGo(reader.rest)}`);
  }
  try {
    return finish(reader.out);
  } catch (error) {
    if (error instanceof Mismatch) throw outOfRange(error.range ?? held ?? "");
    throw error;
  }
}
