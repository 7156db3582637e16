// Go's fmt.Sprintf for the four kinds of argument OPA passes: integers, floats and strings.

export type FormatArg =
  | { readonly kind: "int"; readonly value: bigint; readonly big: boolean }
  | { readonly kind: "float"; readonly value: number }
  | { readonly kind: "string"; readonly value: string; readonly type?: string };

import { isPrintable, quoteGo } from "./quote.ts";
import { encodeUtf8 } from "./utf8.ts";
import { formatFloat } from "./strconv.ts";

interface Flags {
  plus: boolean;
  minus: boolean;
  sharp: boolean;
  space: boolean;
  zero: boolean;
  goSyntax: boolean;
  width: number | undefined;
  prec: number | undefined;
}

/** Wider fields than this are refused, as Go refuses them. */
const MAX_WIDTH = 1_000_000;
const SHOWN_TYPE = { int: "int64", float: "float64", string: "string" } as const;

const typeName = (a: FormatArg): string =>
  a.kind === "int" && a.big ? "*big.Int" : (a.kind === "string" && a.type) || SHOWN_TYPE[a.kind];
const isDigit = (c: string | undefined): boolean => c !== undefined && c >= "0" && c <= "9";

export function sprintf(format: string, args: readonly FormatArg[]): string {
  return new Printer(format, args).run();
}

class Printer {
  private out = "";
  private pos = 0;
  private argNum = 0;
  private reordered = false;
  private goodArgNum = true;
  private readonly chars: readonly string[];
  private readonly args: readonly FormatArg[];

  constructor(format: string, args: readonly FormatArg[]) {
    this.chars = Array.from(format);
    this.args = args;
  }

  run(): string {
    const { chars } = this;
    let wasReordered = false;
    while (this.pos < chars.length) {
      const start = this.pos;
      while (this.pos < chars.length && chars[this.pos] !== "%") this.pos++;
      if (this.pos > start) this.out += chars.slice(start, this.pos).join("");
      if (this.pos >= chars.length) break;
      this.pos++;
      this.reordered = false;
      this.directive();
      wasReordered ||= this.reordered;
    }
    if (!wasReordered && this.argNum < this.args.length) this.extra();
    return this.out;
  }

  private extra(): void {
    const rest = this.args
      .slice(this.argNum)
      .map((a) => `${typeName(a)}=${render(a, "v", noFlags())}`);
    this.out += `%!(EXTRA ${rest.join(", ")})`;
  }

  private directive(): void {
    const f = noFlags();
    const { chars } = this;
    flags: for (; this.pos < chars.length; this.pos++) {
      switch (chars[this.pos]) {
        case "#":
          f.sharp = true;
          break;
        case "0":
          f.zero = true;
          break;
        case "+":
          f.plus = true;
          break;
        case "-":
          f.minus = true;
          break;
        case " ":
          f.space = true;
          break;
        default:
          break flags;
      }
    }
    let afterIndex = this.argNumber();
    if (chars[this.pos] === "*") {
      this.pos++;
      f.width = this.intArg();
      if (f.width === undefined) this.out += "%!(BADWIDTH)";
      else if (f.width < 0) {
        f.width = -f.width;
        f.minus = true;
        f.zero = false;
      }
      afterIndex = false;
    } else {
      f.width = this.number();
      if (afterIndex && f.width !== undefined) this.goodArgNum = false;
    }
    if (this.pos + 1 < chars.length && chars[this.pos] === ".") {
      this.pos++;
      if (afterIndex) this.goodArgNum = false;
      afterIndex = this.argNumber();
      if (chars[this.pos] === "*") {
        this.pos++;
        f.prec = this.intArg();
        if (f.prec !== undefined && f.prec < 0) f.prec = undefined;
        else if (f.prec === undefined) this.out += "%!(BADPREC)";
        afterIndex = false;
      } else {
        f.prec = this.number() ?? 0;
      }
    }
    if (!afterIndex) this.argNumber();
    this.verb(f);
  }

  private verb(f: Flags): void {
    const verb = this.chars[this.pos];
    if (verb === undefined) {
      this.out += "%!(NOVERB)";
      return;
    }
    this.pos++;
    if (verb === "%") {
      this.out += "%";
      return;
    }
    if (!this.goodArgNum) {
      this.out += `%!${verb}(BADINDEX)`;
      this.goodArgNum = true;
      return;
    }
    const arg = this.args[this.argNum];
    if (arg === undefined) {
      this.out += `%!${verb}(MISSING)`;
      return;
    }
    this.argNum++;
    if (verb === "v") {
      // %+v and %#v are modes of their own, except for big integers, which see the plain flags.
      f.goSyntax = f.sharp;
      if (arg.kind !== "int" || !arg.big) f.sharp = f.plus = false;
    }
    this.out += render(arg, verb, f);
  }

