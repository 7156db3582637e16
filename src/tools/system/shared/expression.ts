// Arithmetic expressions: a Pratt parser that builds closures over exact fractions. Nothing is ever evaluated as code.
import { Arithmetic, ArithmeticFault, toDecimal, type Rational } from "./rational.ts";

const MAX_DEPTH = 100;
const MAX_WORK = 500_000;
/** Far beyond what a literal of 1,000 characters can need, below what a value may hold. */
const MAX_LITERAL_EXPONENT = 4_900;

type Node = (math: Arithmetic) => Rational;

interface Token {
  readonly kind: "number" | "name" | "sign" | "end";
  readonly text: string;
  /** 1-based. */
  readonly position: number;
}

type Binary = (math: Arithmetic, a: Rational, b: Rational) => Rational;

/** Binding power to the left; the right operand binds one tighter unless the operator groups to the right. */
const BINARY: ReadonlyMap<string, { power: number; toRight?: true; apply: Binary }> = new Map([
  ["+", { power: 10, apply: (math, a, b) => math.add(a, b) }],
  ["-", { power: 10, apply: (math, a, b) => math.sub(a, b) }],
  ["*", { power: 20, apply: (math, a, b) => math.mul(a, b) }],
  ["/", { power: 20, apply: (math, a, b) => math.div(a, b) }],
  ["%", { power: 20, apply: (math, a, b) => math.mod(a, b) }],
  ["^", { power: 40, toRight: true, apply: (math, a, b) => math.pow(a, b) }],
]);
const UNARY_POWER = 30; // -2^2 is -4, 2^-2 is 0.25
const POSTFIX_POWER = 50;

type Call = (math: Arithmetic, ...values: [Rational, ...Rational[]]) => Rational;

/** Name, least and most arguments, meaning. */
const FUNCTIONS: ReadonlyMap<string, { least: number; most: number; apply: Call }> = new Map(
  Object.entries({
    abs: fixed(1, (_math, a) => (a.n < 0n ? { ...a, n: -a.n } : a)),
    floor: fixed(1, (math, a) => math.of(floor(a), 1n, a.exact)),
    ceil: fixed(1, (math, a) => math.of(-floor({ ...a, n: -a.n }), 1n, a.exact)),
    trunc: fixed(1, (math, a) => math.of(a.n / a.d, 1n, a.exact)),
    round: fixed(1, (math, a) => math.of(roundHalfAway(a), 1n, a.exact)),
    sqrt: fixed(1, (math, a) => math.sqrt(a)),
    exp: fixed(1, (math, a) => math.exp(a)),
    ln: fixed(1, (math, a) => math.ln(a)),
    log10: fixed(1, (math, a) => logarithm(math, a, 10n)),
    log2: fixed(1, (math, a) => logarithm(math, a, 2n)),
    min: {
      least: 1,
      most: 100,
      apply: (math, ...all) => all.reduce((a, b) => (math.compare(b, a) < 0 ? b : a)),
    },
    max: {
      least: 1,
      most: 100,
      apply: (math, ...all) => all.reduce((a, b) => (math.compare(b, a) > 0 ? b : a)),
    },
  }),
);

// 80 digits: more than the highest precision and its guard digits need.
const PI = 314159265358979323846264338327950288419716939937510582097494459230781640628620899n;
const E = 271828182845904523536028747135266249775724709369995957496696762772407663035354759n;
const CONSTANTS: ReadonlyMap<string, bigint> = new Map([
  ["pi", PI],
  ["e", E],
]);

export const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys()];

