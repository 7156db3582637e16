// Go's time.ParseDuration, with OPA's days, weeks and years on top.
import { quoteGo } from "./quote.ts";
import { TimeError } from "./parse-time.ts";
import { formatFloat } from "./strconv.ts";

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const LIMIT = 2n ** 63n;

export function parseDuration(text: string): bigint {
  const invalid = (): TimeError => new TimeError(`time: invalid duration ${quoteGo(text)}`);
  const negative = text.startsWith("-");
  let rest = text.replace(/^[-+]/, "");
  if (rest === "0") return 0n;
  if (rest === "") throw invalid();
  let total = 0n;
  while (rest !== "") {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest);
    const [whole = "", fraction = ""] = [number?.[1], number?.[2]];
    if (whole === "" && fraction === "") throw invalid();
    rest = rest.slice((number?.[0] ?? "").length);
    const unitText = /^[^.\d]+/.exec(rest)?.[0];
    if (unitText === undefined)
      throw new TimeError(`time: missing unit in duration ${quoteGo(text)}`);
    const unit = UNITS[unitText];
    if (unit === undefined) {
      throw new TimeError(`time: unknown unit ${quoteGo(unitText)} in duration ${quoteGo(text)}`);
    }
    rest = rest.slice(unitText.length);
    total += BigInt(whole === "" ? "0" : whole) * unit;
    // Digits beyond a nanosecond of the largest unit cannot matter.
    const digits = fraction.slice(0, 18);
    if (digits !== "") total += (BigInt(digits) * unit) / 10n ** BigInt(digits.length);
    if (total > LIMIT) throw invalid();
  }
  if (negative) return -total;
  if (total > LIMIT - 1n) throw invalid();
  return total;
}

const EXTENDED_HOURS: Readonly<Record<string, number>> = { d: 24, w: 7 * 24, y: 365 * 24 };
const SEGMENT = /([0-9.]+)(ms|us|µs|ns|[a-z])/y;

/** As parseDuration, and "1d", "2w", "1y" in any mixture. */
export function parseExtendedDuration(text: string): bigint {
  if (text === "") throw new TimeError('time: invalid duration ""');
  if (!/[dwy]/.test(text)) return parseDuration(text);
  const invalid = new TimeError(`time: invalid duration ${quoteGo(text)}`);
  const sign = /^[-+]/.exec(text)?.[0] ?? "";
  let rewritten = sign;
  let at = sign.length;
  while (at < text.length) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(text);
    if (match === null) throw invalid;
    at += match[0].length;
    const [, digits = "", unit = ""] = match;
    const hours = EXTENDED_HOURS[unit];
    const amount = Number(digits);
    if (hours !== undefined && Number.isNaN(amount)) throw invalid;
    rewritten += hours === undefined ? digits + unit : `${formatFloat(amount * hours, "f", -1)}h`;
  }
  if (rewritten === sign) throw invalid;
  try {
    return parseDuration(rewritten);
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    throw new TimeError(`${error.message.replace(/ "[^"]*"$/, "")} ${quoteGo(text)}`);
  }
}
