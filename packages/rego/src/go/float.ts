// Go's math/big.Float at 64 bits of mantissa, which is what OPA computes with when a number is not
// an integer. A value is `mant * 2^exp`, `mant` normalised to at most PRECISION bits.

export interface BigFloat {
  readonly neg: boolean;
  readonly mant: bigint;
  readonly exp: number;
  readonly prec: number;
}

const PRECISION = 64;
/** Beyond this decimal exponent a number is refused: its digits would not fit in memory. */
export const MAX_EXPONENT = 1_000_000;

const bitLength = (n: bigint): number => (n === 0n ? 0 : n.toString(2).length);

/** Bit length without building a binary string for large values. */
function bits(n: bigint): number {
  if (n < 1n << 512n) return bitLength(n);
  const hex = n.toString(16);
  return (hex.length - 1) * 4 + bitLength(BigInt(`0x${hex.charAt(0)}`));
}

/** Rounds half to even; `sticky` says that non-zero bits follow below `mant`. */
function normalise(
  neg: boolean,
  mant: bigint,
  exp: number,
  prec: number,
  sticky = false,
): BigFloat {
  const excess = bits(mant) - prec;
  if (excess <= 0) return { neg, mant, exp, prec };
  const shift = BigInt(excess);
  const half = 1n << (shift - 1n);
  const rest = mant & ((1n << shift) - 1n);
  let kept = mant >> shift;
  if (rest > half || (rest === half && (sticky || (kept & 1n) === 1n))) kept += 1n;
  if (bits(kept) > prec) return { neg, mant: kept >> 1n, exp: exp + excess + 1, prec };
  return { neg, mant: kept, exp: exp + excess, prec };
}

function ratio(neg: boolean, num: bigint, den: bigint, prec: number): BigFloat {
  if (num === 0n) return { neg, mant: 0n, exp: 0, prec };
  const shift = Math.max(0, prec + 2 - (bits(num) - bits(den)));
  const scaled = num << BigInt(shift);
  const quotient = scaled / den;
  return normalise(neg, quotient, -shift, prec, quotient * den !== scaled);
}