/** Evaluates to at most `precision` significant digits; throws ArithmeticFault. */
export function evaluate(expression: string, precision: number): { text: string; exact: boolean } {
  const node = new Parser(tokensOf(expression)).parse();
  return toDecimal(node(new Arithmetic({ digits: precision, work: MAX_WORK })), precision);
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Node {
    const node = this.#expression(0);
    const rest = this.#peek();
    if (rest.kind !== "end") throw unexpected(rest, "an operator");
    return node;
  }

  #expression(least: number): Node {
    if (++this.#depth > MAX_DEPTH)
      throw new ArithmeticFault("too_complex", `nested deeper than ${MAX_DEPTH}`);
    let left = this.#prefix();
    for (;;) {
      const token = this.#peek();
      if (token.text === "!" && POSTFIX_POWER >= least) {
        this.#take();
        left = factorialOf(left);
        continue;
      }
      const operator = token.kind === "sign" ? BINARY.get(token.text) : undefined;
      if (!operator || operator.power < least) break;
      this.#take();
      const right = this.#expression(operator.power + (operator.toRight ? 0 : 1));
      left = binary(operator.apply, left, right);
    }
    this.#depth--;
    return left;
  }

  #prefix(): Node {
    const token = this.#take();
    if (token.kind === "number") return literal(token);
    if (token.kind === "name") return this.#named(token);
    if (token.text === "-") {
      const inner = this.#expression(UNARY_POWER);
      return (math) => {
        const value = inner(math);
        return { ...value, n: -value.n };
      };
    }
    if (token.text === "+") return this.#expression(UNARY_POWER);
    if (token.text === "(") {
      const inner = this.#expression(0);
      this.#expect(")");
      return inner;
    }
    throw unexpected(token, "a number, a name or (");
  }

  #named(token: Token): Node {
    const constant = CONSTANTS.get(token.text);
    if (constant !== undefined) return (math) => math.of(constant, 10n ** 80n, false);
    const known = FUNCTIONS.get(token.text);
    if (!known) {
      const names = [...FUNCTION_NAMES, ...CONSTANTS.keys()].join(", ");
      throw syntax(`unknown name ${JSON.stringify(token.text)}; known are ${names}`, token);
    }
    this.#expect("(");
    const first = this.#expression(0);
    const others: Node[] = [];
    while (this.#peek().text === ",") {
      this.#take();
      others.push(this.#expression(0));
    }
    this.#expect(")");
    const count = others.length + 1;
    if (count < known.least || count > known.most) {
      throw syntax(
        `${token.text} takes ${known.most === 1 ? "one argument" : `1 to ${known.most} arguments`}, got ${count}`,
        token,
      );
    }
    return (math) => known.apply(math, first(math), ...others.map((node) => node(math)));
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", text: "", position: 1 };
  }

  #take(): Token {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  #expect(text: string): void {
    const token = this.#take();
    if (token.text !== text) throw unexpected(token, JSON.stringify(text));
  }
}

const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z][A-Za-z0-9_]*)|(\*\*|[-+*/%^!(),])|(\S))/uy;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const scanner = new RegExp(TOKEN); // its own lastIndex
  for (let match = scanner.exec(text); match; match = scanner.exec(text)) {
    const [whole, number, name, sign, other] = match;
    const found = number ?? name ?? sign ?? other ?? "";
    const position = match.index + whole.length - found.length + 1;
    if (other !== undefined) throw syntax(`unexpected ${JSON.stringify(other)}`, { position });
    const kind = number !== undefined ? "number" : name !== undefined ? "name" : "sign";
    tokens.push({ kind, text: found === "**" ? "^" : found, position });
  }
  tokens.push({ kind: "end", text: "", position: text.length + 1 });
  return tokens;
}

function literal(token: Token): Node {
  const [mantissa = "", power = "0"] = token.text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const exponent = Number(power) - fraction.length;
  if (Math.abs(exponent) > MAX_LITERAL_EXPONENT)
    throw new ArithmeticFault("overflow", `the number ${token.text} is too large or too small`);
  const digits = BigInt(whole + fraction);
  const scale = 10n ** BigInt(Math.abs(exponent));
  return (math) => (exponent < 0 ? math.of(digits, scale) : math.of(digits * scale));
}

function binary(apply: Binary, left: Node, right: Node): Node {
  return (math) => apply(math, left(math), right(math));
}

function factorialOf(inner: Node): Node {
  return (math) => {
    const value = inner(math);
    if (value.d !== 1n || value.n < 0n)
      throw new ArithmeticFault("undefined_result", "the factorial needs a whole number from 0 up");
    let product = math.of(1n, 1n, value.exact);
    for (let factor = 2n; factor <= value.n; factor++) product = math.mul(product, math.of(factor));
    return product;
  };
}

function fixed(count: number, apply: Call): { least: number; most: number; apply: Call } {
  return { least: count, most: count, apply };
}

function floor({ n, d }: Rational): bigint {
  const quotient = n / d;
  return n < 0n && quotient * d !== n ? quotient - 1n : quotient;
}

function roundHalfAway(a: Rational): bigint {
  const magnitude = ((a.n < 0n ? -a.n : a.n) * 2n + a.d) / (2n * a.d);
  return a.n < 0n ? -magnitude : magnitude;
}

/** Whole powers of the base have an exact answer. */
function logarithm(math: Arithmetic, a: Rational, base: bigint): Rational {
  if (a.n > 0n && (a.d === 1n || a.n === 1n)) {
    const large = a.d === 1n ? a.n : a.d;
    const power = base === 2n ? large.toString(2).length - 1 : large.toString().length - 1;
    if (base ** BigInt(power) === large)
      return math.of(BigInt(a.d === 1n ? power : -power), 1n, a.exact);
  }
  return math.div(math.ln(a), math.ln(math.of(base)));
}

function syntax(message: string, at: { position: number }): ArithmeticFault {
  return new ArithmeticFault("syntax", message, at.position);
}

function unexpected(token: Token, wanted: string): ArithmeticFault {
  const got = token.kind === "end" ? "the end" : JSON.stringify(token.text);
  return syntax(`expected ${wanted}, got ${got}`, token);
}
