import { numberFromBigInt, numberText } from "../values/number.ts";
import { isArray, isNumber } from "../values/value.ts";
import type { NumberValue, Value } from "../values/value.ts";
import { NUMBER, STRING, anyOf, tupleOf } from "../types/type.ts";
import type { Type } from "../types/type.ts";
import * as float from "../go/float.ts";
import { LAYOUTS, formatTime } from "../go/layout.ts";
import { TimeError, parseTime } from "../go/parse-time.ts";
import { parseExtendedDuration } from "../go/duration.ts";
import { DAYS, daysFromCivil, fieldsOf, fromWall } from "../go/time.ts";
import type { Instant } from "../go/time.ts";
import { UTC, loadZone } from "../go/zone.ts";
import type { Zone } from "../go/zone.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { arg, fail, fn, int, string, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof TimeError) return fail(error.message);
    throw error;
  }
}

function nanoseconds(t: Instant): Value {
  if (t.nanos < MIN_INT64 || t.nanos > MAX_INT64) return fail("time outside of valid range");
  return numberFromBigInt(t.nanos);
}

function zoneOf(name: string, ctx: BuiltinContext): Zone {
  // The zone of the machine is no business of a policy.
  if (name === "" || name === "UTC" || name === "Local") return UTC;
  const zone = ctx.memo.get("time zone", name, () => loadZone(name));
  return zone ?? fail(`unknown time zone ${name}`);
}

function nanosOf(value: NumberValue): bigint {
  const f = float.parseBigFloat(numberText(value));
  if (f === undefined || !float.isInteger(f)) return fail("timestamp too big");
  const nanos = float.toBigInt(f);
  return nanos < MIN_INT64 || nanos > MAX_INT64 ? fail("timestamp too big") : nanos;
}

const WANTED = "either number (ns) or [number (ns), string (tz)]";

interface Moment {
  readonly time: Instant;
  readonly layout: string;
}

/** A number of nanoseconds, or a list of nanoseconds, time zone and layout. */
function moment(args: Args, pos: number, ctx: BuiltinContext): Moment {
  const value = arg(args, pos);
  if (isNumber(value)) return { time: { nanos: nanosOf(value), zone: UTC }, layout: "" };
  if (!isArray(value) || value.length === 0) return wrongType(1, value, WANTED);
  const [ns, zoneName = "", layout = ""] = value;
  if (ns === undefined || !isNumber(ns)) return wrongType(1, ns ?? null, "number");
  if (typeof zoneName !== "string") return wrongType(1, zoneName, "string");
  const zone = zoneOf(zoneName, ctx);
  if (typeof layout !== "string") return wrongType(1, layout, "string");
  return { time: { nanos: nanosOf(ns), zone }, layout };
}

function format(args: Args, ctx: BuiltinContext): Value {
  const { time, layout } = moment(args, 1, ctx);
  return formatTime(time, LAYOUTS[layout === "" ? "RFC3339Nano" : layout] ?? layout);
}

function addDate(args: Args, ctx: BuiltinContext): Value {
  const { time } = moment(args, 1, ctx);
  const [years, months, days] = [int(args, 2), int(args, 3), int(args, 4)];
  const f = fieldsOf(time);
  const wall = { ...f, year: f.year + years, month: f.month + months, day: f.day + days };
  // Far outside the range of nanoseconds anyway, and beyond exact arithmetic.
  if (Math.max(Math.abs(years), Math.abs(months), Math.abs(days)) > 1e12) {
    return fail("time outside of valid range");
  }
  return nanoseconds(fromWall(wall, time.zone));
}

function diff(args: Args, ctx: BuiltinContext): Value {
  const first = moment(args, 1, ctx).time;
  const second = { nanos: moment(args, 2, ctx).time.nanos, zone: first.zone };
  const [a, b] = first.nanos > second.nanos ? [second, first] : [first, second];
  const [x, y] = [fieldsOf(a), fieldsOf(b)];
  let [year, month, day] = [y.year - x.year, y.month - x.month, y.day - x.day];
  let [hour, minute, second_] = [y.hour - x.hour, y.minute - x.minute, y.second - x.second];
  if (second_ < 0) {
    second_ += 60;
    minute--;
  }
  if (minute < 0) {
    minute += 60;
    hour--;
  }
  if (hour < 0) {
    hour += 24;
    day--;
  }
  if (day < 0) {
    day += daysFromCivil(x.year, x.month + 1, 1) - daysFromCivil(x.year, x.month, 1);
    month--;
  }
  if (month < 0) {
    month += 12;
    year--;
  }
  return [year, month, day, hour, minute, second_];
}

const MOMENT = anyOf(NUMBER, tupleOf(NUMBER, STRING));
const WITH_LAYOUT = anyOf(NUMBER, tupleOf(NUMBER, STRING), tupleOf(NUMBER, STRING, STRING));
const numbers = (count: number): Type => tupleOf(...new Array<Type>(count).fill(NUMBER));

export const TIME: readonly Builtin[] = [
  fn("time.now_ns", [], NUMBER, (_, ctx) => numberFromBigInt(ctx.nowNs()), {
    needs: "nowNs",
    nondeterministic: true,
  }),
  fn("time.parse_ns", [STRING, STRING], NUMBER, (a) => {
    const layout = string(a, 1);
    const value = string(a, 2);
    return nanoseconds(guarded(() => parseTime(LAYOUTS[layout] ?? layout, value)));
  }),
  fn("time.parse_rfc3339_ns", [STRING], NUMBER, (a) => {
    const value = string(a, 1);
    return nanoseconds(guarded(() => parseTime(LAYOUTS["RFC3339"] ?? "", value)));
  }),
  fn("time.parse_duration_ns", [STRING], NUMBER, (a) => {
    const text = string(a, 1);
    return numberFromBigInt(guarded(() => parseExtendedDuration(text)));
  }),
  fn("time.format", [WITH_LAYOUT], STRING, format),
  fn("time.date", [MOMENT], numbers(3), (a, ctx) => {
    const f = fieldsOf(moment(a, 1, ctx).time);
    return [f.year, f.month, f.day];
  }),
  fn("time.clock", [MOMENT], numbers(3), (a, ctx) => {
    const f = fieldsOf(moment(a, 1, ctx).time);
    return [f.hour, f.minute, f.second];
  }),
  fn(
    "time.weekday",
    [MOMENT],
    STRING,
    (a, ctx) => DAYS[fieldsOf(moment(a, 1, ctx).time).weekday] ?? "",
  ),
  fn("time.add_date", [NUMBER, NUMBER, NUMBER, NUMBER], NUMBER, addDate),
  fn("time.diff", [MOMENT, MOMENT], numbers(6), diff),
];