export interface Decimal {
  readonly neg: boolean;
  readonly digits: bigint;
  readonly exp10: number;
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

export function parseDecimal(text: string): Decimal | undefined {
  const m = DECIMAL.exec(text);
  if (m === null) return undefined;
  const whole = m[2] ?? "";
  const frac = m[3] ?? "";
  if (whole === "" && frac === "") return undefined;
  const exp = m[4] === undefined ? 0 : Number(m[4]);
  if (Math.abs(exp) > MAX_EXPONENT) return undefined;
  return { neg: m[1] === "-", digits: BigInt(whole + frac), exp10: exp - frac.length };
}

/** The integer a decimal text denotes, exactly; undefined when it has a fraction. */
export function exactInteger(text: string): bigint | undefined {
  const d = parseDecimal(text);
  if (d === undefined) return undefined;
  const sign = d.neg ? -1n : 1n;
  if (d.exp10 >= 0) return sign * d.digits * 10n ** BigInt(d.exp10);
  const den = 10n ** BigInt(-d.exp10);
  return d.digits % den === 0n ? (sign * d.digits) / den : undefined;
}

export function parseBigFloat(text: string, prec = PRECISION): BigFloat | undefined {
  const d = parseDecimal(text);
  if (d === undefined) return undefined;
  return d.exp10 >= 0
    ? normalise(d.neg, d.digits * 10n ** BigInt(d.exp10), 0, prec)
    : ratio(d.neg, d.digits, 10n ** BigInt(-d.exp10), prec);
}

/** Exact, as Go's SetInt: the precision grows with the integer. */
export function fromBigInt(n: bigint): BigFloat {
  const mant = n < 0n ? -n : n;
  return { neg: n < 0n, mant, exp: 0, prec: Math.max(PRECISION, bits(mant)) };
}

const signed = (f: BigFloat): bigint => (f.neg ? -f.mant : f.mant);

export function add(a: BigFloat, b: BigFloat): BigFloat {
  const exp = Math.min(a.exp, b.exp);
  const sum = (signed(a) << BigInt(a.exp - exp)) + (signed(b) << BigInt(b.exp - exp));
  const prec = Math.max(a.prec, b.prec);
  return normalise(sum < 0n || (sum === 0n && a.neg && b.neg), sum < 0n ? -sum : sum, exp, prec);
}

export const negate = (a: BigFloat): BigFloat => ({ ...a, neg: !a.neg });
export const abs = (a: BigFloat): BigFloat => ({ ...a, neg: false });
export const subtract = (a: BigFloat, b: BigFloat): BigFloat => add(a, negate(b));

export function multiply(a: BigFloat, b: BigFloat, prec = Math.max(a.prec, b.prec)): BigFloat {
  return normalise(a.neg !== b.neg, a.mant * b.mant, a.exp + b.exp, prec);
}

/** `b` must not be zero. */
export function divide(a: BigFloat, b: BigFloat): BigFloat {
  const prec = Math.max(a.prec, b.prec);
  const q = ratio(a.neg !== b.neg, a.mant, b.mant, prec);
  return q.mant === 0n ? q : { ...q, exp: q.exp + a.exp - b.exp };
}

export const isZero = (f: BigFloat): boolean => f.mant === 0n;

/** Truncates toward zero. */
export function toBigInt(f: BigFloat): bigint {
  const n = f.exp >= 0 ? f.mant << BigInt(f.exp) : f.mant >> BigInt(-f.exp);
  return f.neg ? -n : n;
}

export function isInteger(f: BigFloat): boolean {
  if (f.exp >= 0 || f.mant === 0n) return true;
  return (f.mant & ((1n << BigInt(-f.exp)) - 1n)) === 0n;
}

interface Digits {
  readonly digits: string;
  /** Position of the decimal point: 0.digits * 10^point. */
  readonly point: number;
}

function exactDigits(mant: bigint, exp: number): Digits {
  if (exp >= 0) {
    const digits = (mant << BigInt(exp)).toString();
    return { digits, point: digits.length };
  }
  const digits = (mant * 5n ** BigInt(-exp)).toString();
  return { digits, point: digits.length + exp };
}

const trimZeros = (d: Digits): Digits => {
  const digits = d.digits.replace(/0+$/, "");
  return digits === "" ? { digits: "0", point: 1 } : { digits, point: d.point };
};

function roundUp(digits: string, count: number, point: number): Digits {
  const next = (BigInt(digits.slice(0, count) || "0") + 1n).toString();
  return next.length > count
    ? trimZeros({ digits: next, point: point + 1 })
    : trimZeros({ digits: next.padStart(count, "0"), point });
}

/** The shortest decimal that reads back as the same value at the same precision. */
function shortestDigits(f: BigFloat): Digits {
  if (f.mant === 0n) return { digits: "0", point: 1 };
  // Shift so that the lowest bit is half a unit in the last place.
  const shift = f.prec + 1 - bits(f.mant);
  const mant = f.mant << BigInt(shift);
  const exp = f.exp - shift;
  const d = trimZeros(exactDigits(mant, exp));
  const lower = trimZeros(exactDigits(mant - 1n, exp));
  const upper = trimZeros(exactDigits(mant + 1n, exp));
  const inclusive = (mant & 2n) === 0n;
  const at = (x: Digits, i: number): number => {
    const index = i - (d.point - x.point);
    return index < 0 || index >= x.digits.length ? 0 : x.digits.charCodeAt(index) - 48;
  };
  // A carry in the upper bound makes it one digit longer; then rounding up is always safe there.
  for (let i = 0; i < d.digits.length; i++) {
    const m = d.digits.charCodeAt(i) - 48;
    const okDown = at(lower, i) !== m || (inclusive && i + 1 === lower.digits.length);
    const u = at(upper, i);
    const okUp =
      (m !== u || upper.point > d.point) &&
      (inclusive || m + 1 < u || i + 1 < upper.digits.length || upper.point > d.point);
    if (okDown && okUp) return roundNearest(d, i + 1);
    if (okDown) return trimZeros({ digits: d.digits.slice(0, i + 1), point: d.point });
    if (okUp) return roundUp(d.digits, i + 1, d.point);
  }
  return d;
}

function roundNearest(d: Digits, count: number): Digits {
  const next = d.digits.charCodeAt(count) - 48;
  const exactHalf = next === 5 && count + 1 === d.digits.length;
  const odd = ((d.digits.charCodeAt(count - 1) - 48) & 1) === 1;
  return next > 5 || (next === 5 && (!exactHalf || odd))
    ? roundUp(d.digits, count, d.point)
    : trimZeros({ digits: d.digits.slice(0, count), point: d.point });
}

/** The text OPA gives a computed number: integers in full, others as Go's %g. */
export function formatBigFloat(f: BigFloat): string {
  const { digits, point } = shortestDigits(f);
  const sign = f.neg ? "-" : "";
  if (isInteger(f)) return sign + digits.padEnd(point, "0");
  const exp = point - 1;
  if (exp < -4 || exp >= 6) {
    const tail = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const e = Math.abs(exp).toString().padStart(2, "0");
    return `${sign}${digits.charAt(0)}${tail}e${exp < 0 ? "-" : "+"}${e}`;
  }
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  if (digits.length <= point) return sign + digits.padEnd(point, "0");
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
