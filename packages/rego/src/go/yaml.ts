// YAML in and out as sigs.k8s.io/yaml does it: JSON values only, YAML 1.1 words, sorted keys.
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseAllDocuments } from "yaml";
import type { Node, Pair } from "yaml";
import { parseNumber } from "../values/number.ts";
import { MAX_DEPTH, Num, RegoObject, RegoSet, isArray } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { keyText } from "../values/json.ts";
import { decodeBase64 } from "./base64.ts";
import { formatFloat } from "./strconv.ts";
import { decodeUtf8, encodeUtf8 } from "./utf8.ts";

export class YamlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "YamlError";
  }
}

/** Expanding aliases may not produce more nodes than this. */
const MAX_NODES = 1_000_000;

const TRUE = /^(?:true|True|TRUE)$/;
const FALSE = /^(?:false|False|FALSE)$/;
/** Booleans to YAML 1.1 readers: written in quotes, but read as plain text. */
const OLD_BOOLEAN = /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const NULL = /^(?:|~|null|Null|NULL)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

type Scalar = null | boolean | string | { readonly number: string };

/** What a plain scalar means. */
function resolve(text: string): Scalar {
  if (NULL.test(text)) return null;
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  if (!/^[-+.0-9]/.test(text)) return text;
  if (NOT_FINITE.test(text)) throw new YamlError(`json: unsupported value: ${text}`);
  return integer(text.replaceAll("_", "")) ?? float(text) ?? text;
}

function integer(text: string): { number: string } | undefined {
  const m = /^([-+]?)(0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)$/.exec(text);
  if (m === null) return undefined;
  const body = m[2] ?? "";
  const octal = /^0o?([0-7]+)$/.exec(body);
  const n = octal !== null ? BigInt(`0o${octal[1] ?? "0"}`) : BigInt(body);
  const value = m[1] === "-" ? -n : n;
  // Beyond 64 bits go-yaml falls back to a float.
  if (value >= 2n ** 64n || value < -(2n ** 63n)) return float(text);
  return { number: value.toString() };
}

function float(text: string): { number: string } | undefined {
  if (!FLOAT.test(text)) return undefined;
  const n = Number(text);
  return Number.isFinite(n) ? { number: jsonFloat(n) } : undefined;
}

/** Go's json.Marshal of a float64. */
function jsonFloat(n: number): string {
  const abs = Math.abs(n);
  if (abs !== 0 && (abs < 1e-6 || abs >= 1e21)) {
    return formatFloat(n, "e", -1).replace(/e-0(\d)$/, "e-$1");
  }
  return formatFloat(n, "f", -1);
}

interface Sized {
  readonly value: Value;
  readonly nodes: number;
}

class Converter {
  /** Values are made once and shared by their aliases, so a bomb of aliases is only counted. */
  private readonly anchors = new Map<string, Sized>();
  private nodes = 0;

  value(node: Node | null | undefined, depth: number): Value {
    if (depth > MAX_DEPTH) throw new YamlError("yaml: exceeded max depth");
    if (node !== null && isAlias(node)) return this.alias(node.source);
    const before = this.nodes;
    this.count(1);
    const value = this.convert(node, depth);
    if (node?.anchor !== undefined) {
      this.anchors.set(node.anchor, { value, nodes: this.nodes - before });
    }
    return value;
  }

  private count(nodes: number): void {
    this.nodes += nodes;
    if (this.nodes > MAX_NODES) throw new YamlError("yaml: document contains excessive aliasing");
  }