  private number(): number | undefined {
    let n: number | undefined;
    while (isDigit(this.chars[this.pos])) {
      n = (n ?? 0) * 10 + Number(this.chars[this.pos]);
      this.pos++;
      if (n > MAX_WIDTH) return undefined;
    }
    return n;
  }

  private intArg(): number | undefined {
    const arg = this.args[this.argNum];
    if (this.argNum < this.args.length) this.argNum++;
    if (arg?.kind !== "int" || arg.big) return undefined;
    const n = Number(arg.value);
    return Math.abs(n) > MAX_WIDTH ? undefined : n;
  }

  /** Parses an explicit index such as `[2]`; returns whether one was found. */
  private argNumber(): boolean {
    if (this.chars[this.pos] !== "[") return false;
    this.reordered = true;
    const end = this.chars.indexOf("]", this.pos);
    if (end < 0) {
      this.goodArgNum = false;
      this.pos++;
      return false;
    }
    const text = this.chars.slice(this.pos + 1, end).join("");
    this.pos = end + 1;
    const index = /^\d{1,7}$/.test(text) ? Number(text) - 1 : -1;
    if (index < 0 || index >= this.args.length) {
      this.goodArgNum = false;
      return false;
    }
    this.argNum = index;
    return true;
  }
}

function noFlags(): Flags {
  return {
    plus: false,
    minus: false,
    sharp: false,
    space: false,
    zero: false,
    goSyntax: false,
    width: undefined,
    prec: undefined,
  };
}

function pad(text: string, f: Flags, zero = f.zero && !f.minus): string {
  const missing = (f.width ?? 0) - Array.from(text).length;
  if (missing <= 0) return text;
  if (f.minus) return text + " ".repeat(missing);
  return (zero ? "0" : " ").repeat(missing) + text;
}

function render(arg: FormatArg, verb: string, f: Flags): string {
  if (verb === "T") return pad(truncate(typeName(arg), f.prec), f);
  if (verb === "p") return bad(arg, verb, f);
  switch (arg.kind) {
    case "int":
      return arg.big ? renderBigInt(arg.value, verb, f) : renderInt(arg, verb, f);
    case "float":
      return renderFloat(arg, verb, f);
    case "string":
      return renderString(arg, verb, f);
  }
}

function bad(arg: FormatArg, verb: string, f: Flags): string {
  return `%!${verb}(${typeName(arg)}=${render(arg, "v", f)})`;
}

