// Go's strconv for float64: formatting in the styles of fmt and checking of number texts.

function split(x: number, fractionDigits?: number): { neg: boolean; digits: string; exp: number } {
  const [mantissa = "0", exponent = "0"] = Math.abs(x).toExponential(fractionDigits).split("e");
  return {
    neg: x < 0 || Object.is(x, -0),
    digits: mantissa.replace(".", ""),
    exp: Number(exponent),
  };
}

function exponentText(exp: number): string {
  return `${exp < 0 ? "-" : "+"}${Math.abs(exp).toString().padStart(2, "0")}`;
}

function scientific(digits: string, exp: number, letter: string): string {
  const tail = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return `${digits.charAt(0)}${tail}${letter}${exponentText(exp)}`;
}

function positional(digits: string, exp: number): string {
  if (exp < 0) return `0.${"0".repeat(-exp - 1)}${digits}`;
  if (digits.length <= exp + 1) return digits.padEnd(exp + 1, "0");
  return `${digits.slice(0, exp + 1)}.${digits.slice(exp + 1)}`;
}

/** `prec` -1 is the shortest text that reads back as the same number. */
export function formatFloat(x: number, style: string, prec: number): string {
  if (Number.isNaN(x)) return "NaN";
  if (!Number.isFinite(x)) return x < 0 ? "-Inf" : "+Inf";
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  switch (style) {
    case "e":
    case "E": {
      const { digits, exp } = prec < 0 ? split(x) : exactDigits(x, Math.min(prec, 1100) + 1);
      return sign + scientific(digits, exp, style);
    }
    case "f":
      if (prec < 0) {
        const { digits, exp } = split(x);
        return sign + positional(digits, exp);
      }
      return sign + fixed(Math.abs(x), Math.min(prec, 1100));
    case "g":
    case "G":
      return sign + general(x, style, prec);
    case "b":
      return sign + binaryExponent(Math.abs(x));
    default:
      return sign + hexadecimal(Math.abs(x), style, prec);
  }
}

function general(x: number, style: string, prec: number): string {
  const shortest = prec < 0;
  const significant = prec === 0 ? 1 : prec;
  const source = shortest ? split(x) : exactDigits(x, significant);
  const digits = source.digits.replace(/0+$/, "") || "0";
  let limit = significant;
  if (limit > digits.length && digits.length >= source.exp + 1) limit = digits.length;
  if (shortest) limit = 6;
  if (source.exp < -4 || source.exp >= limit) {
    return scientific(digits, source.exp, style === "G" ? "E" : "e");
  }
  return positional(digits, source.exp);
}

interface Exact {
  readonly mant: bigint;
  readonly exp: number;
}

function decompose(x: number): Exact {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(x));
  const raw = view.getBigUint64(0);
  const biased = Number(raw >> 52n) & 0x7ff;
  const fraction = raw & 0xfffffffffffffn;
  return biased === 0
    ? { mant: fraction, exp: -1074 }
    : { mant: fraction | (1n << 52n), exp: biased - 1075 };
}

/** Exact decimal digits, rounded half to even as Go does. */
function exactDigits(x: number, count: number): { digits: string; exp: number } {
  if (x === 0) return { digits: "0".repeat(count), exp: 0 };
  const { mant, exp } = decompose(x);
  const all = exp >= 0 ? (mant << BigInt(exp)).toString() : (mant * 5n ** BigInt(-exp)).toString();
  const point = exp >= 0 ? all.length : all.length + exp;
  if (all.length <= count) return { digits: all.padEnd(count, "0"), exp: point - 1 };
  const rounded = roundDecimal(all, count);
  return rounded.length > count
    ? { digits: rounded.slice(0, count), exp: point }
    : { digits: rounded, exp: point - 1 };
}

function roundDecimal(all: string, count: number): string {
  const head = BigInt(all.slice(0, count) || "0");
  const rest = all.slice(count);
  const half = `5${"0".repeat(rest.length - 1)}`;
  const up = rest > half || (rest === half && (head & 1n) === 1n);
  return (up ? head + 1n : head).toString().padStart(count, "0");
}

function fixed(x: number, prec: number): string {
  const { mant, exp } = decompose(x);
  const scale = 10n ** BigInt(prec);
  const num = mant * scale;
  let n: bigint;
  if (exp >= 0) n = num << BigInt(exp);
  else {
    const den = 1n << BigInt(-exp);
    n = num / den;
    const twice = (num - n * den) * 2n;
    if (twice > den || (twice === den && (n & 1n) === 1n)) n += 1n;
  }
  const digits = n.toString().padStart(prec + 1, "0");
  return prec === 0 ? digits : `${digits.slice(0, -prec)}.${digits.slice(-prec)}`;
}

function binaryExponent(x: number): string {
  const { mant, exp } = decompose(x);
  return `${mant.toString()}p${exp < 0 ? "-" : "+"}${Math.abs(exp).toString()}`;
}

function hexadecimal(x: number, style: string, prec: number): string {
  const upper = style === "X";
  if (x === 0) {
    const zeros = prec > 0 ? `.${"0".repeat(prec)}` : "";
    return upper ? `0X0${zeros}P+00` : `0x0${zeros}p+00`;
  }
  let { mant, exp } = decompose(x);
  while (mant < 1n << 52n) {
    mant <<= 1n;
    exp--;
  }
  exp += 52;
  // 1.fraction with 13 hexadecimal digits after the point.
  if (prec >= 0 && prec < 13) {
    const shift = BigInt((13 - prec) * 4);
    const half = 1n << (shift - 1n);
    const rest = mant & ((1n << shift) - 1n);
    let kept = mant >> shift;
    if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
    mant = kept << shift;
    if (mant >> 53n !== 0n) {
      mant >>= 1n;
      exp++;
    }
  }
  let digits = (mant & ((1n << 52n) - 1n)).toString(16).padStart(13, "0");
  digits = prec < 0 ? digits.replace(/0+$/, "") : digits.slice(0, prec).padEnd(prec, "0");
  const text = `0x1${digits === "" ? "" : `.${digits}`}p${exponentText(exp)}`;
  return upper ? text.toUpperCase() : text;
}

// Underscores are only for base-prefixed literals, which ParseFloat accepts in hexadecimal.
const FLOAT_TEXT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const HEX_FLOAT = /^[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+$/;

/** What is wrong with a text for strconv.ParseFloat, as Go describes it. */
export function floatSyntaxError(
  text: string,
): "invalid syntax" | "value out of range" | undefined {
  if (HEX_FLOAT.test(text)) return undefined;
  if (!FLOAT_TEXT.test(text)) return "invalid syntax";
  return Number.isFinite(Number(text)) ? undefined : "value out of range";
}