  private alias(name: string): Value {
    const target = this.anchors.get(name);
    if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`);
    this.count(target.nodes);
    return target.value;
  }

  private convert(node: Node | null | undefined, depth: number): Value {
    if (node === null || node === undefined) return null;
    if (isSeq(node)) return node.items.map((item) => this.value(item as Node, depth + 1));
    if (isMap(node)) return this.map(node.items as Pair<Node, Node | null>[], depth);
    return isScalar(node) ? toValue(this.scalar(node)) : null;
  }

  private scalar(node: {
    readonly type?: string | undefined;
    readonly source?: string | undefined;
    readonly tag?: string | undefined;
    readonly value: unknown;
  }): Scalar {
    const text = node.source ?? "";
    if (node.tag === "tag:yaml.org,2002:str" || node.tag === "!") return String(node.value);
    if (node.tag === "tag:yaml.org,2002:binary") return binaryText(text);
    if (/^tag:yaml.org,2002:(?:int|float|bool|null)$/.test(node.tag ?? "")) return resolve(text);
    if (node.type !== "PLAIN") return String(node.value);
    return resolve(text);
  }

  private map(items: readonly Pair<Node, Node | null>[], depth: number): Value {
    const own: [Value, Value][] = [];
    const merged: [Value, Value][] = [];
    for (const { key, value } of items) {
      if (isScalar(key) && key.type === "PLAIN" && key.source === "<<") {
        merged.push(...this.merge(value, depth));
      } else own.push([this.key(key), this.value(value, depth + 1)]);
    }
    return RegoObject.of([...merged, ...own]);
  }

  /** The first of several merged maps wins. */
  private merge(node: Node | null, depth: number): [Value, Value][] {
    const value = this.value(node, depth + 1);
    const maps = isArray(value) ? value : [value];
    return maps.toReversed().flatMap((map) => {
      if (!(map instanceof RegoObject)) {
        throw new YamlError("yaml: map merge requires map or sequence of maps as the value");
      }
      return map.entries().map(([key, item]): [Value, Value] => [key, item]);
    });
  }

  private key(node: Node | null): string {
    const key = this.value(node, 0);
    if (typeof key === "string") return key;
    if (typeof key === "boolean" || typeof key === "number" || key instanceof Num)
      return String(key);
    throw new YamlError("error converting YAML to JSON: yaml: invalid map key");
  }
}

function binaryText(text: string): string {
  try {
    return decodeUtf8(decodeBase64(encodeUtf8(text), "standard"));
  } catch {
    throw new YamlError("yaml: !!binary value contains invalid base64 data");
  }
}

function toValue(scalar: Scalar): Value {
  if (scalar === null || typeof scalar !== "object") return scalar;
  return parseNumber(scalar.number) ?? scalar.number;
}

/** The first document of a text. */
export function parseYaml(text: string): Value {
  const lines = new LineCounter();
  const docs = parseAllDocuments(text, {
    version: "1.1",
    schema: "failsafe",
    keepSourceTokens: false,
    lineCounter: lines,
    uniqueKeys: false,
    merge: false,
    stringKeys: false,
    logLevel: "silent",
  });
  const doc = Array.isArray(docs) ? docs[0] : undefined;
  if (doc === undefined) return null;
  const error = doc.errors[0];
  if (error !== undefined) {
    const at = lines.linePos(error.pos[0]);
    throw new YamlError(`yaml: line ${Math.max(1, at.line)}: ${explain(error.message)}`);
  }
  return new Converter().value(doc.contents, 0);
}

function explain(message: string): string {
  if (/flow.?sequence|end with a ]/i.test(message)) return "did not find expected ',' or ']'";
  if (/flow.?map|end with a }/i.test(message)) return "did not find expected ',' or '}'";
  if (/unique/i.test(message)) return "key already set in map";
  return `did not find expected key: ${message.split("\n")[0] ?? ""}`;
}

const RESERVED_START = /^[-?:,[\]{}#&*!|>'"%@`]/;
// go-yaml escapes everything beyond the basic plane.
const UNPRINTABLE = /[^\t\n\x20-\x7e\u0085\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;

function isPlain(text: string): boolean {
  if (text === "" || text.startsWith("---") || text.startsWith("...")) return false;
  if (/^ | $/.test(text) || /: |:$| #|[\t\n\r\u0085\u2028\u2029]/.test(text)) return false;
  if (!RESERVED_START.test(text)) return true;
  return /^[-?:][^\s]/.test(text);
}

const ESCAPED: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
  "\u0085": "\\N",
  "\u00a0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function doubleQuoted(text: string): string {
  let out = '"';
  for (const char of text) {
    const known = ESCAPED[char];
    if (known !== undefined && !(char === "\u00a0")) out += known;
    else if (UNPRINTABLE.test(char)) {
      const code = char.codePointAt(0) ?? 0;
      const hex = code.toString(16).toUpperCase();
      out +=
        code < 256
          ? `\\x${hex.padStart(2, "0")}`
          : code < 65536
            ? `\\u${hex.padStart(4, "0")}`
            : `\\U${hex.padStart(8, "0")}`;
    } else out += char;
  }
  return `${out}"`;
}

/** Old YAML 1.1 base-60 numbers are quoted for the sake of other readers. */
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
/** go-yaml reads these as times, so they are quoted too. */
const TIMESTAMP =
  /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d{2}:\d{2}(?:\.\d+)?[ \t]*(?:Z|[-+]\d{1,2}(?::\d{2})?)?)?$/;

function stringText(text: string, indent: string): string {
  const misread =
    OLD_BOOLEAN.test(text) ||
    NOT_FINITE.test(text) ||
    BASE_60.test(text) ||
    TIMESTAMP.test(text) ||
    typeof resolve(text) !== "string";
  if (misread || UNPRINTABLE.test(text.toWellFormed())) return doubleQuoted(text);
  if (text.includes("\n")) return literalBlock(text, indent) ?? doubleQuoted(text);
  return isPlain(text)
    ? text
    : /[\r\t]/.test(text)
      ? doubleQuoted(text)
      : `'${text.replaceAll("'", "''")}'`;
}

function literalBlock(text: string, indent: string): string | undefined {
  if (/[\r\u0085\u2028\u2029]| \n|[ \t]$/.test(text)) return undefined;
  const hint = /^[ \n]/.test(text) ? "2" : "";
  const chomp = text.endsWith("\n\n") || text === "\n" ? "+" : text.endsWith("\n") ? "" : "-";
  const lines = text.replace(/\n$/, "").split("\n");
  return `|${hint}${chomp}\n${lines.map((line) => (line === "" ? "" : indent + line)).join("\n")}`;
}

function numberText(value: number | Num): string {
  const text = String(value);
  if (/^-?\d+$/.test(text)) {
    const n = BigInt(text);
    if (n >= -(2n ** 63n) && n < 2n ** 64n) return text;
  }
  return formatFloat(Number(text), "g", -1);
}

/** Keys in go-yaml's natural order: letters after digits, digit runs by value. */
function compareKeys(a: string, b: string): number {
  const [x, y] = [Array.from(a), Array.from(b)];
  let digits = false;
  for (let i = 0; i < x.length && i < y.length; i++) {
    const [p, q] = [x[i] as string, y[i] as string];
    if (p === q) {
      digits = isDigit(p);
      continue;
    }
    const [pLetter, qLetter] = [/\p{L}/u.test(p), /\p{L}/u.test(q)];
    if (pLetter && qLetter) return codeOf(p) - codeOf(q);
    if (pLetter || qLetter) return (digits ? pLetter : qLetter) ? -1 : 1;
    return compareNumbersAt(x, y, i) || codeOf(p) - codeOf(q);
  }
  return x.length - y.length;
}

const isDigit = (char: string | undefined): boolean => char !== undefined && /^\p{Nd}$/u.test(char);
const codeOf = (char: string): number => char.codePointAt(0) ?? 0;

function compareNumbersAt(x: readonly string[], y: readonly string[], at: number): number {
  let start = at;
  // Zeros that differ only in number belong to the digits that follow.
  if (x[at] === "0" || y[at] === "0") {
    for (let j = at - 1; j >= 0 && isDigit(x[j]); j--) {
      if (x[j] !== "0") {
        start = j + 1;
        return runLength(x, y, at);
      }
    }
  }
  const read = (chars: readonly string[]): [bigint, number] => {
    let n = 0n;
    let i = start;
    for (; isDigit(chars[i]); i++) n = n * 10n + BigInt(codeOf(chars[i] as string) - 48);
    return [n, i];
  };
  const [an, ai] = read(x);
  const [bn, bi] = read(y);
  return an !== bn ? (an < bn ? -1 : 1) : ai - bi;
}

function runLength(x: readonly string[], y: readonly string[], at: number): number {
  let [i, j] = [at, at];
  while (isDigit(x[i])) i++;
  while (isDigit(y[j])) j++;
  return i - j;
}

export function marshalYaml(value: Value): string {
  return `${emit(value, "", "", 0).replace(/^\n/, "")}\n`;
}

/**
 * The text after "key:" or "-": a scalar on the same line or a block on lines of its own, indented
 * by `indent`; lines of a literal block are indented by `inner`.
 */
function emit(value: Value, indent: string, inner: string, depth: number): string {
  if (depth > MAX_DEPTH) throw new YamlError("yaml: exceeded max depth");
  if (typeof value === "string") return stringText(value, inner === "" ? "  " : inner);
  if (typeof value === "number" || value instanceof Num) return numberText(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (value instanceof RegoObject) return emitMap(value, indent, depth);
  const items = value instanceof RegoSet ? value.items() : value;
  if (items.length === 0) return "[]";
  const deeper = `${indent}  `;
  return items
    .map((item) => `\n${indent}- ${emit(item, deeper, deeper, depth + 1).replace(/^\n +/, "")}`)
    .join("");
}

function emitMap(value: RegoObject, indent: string, depth: number): string {
  if (value.size === 0) return "{}";
  return value
    .entries()
    .map(([key, item]): [string, Value] => [keyText(key), item])
    .sort((a, b) => compareKeys(a[0], b[0]))
    .map(([key, item]) => `\n${indent}${keyLine(key, indent)}${emitItem(item, indent, depth)}`)
    .join("");
}

function keyLine(key: string, indent: string): string {
  const text = stringText(key, `${indent}  `);
  // A long or multi-line key needs the explicit form.
  return text.includes("\n") || text.length > 128 ? `? ${text}\n${indent}:` : `${text}:`;
}

function emitItem(item: Value, indent: string, depth: number): string {
  const deeper = `${indent}  `;
  const text = emit(item, deeper, deeper, depth + 1);
  return text.startsWith("\n") ? text : ` ${text}`;
}
