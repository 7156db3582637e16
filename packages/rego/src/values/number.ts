// Numbers as OPA has them: exact decimals. A JS number stands for the decimal that String(n) shows,
// so 0.1 is one tenth; what that cannot express (1.0, 1e1000, 2^53+1) is kept as text in a Num.

/** Sign, significant digits without zeros at either end, and the power of ten they are scaled by. */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly exponent: number;
}

const NUMBER_TEXT = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const ZERO: Decimal = { negative: false, digits: "", exponent: 0 };

function trimZeros(digits: string): { text: string; dropped: number } {
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === 48) start++;
  while (end > start && digits.charCodeAt(end - 1) === 48) end--;
  return { text: digits.slice(start, end), dropped: digits.length - end };
}

function parseDecimal(text: string): Decimal | undefined {
  const match = NUMBER_TEXT.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  const { text: digits, dropped } = trimZeros(whole + fraction);
  if (digits === "") return ZERO;
  return { negative: sign === "-", digits, exponent: Number(exponent) - fraction.length + dropped };
}

/** A number that no JS number holds exactly, or whose written form differs from the shortest one. */
export class Num {
  readonly text: string;
  readonly decimal: Decimal;
  /** The JS number of the same value, when there is one: it is then the key in sets and objects. */
  readonly plain: number | undefined;

  constructor(text: string, decimal: Decimal) {
    this.text = text;
    this.decimal = decimal;
    const near = Number(text);
    this.plain = Number.isFinite(near) && sameDecimal(decimalOf(near), decimal) ? near : undefined;
  }

  toString(): string {
    return this.text;
  }
}

export type NumberValue = number | Num;

function sameDecimal(a: Decimal, b: Decimal): boolean {
  return a.digits === b.digits && a.exponent === b.exponent && a.negative === b.negative;
}

/** Reads a JSON number text; undefined when it is none. */
export function parseNumber(text: string): NumberValue | undefined {
  const near = Number(text);
  if (String(near) === text && Number.isFinite(near)) return near;
  const decimal = parseDecimal(text);
  return decimal && new Num(text, decimal);
}

export function numberFromBigInt(value: bigint): NumberValue {
  const near = Number(value);
  if (Number.isSafeInteger(near)) return near;
  const text = value.toString();
  return new Num(text, parseDecimal(text) ?? ZERO);
}

export function decimalOf(value: NumberValue): Decimal {
  return typeof value === "number" ? (parseDecimal(String(value)) ?? ZERO) : value.decimal;
}

export function numberText(value: NumberValue): string {
  return typeof value === "number" ? String(value) : value.text;
}

/** The nearest double; infinite when the value is out of range. */
export function toDouble(value: NumberValue): number {
  return typeof value === "number" ? value : Number(value.text);
}

export function isInteger(value: NumberValue): boolean {
  return typeof value === "number" ? Number.isInteger(value) : value.decimal.exponent >= 0;
}

// 1e1000000000 is a valid literal; spelling it out as an integer would take all memory.
const MAX_INTEGER_DIGITS = 100_000;

/** The exact integer, or undefined when the value has a fraction or is absurdly long. */
export function toBigInt(value: NumberValue): bigint | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  const { negative, digits, exponent } = decimalOf(value);
  if (digits === "") return 0n;
  if (exponent < 0 || digits.length + exponent > MAX_INTEGER_DIGITS) return undefined;
  const magnitude = BigInt(digits) * 10n ** BigInt(exponent);
  return negative ? -magnitude : magnitude;
}

export function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : a > b ? 1 : 0;
  const x = decimalOf(a);
  const y = decimalOf(b);
  const signX = sign(x);
  const signY = sign(y);
  if (signX !== signY) return signX < signY ? -1 : 1;
  return signX < 0 ? compareMagnitude(y, x) : compareMagnitude(x, y);
}

function sign(value: Decimal): number {
  return value.digits === "" ? 0 : value.negative ? -1 : 1;
}

function compareMagnitude(a: Decimal, b: Decimal): number {
  const top = a.digits.length + a.exponent - (b.digits.length + b.exponent);
  if (top !== 0) return top < 0 ? -1 : 1;
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -1 : 1;
}

/** Equal numbers have equal keys, however they were written. */
export function numberKey(value: NumberValue): number | string {
  if (typeof value === "number") return value;
  if (value.plain !== undefined) return value.plain;
  const { negative, digits, exponent } = value.decimal;
  return `\u0000n${negative ? "-" : ""}${digits}e${String(exponent)}`;
}