const BASES: Readonly<Record<string, number>> = { d: 10, v: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

function renderInt(arg: FormatArg & { kind: "int" }, verb: string, f: Flags): string {
  const n = arg.value;
  const base = BASES[verb];
  if (base !== undefined) return padInteger(integerText(n, base, verb, f), f);
  const code = n >= 0n && n <= 0x10ffffn && (n < 0xd800n || n > 0xdfffn) ? Number(n) : 0xfffd;
  if (verb === "c") return pad(String.fromCodePoint(code), f);
  if (verb === "q") return pad(quoteRune(code, f.plus), f);
  if (verb === "U") {
    const hex = BigInt.asUintN(64, n)
      .toString(16)
      .toUpperCase()
      .padStart(Math.max(4, f.prec ?? 4), "0");
    const shown = f.sharp && n === BigInt(code) && isPrintable(String.fromCodePoint(code));
    return pad(shown ? `U+${hex} '${String.fromCodePoint(code)}'` : `U+${hex}`, f, false);
  }
  return bad(arg, verb, f);
}

function quoteRune(code: number, ascii: boolean): string {
  const q = quoteGo(String.fromCodePoint(code), ascii).slice(1, -1);
  return q === '\\"' ? `'"'` : q === "'" ? `'\\''` : `'${q}'`;
}

interface IntegerText {
  readonly sign: string;
  readonly prefix: string;
  readonly digits: string;
}

function integerText(n: bigint, base: number, verb: string, f: Flags): IntegerText {
  const neg = n < 0n;
  let digits = (neg ? -n : n).toString(base);
  if (verb === "X") digits = digits.toUpperCase();
  if (f.prec !== undefined) {
    digits = f.prec === 0 && n === 0n ? "" : digits.padStart(f.prec, "0");
  }
  let prefix = "";
  if (f.sharp) {
    if (verb === "b") prefix = "0b";
    else if ((verb === "o" || verb === "O") && !digits.startsWith("0")) prefix = "0";
    else if (verb === "x" || verb === "X") prefix = `0${verb}`;
  }
  if (verb === "O") prefix = `0o${prefix}`;
  return { sign: neg ? "-" : f.plus ? "+" : f.space ? " " : "", prefix, digits };
}

function padInteger(t: IntegerText, f: Flags): string {
  let { digits } = t;
  // Zero padding counts the sign but not the prefix, as in Go.
  if (f.prec === undefined && f.zero && !f.minus && f.width !== undefined) {
    digits = digits.padStart(f.width - t.sign.length, "0");
  }
  if (digits === "" && f.prec === 0) return " ".repeat(f.width ?? 0);
  return pad(t.sign + t.prefix + digits, f, false);
}

function renderBigInt(n: bigint, verb: string, f: Flags): string {
  const base = verb === "s" ? 10 : BASES[verb];
  if (base === undefined) return `%!${verb}(big.Int=${n.toString()})`;
  const t = integerText(n, base, verb, verb === "O" ? { ...f, sharp: false } : f);
  const used = t.sign.length + t.prefix.length + t.digits.length;
  const zeros = f.zero && !f.minus && f.prec === undefined ? Math.max(0, (f.width ?? 0) - used) : 0;
  return pad(t.sign + t.prefix + "0".repeat(zeros) + t.digits, f, false);
}

const FLOAT_VERBS = new Set(["e", "E", "f", "F", "g", "G", "b", "x", "X", "v"]);

function renderFloat(arg: FormatArg & { kind: "float" }, verb: string, f: Flags): string {
  if (!FLOAT_VERBS.has(verb)) return bad(arg, verb, f);
  const style = verb === "v" ? "g" : verb === "F" ? "f" : verb;
  const fixed = style === "e" || style === "E" || style === "f";
  const prec = f.prec ?? (fixed ? 6 : -1);
  let text = formatFloat(arg.value, style, prec);
  let sign = "";
  if (text.startsWith("-")) {
    sign = "-";
    text = text.slice(1);
  } else if (f.plus) sign = "+";
  else if (f.space) sign = " ";
  const finite = Number.isFinite(arg.value);
  if (f.sharp && finite && style !== "b") text = sharpFloat(text, style, f.prec);
  if (f.zero && !f.minus && finite && f.width !== undefined) {
    return sign + text.padStart(f.width - sign.length, "0");
  }
  return pad(sign + text, f, false);
}

/** `%#g` keeps the decimal point and the trailing zeros. */
function sharpFloat(text: string, style: string, prec: number | undefined): string {
  const cut = text.search(style === "x" || style === "X" ? /[pP]/ : /[eE]/);
  let mantissa = cut < 0 ? text : text.slice(0, cut);
  const tail = cut < 0 ? "" : text.slice(cut);
  const counted = style === "g" || style === "G" || style === "x";
  let wanted = counted ? (prec ?? 6) : 0;
  const digits = mantissa.replace(/^0+(\.0*)?/, "").replace(".", "").length;
  if (!mantissa.includes(".")) mantissa += ".";
  wanted -= digits;
  return mantissa + "0".repeat(Math.max(0, wanted)) + tail;
}

function renderString(arg: FormatArg & { kind: "string" }, verb: string, f: Flags): string {
  switch (verb) {
    case "v":
      return f.goSyntax
        ? pad(quoteGo(truncate(arg.value, f.prec)), f)
        : pad(truncate(arg.value, f.prec), f);
    case "s":
      return pad(truncate(arg.value, f.prec), f);
    case "q": {
      const text = truncate(arg.value, f.prec);
      const raw = f.sharp && !/[`\p{Cc}\ufeff]/u.test(text.replaceAll("\t", ""));
      return pad(raw ? `\`${text}\`` : quoteGo(text, f.plus), f);
    }
    case "x":
    case "X":
      return pad(hexText(arg.value, verb, f), f);
    default:
      return bad(arg, verb, f);
  }
}

const truncate = (text: string, prec: number | undefined): string =>
  prec === undefined ? text : Array.from(text).slice(0, prec).join("");

function hexText(text: string, verb: string, f: Flags): string {
  let bytes = encodeUtf8(text);
  if (f.prec !== undefined) bytes = bytes.subarray(0, f.prec);
  if (bytes.length === 0) return "";
  const parts = Array.from(bytes, (b) => b.toString(16).padStart(2, "0"));
  const prefix = f.sharp ? "0x" : "";
  const joined = f.space ? parts.map((p) => prefix + p).join(" ") : prefix + parts.join("");
  return verb === "X" ? joined.toUpperCase() : joined;
}
