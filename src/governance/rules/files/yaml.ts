// Reads YAML and keeps the place of everything, so that a fault says file, line and column, and a rule where it is
// written.
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from "yaml";
import { nearest } from "../../../util/text/nearest.ts";
import type { DocumentFault, RuleSource } from "../governance.ts";

const MAX_CHARS = 1_048_576;
/** So much of a rule is quoted where it decided. */
const MAX_RULE_CHARS = 300;

/** A value with its line. */
export interface Ruled<T> {
  readonly value: T;
  readonly rule: RuleSource;
}

/** One file being read: faults are collected, never thrown, so that all of them are reported at once. */
class Source {
  readonly file: string;
  readonly lines: readonly string[];
  readonly faults: DocumentFault[];
  readonly counter = new LineCounter();

  constructor(file: string, text: string, faults: DocumentFault[]) {
    this.file = file;
    this.lines = text.split("\n");
    this.faults = faults;
  }

  placeOf(offset: number): { line: number; column: number } {
    const { line, col } = this.counter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  fault(offset: number, message: string): void {
    this.faults.push({ file: this.file, ...this.placeOf(offset), message });
  }
}

/**
 * A node of the file under its dotted name. Every reader reports its fault and answers undefined when the node does not
 * fit.
 */
export class YamlEntry {
  readonly name: string;
  readonly #source: Source;
  /** Undefined: the key is missing, which was reported already; further reads report nothing. */
  readonly #node: Node | null | undefined;
  readonly #offset: number;

  constructor(source: Source, name: string, node: Node | null | undefined, offset: number) {
    this.#source = source;
    this.name = name;
    this.#node = node;
    this.#offset = offset;
  }

  get rule(): RuleSource {
    const { line } = this.#source.placeOf(this.#offset);
    const lines = this.#source.lines.slice(line - 1, this.#lastLine(line));
    const text = lines.map((one) => one.trim()).join(" ");
    return {
      at: `${this.#source.file}:${line}`,
      text: text.length > MAX_RULE_CHARS ? `${text.slice(0, MAX_RULE_CHARS)} …` : text,
    };
  }

  /** A list in brackets may begin below its key and span several lines; all else is quoted by its first line. */
  #lastLine(first: number): number {
    const node = this.#node;
    if (!isSeq(node) || node.flow !== true || !node.range) return first;
    return this.#source.placeOf(node.range[1] - 1).line;
  }

  fault(message: string): undefined {
    const name = this.name === "" ? "" : `${this.name}: `;
    this.#source.fault(this.#offset, `${name}${message}`);
    return undefined;
  }

