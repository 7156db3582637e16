// Instants in nanoseconds and their calendar fields in a zone.
import { UTC } from "./zone.ts";
import type { Zone } from "./zone.ts";

export const NANOS_PER_SECOND = 1_000_000_000n;
const SECONDS_PER_DAY = 86_400n;

export const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;
export const DAYS = [
  "Sunday",
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
] as const;

export interface Fields {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanos: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly yearDay: number;
}

export interface Instant {
  readonly nanos: bigint;
  readonly zone: Zone;
}

const floorDiv = (a: bigint, b: bigint): bigint => (a >= 0n || a % b === 0n ? a / b : a / b - 1n);

export const unixSeconds = (nanos: bigint): bigint => floorDiv(nanos, NANOS_PER_SECOND);
export const offsetSeconds = (t: Instant): number => t.zone.offsetAt(unixSeconds(t.nanos));

/** Days since 1970-01-01 of a date in the proleptic Gregorian calendar; fields may overflow. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const m0 = month - 1;
  const y = year + Math.floor(m0 / 12);
  const m = ((m0 % 12) + 12) % 12;
  const shifted = m < 2 ? y - 1 : y;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * ((m + 10) % 12) + 2) / 5) + (day - 1);
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const doe = z - era * 146_097;
  const yoe = Math.floor(
    (doe - Math.floor(doe / 1460) + Math.floor(doe / 36_524) - Math.floor(doe / 146_096)) / 365,
  );
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100));
  const mp = Math.floor((5 * doy + 2) / 153);
  const month = mp < 10 ? mp + 3 : mp - 9;
  const year = yoe + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: doy - Math.floor((153 * mp + 2) / 5) + 1 };
}

export function fieldsOf(t: Instant): Fields {
  const local = unixSeconds(t.nanos) + BigInt(offsetSeconds(t));
  const days = Number(floorDiv(local, SECONDS_PER_DAY));
  const inDay = Number(local - BigInt(days) * SECONDS_PER_DAY);
  const date = civilFromDays(days);
  return {
    ...date,
    hour: Math.floor(inDay / 3600),
    minute: Math.floor((inDay % 3600) / 60),
    second: inDay % 60,
    nanos: Number(t.nanos - unixSeconds(t.nanos) * NANOS_PER_SECOND),
    weekday: (((days + 4) % 7) + 7) % 7,
    yearDay: days - daysFromCivil(date.year, 1, 1) + 1,
  };
}

export interface Wall {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly nanos: number;
}

/** The instant of a wall clock; in a gap or overlap Go's choice of offset is taken. */
export function fromWall(wall: Wall, zone: Zone = UTC): Instant {
  const days = BigInt(daysFromCivil(wall.year, wall.month, wall.day));
  const asUtc = days * SECONDS_PER_DAY + BigInt(wall.hour * 3600 + wall.minute * 60 + wall.second);
  let offset = zone.offsetAt(asUtc);
  if (offset !== 0) {
    const guess = asUtc - BigInt(offset);
    const actual = zone.offsetAt(guess);
    if (actual !== offset) {
      const second = asUtc - BigInt(actual);
      offset = zone.offsetAt(second) === actual || actual < offset ? actual : offset;
    }
  } else {
    offset = zone.offsetAt(asUtc - BigInt(zone.offsetAt(asUtc)));
  }
  return { nanos: (asUtc - BigInt(offset)) * NANOS_PER_SECOND + BigInt(wall.nanos), zone };
}
