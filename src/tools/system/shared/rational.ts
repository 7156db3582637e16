// Exact fractions of big integers, with bounds on size and work. Roots, exponentials and logarithms are approximated
// to the wanted number of digits and marked as inexact.

export type ArithmeticReason =
  "syntax" | "division_by_zero" | "overflow" | "too_complex" | "undefined_result";

export class ArithmeticFault extends Error {
  readonly reason: ArithmeticReason;
  /** 1-based place in the text, for faults of syntax. */
  readonly position: number | null;
  constructor(reason: ArithmeticReason, message: string, position: number | null = null) {
    super(message);
    this.reason = reason;
    this.position = position;
  }
}

/** In lowest terms, `d` positive. */
export interface Rational {
  readonly n: bigint;
  readonly d: bigint;
  readonly exact: boolean;
}

/** Largest numerator or denominator: about 4,900 decimal digits. */
const MAX_BITS = 16_384;
const GUARD_DIGITS = 20;

/** Arithmetic with one budget: every operation pays by the size of its numbers. */
export class Arithmetic {
  #work: number;
  readonly #digits: number;

  constructor(options: { digits: number; work: number }) {
    this.#digits = options.digits + GUARD_DIGITS;
    this.#work = options.work;
  }

  of(n: bigint, d = 1n, exact = true): Rational {
    if (d === 0n) throw new ArithmeticFault("division_by_zero", "division by zero");
    this.#pay(n, d);
    const divisor = gcd(n, d) * (d < 0n ? -1n : 1n);
    const value = { n: n / divisor, d: d / divisor, exact };
    if (!exact && bits(value.n) + bits(value.d) > this.#digits * 14) return this.#shorten(value);
    if (bits(value.n) > MAX_BITS || bits(value.d) > MAX_BITS) throw tooLarge();
    return value;
  }

  add(a: Rational, b: Rational): Rational {
    return this.of(a.n * b.d + b.n * a.d, a.d * b.d, a.exact && b.exact);
  }

  sub(a: Rational, b: Rational): Rational {
    return this.add(a, { ...b, n: -b.n });
  }

  mul(a: Rational, b: Rational): Rational {
    return this.of(a.n * b.n, a.d * b.d, a.exact && b.exact);
  }

  div(a: Rational, b: Rational): Rational {
    return this.of(a.n * b.d, a.d * b.n, a.exact && b.exact);
  }

  /** Remainder with the sign of the dividend, as in most programming languages. */
  mod(a: Rational, b: Rational): Rational {
    if (b.n === 0n) throw new ArithmeticFault("division_by_zero", "remainder of division by zero");
    return this.of((a.n * b.d) % (b.n * a.d), a.d * b.d, a.exact && b.exact);
  }

  compare(a: Rational, b: Rational): number {
    const difference = a.n * b.d - b.n * a.d;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  pow(base: Rational, exponent: Rational): Rational {
    const exact = base.exact && exponent.exact;
    if (exponent.d === 1n) return this.#integerPower(base, exponent.n, exact);
    if (base.n < 0n)
      throw new ArithmeticFault(
        "undefined_result",
        "a broken power of a negative number is not real",
      );
    if (base.n === 0n) {
      if (exponent.n < 0n)
        throw new ArithmeticFault("division_by_zero", "zero to a negative power");
      return { ...base, exact };
    }
    if (exponent.d === 2n) {
      const root = this.sqrt(base);
      return this.#integerPower(root, exponent.n, root.exact && exact);
    }
    return this.exp(this.mul(exponent, this.ln(base)));
  }

  sqrt(a: Rational): Rational {
    if (a.n < 0n)
      throw new ArithmeticFault(
        "undefined_result",
        "the square root of a negative number is not real",
      );
    const n = integerRoot(a.n);
    const d = integerRoot(a.d);
    if (n * n === a.n && d * d === a.d) return this.of(n, d, a.exact);
    const shift = Math.max(0, this.#digits + Math.ceil((bits(a.d) - bits(a.n)) / 6));
    this.#pay(a.n * 100n, a.d);
    return this.of(
      integerRoot((a.n * 10n ** BigInt(2 * shift)) / a.d),
      10n ** BigInt(shift),
      false,
    );
  }

  exp(a: Rational): Rational {
    if (a.n === 0n) return this.of(1n, 1n, a.exact);
    if (a.n / a.d > 11_000n || a.n / a.d < -11_000n) throw tooLarge();
    const scale = 10n ** BigInt(this.#digits + 6);
    this.#paySeries();
    const x = (a.n * scale) / a.d;
    const ln2 = ln2At(scale);
    const twos = x / ln2;
    const rest = x - twos * ln2;
    let sum = scale;
    let term = scale;
    for (let k = 1n; term !== 0n; k++) {
      term = (term * rest) / (scale * k);
      sum += term;
    }
    return twos < 0n ? this.of(sum, scale << -twos, false) : this.of(sum << twos, scale, false);
  }

  ln(a: Rational): Rational {
    if (a.n <= 0n)
      throw new ArithmeticFault("undefined_result", "the logarithm needs a positive number");
    if (a.n === a.d) return this.of(0n, 1n, a.exact);
    this.#paySeries();
    // a = m * 2^twos with m near 1; ln m = 2 artanh((m - 1) / (m + 1))
    const twos = bits(a.n) - bits(a.d);
    const n = twos < 0 ? a.n << BigInt(-twos) : a.n;
    const d = twos > 0 ? a.d << BigInt(twos) : a.d;
    // Close to 1 the logarithm is small: as many digits more as it has leading zeros.
    const zeros = Math.max(0, Math.ceil((bits(n + d) - bits(n - d)) / 3));
    const scale = 10n ** BigInt(this.#digits + zeros + 6);
    const sum = 2n * artanh(((n - d) * scale) / (n + d), scale) + BigInt(twos) * ln2At(scale);
    return this.of(sum, scale, false);
  }

  #integerPower(base: Rational, exponent: bigint, exact: boolean): Rational {
    if (exponent < 0n && base.n === 0n)
      throw new ArithmeticFault("division_by_zero", "zero to a negative power");
    const times = exponent < 0n ? -exponent : exponent;
    const size = Math.max(bits(base.n), bits(base.d));
    if (size > 1 && (times > MAX_BITS || (size - 1) * Number(times) > MAX_BITS)) throw tooLarge();
    // 0, 1 and -1 may be raised to anything.
    const power = size > 1 ? times : times === 0n ? 0n : 2n - (times % 2n);
    const n = base.n ** power;
    const d = base.d ** power;
    return exponent < 0n ? this.of(d, n, exact) : this.of(n, d, exact);
  }

  /** Keeps the leading digits of an inexact value, so that errors and sizes stay small. */
  #shorten({ n, d }: Rational): Rational {
    const shift = this.#digits - Math.floor((bits(n) - bits(d)) * Math.LOG10E * Math.LN2);
    if (Math.abs(shift) > MAX_BITS / 3) throw tooLarge();
    const power = 10n ** BigInt(Math.abs(shift));
    const short = shift >= 0 ? [(n * power) / d, power] : [(n / (d * power)) * power, 1n];
    const [top = 0n, bottom = 1n] = short;
    const divisor = gcd(top, bottom);
    return { n: top / divisor, d: bottom / divisor, exact: false };
  }

  /** What reducing n / d costs: the product of their lengths in machine words. */
  #pay(n: bigint, d: bigint): void {
    this.#work -= (1 + bits(n) / 64) * (1 + bits(d) / 64);
    if (this.#work < 0) throw tooComplex();
  }

  #paySeries(): void {
    this.#work -= this.#digits * 20;
    if (this.#work < 0) throw tooComplex();
  }
}

/** Decimal text with at most `precision` significant digits; `exact` when nothing was rounded away. */
export function toDecimal(value: Rational, precision: number): { text: string; exact: boolean } {
  if (value.n === 0n) return { text: "0", exact: value.exact };
  const n = value.n < 0n ? -value.n : value.n;
  let exponent = n.toString().length - value.d.toString().length;
  if (!atLeastPower(n, value.d, exponent)) exponent--;
  const shift = precision - 1 - exponent;
  const top = shift >= 0 ? n * 10n ** BigInt(shift) : n;
  const bottom = shift >= 0 ? value.d : value.d * 10n ** BigInt(-shift);
  const rest = top % bottom;
  let digits = (top / bottom + (rest * 2n >= bottom ? 1n : 0n)).toString();
  if (digits.length > precision) exponent++; // 9.99… was rounded up
  digits = digits.replace(/0+$/, "");
  const text =
    exponent < -7 || exponent >= Math.max(21, precision)
      ? scientific(digits, exponent)
      : plain(digits, exponent);
  return { text: (value.n < 0n ? "-" : "") + text, exact: value.exact && rest === 0n };
}

/** n / d >= 10 ** exponent */
function atLeastPower(n: bigint, d: bigint, exponent: number): boolean {
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent >= 0 ? n >= d * power : n * power >= d;
}

function scientific(digits: string, exponent: number): string {
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
  return `${digits.slice(0, 1)}${fraction}e${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
}

function plain(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return digits.length > exponent + 1 ? `${whole}.${digits.slice(exponent + 1)}` : whole;
}

function bits(n: bigint): number {
  const hex = (n < 0n ? -n : n).toString(16);
  return hex.length * 4 + 28 - Math.clz32(Number.parseInt(hex.slice(0, 1), 16));
}

function gcd(a: bigint, b: bigint): bigint {
  let x = a < 0n ? -a : a;
  let y = b < 0n ? -b : b;
  while (y !== 0n) [x, y] = [y, x % y];
  return x === 0n ? 1n : x;
}

/** Largest r with r * r <= n, by Newton's method from above. */
function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let root = 1n << BigInt(Math.ceil(bits(n) / 2));
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** artanh of z / scale, as a fixed-point number. */
function artanh(z: bigint, scale: bigint): bigint {
  const square = (z * z) / scale;
  let sum = z;
  let power = z;
  for (let k = 3n; power !== 0n; k += 2n) {
    power = (power * square) / scale;
    sum += power / k;
  }
  return sum;
}

/** ln 2 = 2 artanh(1/3) */
function ln2At(scale: bigint): bigint {
  return 2n * artanh(scale / 3n, scale);
}

function tooLarge(): ArithmeticFault {
  return new ArithmeticFault("overflow", "a value has more than about 4,900 digits");
}

function tooComplex(): ArithmeticFault {
  return new ArithmeticFault("too_complex", "the expression takes more work than is allowed");
}