  /** A map whose keys are known; others are refused with the nearest known one. */
  fields<R extends string, O extends string = never>(
    required: readonly R[],
    optional: readonly O[] = [],
  ): Record<R, YamlEntry> & Partial<Record<O, YamlEntry>> {
    const known: readonly string[] = [...required, ...optional];
    const found: Record<string, YamlEntry> = {};
    for (const [key, entry] of this.entries()) {
      if (known.includes(key)) found[key] = entry;
      else entry.#unknownKey(key, this.name, known);
    }
    for (const key of required) {
      if (found[key]) continue;
      if (this.#node !== undefined) this.fault(`the key ${key} is missing`);
      found[key] = new YamlEntry(this.#source, this.#child(key), undefined, this.#offset);
    }
    return found as Record<R, YamlEntry> & Partial<Record<O, YamlEntry>>;
  }

  /** A map with keys of its own choosing; an empty value is an empty map. */
  entries(): [string, YamlEntry][] {
    const node = this.#node;
    if (!node || (isScalar(node) && node.value === null)) return [];
    if (!isMap(node)) return this.fault(`expected "key: value" lines, got ${kindOf(node)}`) ?? [];
    return node.items.map((pair) => {
      const key = pair.key as Node;
      const name = isScalar(key) ? String(key.value) : "?";
      const offset = key.range?.[0] ?? this.#offset;
      const value = (pair.value as Node | null) ?? null;
      return [name, new YamlEntry(this.#source, this.#child(name), value, offset)];
    });
  }

  /** A list; an empty value is an empty list. */
  items(): YamlEntry[] {
    const node = this.#node;
    if (!node || (isScalar(node) && node.value === null)) return [];
    if (!isSeq(node)) return this.fault(`expected a list, got ${kindOf(node)}`) ?? [];
    return node.items.map((item, index) => {
      const child = item as Node;
      const name = `${this.name}[${index}]`;
      return new YamlEntry(this.#source, name, child, child.range?.[0] ?? this.#offset);
    });
  }

  text(): string | undefined {
    const value = this.#scalar("text");
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.trim() !== "") return value;
    return this.fault(`expected text, got ${show(value)}`);
  }

  texts(): Ruled<string>[] {
    return this.items().flatMap((item) => {
      const value = item.text();
      return value === undefined ? [] : [{ value, rule: item.rule }];
    });
  }

  number(min: number, max: number): number | undefined {
    const value = this.#scalar("a number");
    if (value === undefined) return undefined;
    if (typeof value === "number" && value >= min && value <= max) return value;
    return this.fault(`expected a number from ${min} to ${max}, got ${show(value)}`);
  }

  whole(min: number, max: number): number | undefined {
    const value = this.#scalar("a whole number");
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max)
      return value as number;
    return this.fault(`expected a whole number from ${min} to ${max}, got ${show(value)}`);
  }

  /** A whole number, or the word `none` for null: forgotten and decided differ. */
  limit(max = Number.MAX_SAFE_INTEGER): number | null | undefined {
    const value = this.#scalar("a number");
    if (value === "none") return null;
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max)
      return value as number;
    return this.fault(`expected a whole number up to ${max} or none, got ${show(value)}`);
  }

  flag(): boolean | undefined {
    const value = this.#scalar("true or false");
    if (value === undefined || typeof value === "boolean") return value;
    return this.fault(`expected true or false, got ${show(value)}`);
  }

  choice<W extends string>(words: readonly W[]): W | undefined {
    const value = this.#scalar(words.join(", "));
    if (value === undefined) return undefined;
    const word = words.find((known) => known === value);
    if (word !== undefined) return word;
    return this.fault(
      `expected one of ${words.join(", ")}, got ${show(value)}${meant(typeof value === "string" ? nearest(value, words) : null)}`,
    );
  }

  unknown(what: string, name: string, known: Iterable<string>): undefined {
    const words = [...known];
    const guess = nearest(name, words);
    const listed =
      guess === null && words.length > 0 && words.length <= 12
        ? `; known: ${words.join(", ")}`
        : "";
    this.#source.fault(this.#offset, `${what} ${JSON.stringify(name)}${meant(guess)}${listed}`);
    return undefined;
  }

  #unknownKey(key: string, section: string, known: readonly string[]): void {
    this.unknown(section === "" ? "unknown key" : `${section}: unknown key`, key, known);
  }

  #scalar(expected: string): unknown {
    const node = this.#node;
    if (node === undefined) return undefined;
    if (isScalar(node) && node.value !== null) return node.value;
    return this.fault(`expected ${expected}, got ${kindOf(node)}`);
  }

  #child(key: string): string {
    return this.name === "" ? key : `${this.name}.${key}`;
  }
}

/**
 * The file as one entry without a name. Text that is missing or no YAML gives faults and an entry that reads as
 * nothing.
 */
export function readYaml(
  file: string,
  text: string | undefined,
  faults: DocumentFault[],
): YamlEntry {
  const source = new Source(file, text ?? "", faults);
  const nothing = new YamlEntry(source, "", undefined, 0);
  if (text === undefined || text.length > MAX_CHARS) {
    source.fault(
      0,
      text === undefined
        ? "the file is missing"
        : `the file is larger than ${MAX_CHARS} characters`,
    );
    return nothing;
  }
  const doc = parseDocument(text, { lineCounter: source.counter, prettyErrors: false });
  const wrong = [...doc.errors, ...doc.warnings];
  for (const { pos, message } of wrong) source.fault(pos[0], `not valid YAML: ${message}`);
  if (wrong.length > 0) return nothing;
  return new YamlEntry(source, "", doc.contents ?? null, doc.contents?.range?.[0] ?? 0);
}

function kindOf(node: Node | null): string {
  if (isSeq(node)) return "a list";
  if (isMap(node)) return '"key: value" lines';
  if (isAlias(node)) return "an alias (write it out)";
  return isScalar(node) && node.value !== null ? show(node.value) : "nothing";
}

function show(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

const meant = (guess: string | null): string => (guess === null ? "" : `; did you mean ${guess}?`);
