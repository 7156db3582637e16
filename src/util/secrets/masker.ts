// The one way in which secrets are taken out of what is kept, logged, traced or told: by the names of fields,
// by the look of texts, and by the values the server itself knows. In the record each mask carries a keyed tag, so
// that equal secrets can be recognised and none can be read.
import { createHmac } from "node:crypto";
import type { Json, JsonObject } from "../../contract/call.ts";
import { canonicalJson } from "../json/json.ts";
import {
  isLarge,
  LONG_TEXT,
  longTextsIn,
  MARGIN,
  maskedBeginning,
  type LongTexts,
  type MaskedText,
} from "./masker-large.ts";
import { isMasked, MASK, replaceMasks, taggedMask } from "./mask.ts";
import {
  ARGUMENTS,
  byName,
  CODE_FIELD,
  dataless,
  hasOption,
  holdsSecret,
  HOLDS_SECRET,
  isSecretFlag,
  kindByName,
  MOST_ARGUMENTS,
  PLAIN,
  programBeside,
  SECRET_FIELD,
  valueBeside,
  withData,
  type Render,
} from "./masker-fields.ts";
import { findSecrets, united, type Span } from "./redact.ts";
import { secretArguments, type Program } from "./commands.ts";
import { createKnownValues, type KnownSpan } from "./known.ts";
import { mainThread, type SliceEnd } from "../async/time-slices.ts";

export interface Masker {
  /** For the record, the log and spans: tagged masks. */
  text(text: string): string;
  /** The same of every text and every secret-like field; the same object when there is nothing to mask. */
  value<T extends Json>(value: T): T;
  /** For whoever reads along: plain masks. */
  shownText(text: string): string;
  /** The same of a whole value, by names too. */
  shownValue<T extends Json>(value: T): T;
  /** The beginning of a value, as the record has it. */
  beginning(value: Json, characters: number): Json;
  /** What a tool gave: for its caller by look and known values only, and for the record. */
  result(output: Json): MaskedResult;
  /** The same; of a large one later, in a thread and in turns, so that nobody else waits for it. */
  resultInSlices(output: Json): MaskedResult | Promise<MaskedResult>;
  /** `value` in the same way. */
  valueInSlices<T extends Json>(value: T): T | Promise<T>;
  /** One line of JSON as the log writes it. */
  line(line: string): string;
  /** A secret the server holds: masked from now on wherever it turns up. */
  know(secret: string): void;
  /** The same of one that is replaced now and then: so many of the newest. */
  knowTemporary(secret: string): void;
  /** What each mask of a value stands for, where that is one thing. */
  secretsIn(value: Json): ReadonlyMap<string, Json>;
}

export interface MaskedResult {
  readonly answer: Json;
  readonly recorded: Json;
  /** Secrets in the answer. */
  readonly masked: number;
}

export interface MaskerOptions {
  /** Of the tags; 32 bytes from the server's secret. */
  readonly key: Uint8Array;
  readonly known?: readonly string[];
  /** Without it long texts are masked here. */
  readonly longTexts?: LongTexts;
}

/** How a walk over a value masks. */
interface Way {
  readonly render: Render;
  /** Also by the names of fields. */
  readonly names: boolean;
  /** Secrets found in texts. */
  masked: number;
  /** Long texts that were masked already, and which of their two forms is wanted. */
  readonly long?: {
    readonly texts: ReadonlyMap<string, MaskedText>;
    readonly form: "answer" | "recorded";
  };
}

/** Names of fields that may hold a secret, as a line of the log spells them. */
const SECRET_WORD =
  /(?:pass|pwd|secret|token|key|auth|cookie|credential|mnemonic|phrase|jwt|otp)[\w-]{0,20}"\s?:/i;
const MAX_ROUNDS = 5;
const TAG_LETTERS = 12;
const MAX_NAMES = 4_096;
const MAX_NAME_CHARS = 64;
/** Deeper than any value that passes a door. */
const MAX_DEPTH = 512;

export function createMasker(options: MaskerOptions): Masker {
  const { key, known = [], longTexts } = options;
  const values = createKnownValues();
  for (const secret of known) values.add(secret);
  /** Names of fields are few and come again and again. */
  const kinds = new Map<string, number>();

  const tagged: Render = (secret) => {
    const text =
      typeof secret === "string"
        ? secret
        : isLarge(secret)
          ? JSON.stringify(secret)
          : canonicalJson(secret);
    return taggedMask(createHmac("sha256", key).update(text).digest("hex").slice(0, TAG_LETTERS));
  };
  const plain: Render = () => MASK;

  const find = (text: string): readonly (Span | KnownSpan)[] => {
    const exact = values.find(text);
    const looks = findSecrets(text);
    return exact.length === 0 ? looks : united(text, [...exact, ...looks]);
  };

  /** Again, until nothing is left: what stood beside a secret may look like one without it. */
  const maskText = (text: string, way: Way): string => {
    const long = way.long?.texts.get(text);
    if (long && way.long) {
      way.masked += long.masked;
      return long[way.long.form];
    }
    let masked = text;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const spans = find(masked);
      if (spans.length === 0) break;
      masked = maskSpans(masked, spans, way);
    }
    return masked;
  };

  const maskSpans = (text: string, spans: readonly (Span | KnownSpan)[], way: Way): string => {
    // A text may hold one secret many times.
    const masks = new Map<string, string>();
    let masked = "";
    let from = 0;
    for (const span of spans) {
      masked += text.slice(from, span.start);
      const spelt = text.slice(span.start, span.end);
      const mask = masks.get(spelt) ?? way.render("secret" in span ? span.secret : spelt, spelt);
      masks.set(spelt, mask);
      masked += mask;
      from = span.end;
    }
    way.masked += spans.length;
    return masked + text.slice(from);
  };

  const kindOf = (name: string): number => {
    const there = kinds.get(name);
    if (there !== undefined) return there;
    // A long name is a text: it is masked as one.
    if (name.length >= LONG_TEXT) return HOLDS_SECRET;
    const kind = find(name).length > 0 ? HOLDS_SECRET : kindByName(name);
    if (kinds.size < MAX_NAMES && name.length <= MAX_NAME_CHARS && kind !== HOLDS_SECRET)
      kinds.set(name, kind);
    return kind;
  };

  const walk = (value: Json, way: Way, depth: number): Json => {
    if (typeof value === "string") return maskText(value, way);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return MASK;
    if (Array.isArray(value)) return walkList(value as readonly Json[], way, depth);
    return walkObject(value as JsonObject, way, depth);
  };

  /** `program` is whose arguments they are, where that stands beside them. */
  const walkList = (
    items: readonly Json[],
    way: Way,
    depth: number,
    program: Program | null = null,
  ): Json => {
    let copy: Json[] | null = null;
    for (let at = 0; at < items.length; at++) {
      const old = items[at] ?? null;
      const flag = way.names && at > 0 && isSecretFlag(items[at - 1]);
      const inner = flag ? byName(old, way) : walk(old, way, depth + 1);
      if (inner !== old) (copy ??= [...items])[at] = inner;
    }
    return maskArguments(items, copy, program, way) ?? items;
  };

  /** Passwords among the arguments of a program. */
  const maskArguments = (
    items: readonly Json[],
    given: Json[] | null,
    program: Program | null,
    way: Way,
  ): Json[] | null => {
    if (!way.names || !hasOption(items)) return given;
    let copy = given;
    const words = items
      .slice(0, MOST_ARGUMENTS)
      .map((item) => (typeof item === "string" ? item : null));
    for (const { index, start } of secretArguments(words, program)) {
      const word = words[index] ?? "";
      const now = (copy ?? items)[index];
      // Whole already: by the name of its option.
      if (isMasked(now)) continue;
      (copy ??= [...items])[index] =
        word.slice(0, start) + way.render(word.slice(start), word.slice(start));
    }
    return copy;
  };

  const walkObject = (object: JsonObject, way: Way, depth: number): Json => {
    let copy: Record<string, Json> | null = null;
    let renamed = false;
    let fields = 0;
    for (const name in object) {
      const old = object[name] ?? null;
      const kind = kindOf(name);
      fields++;
      // Plain texts under plain names are what nearly all fields are.
      const isPlain = kind === PLAIN && typeof old === "string";
      const inner = isPlain ? maskText(old, way) : walkField(object, name, kind, way, depth);
      if (inner !== old) (copy ??= { ...object })[name] = inner;
      renamed ||= kind === HOLDS_SECRET;
    }
    // One field has none beside it.
    if (fields < 2 && !renamed) return copy ?? object;
    return finished(object, copy, renamed, way);
  };

  const walkField = (
    object: JsonObject,
    name: string,
    kind: number,
    way: Way,
    depth: number,
  ): Json => {
    const old = object[name] ?? null;
    if (way.names && kind === SECRET_FIELD) return byName(old, way);
    if (way.names && kind >= CODE_FIELD && holdsSecret(kind, old)) return byName(old, way);
    if (!Array.isArray(old)) return walk(old, way, depth + 1);
    if (name === "$content") return walkBlocks(old as readonly Json[], way, depth);
    const program = way.names && ARGUMENTS.has(name) ? programBeside(object) : null;
    return walkList(old as readonly Json[], way, depth + 1, program);
  };

  /** What the fields of an object say of each other, and names that hold a secret themselves. */
  const finished = (
    object: JsonObject,
    given: Record<string, Json> | null,
    renamed: boolean,
    way: Way,
  ): Json => {
    let copy = given;
    if (way.names) {
      const beside = valueBeside(object, kindOf);
      if (beside !== null) (copy ??= { ...object })[beside] = byName(object[beside] ?? null, way);
    }
    if (!renamed) return copy ?? object;
    return Object.fromEntries(
      Object.entries(copy ?? object).map(([name, inner]) => [maskText(name, way), inner]),
    );
  };

  /** What is more than JSON: base64 of pictures is no text. */
  const walkBlocks = (blocks: readonly Json[], way: Way, depth: number): Json => {
    let copy: Json[] | null = null;
    blocks.forEach((block, at) => {
      const rest = dataless(block);
      const inner = walk(rest, way, depth + 1);
      if (inner !== rest) (copy ??= [...blocks])[at] = withData(inner, block);
    });
    return copy ?? blocks;
  };

  /** Every long text of a value, masked: each once, in the thread. */
  const maskLongTexts = async (value: Json): Promise<ReadonlyMap<string, MaskedText>> => {
    const texts = new Map<string, MaskedText>();
    if (longTexts === undefined) return texts;
    const turn = mainThread.job();
    for (const text of longTextsIn(value)) {
      const over = text === null ? turn() : null;
      if (over) await over;
      if (text !== null && text.length >= LONG_TEXT && !texts.has(text))
        texts.set(text, await longTexts.mask(text));
    }
    return texts;
  };

  /** The walk over a large value: small parts at once, and a pause whenever a turn is over. */
  const walkInTurns = async (
    value: Json,
    way: Way,
    depth: number,
    turn: SliceEnd,
  ): Promise<Json> => {
    const over = turn();
    if (over) await over;
    if (typeof value !== "object" || value === null || !isLarge(value))
      return walk(value, way, depth);
    if (depth > MAX_DEPTH) return MASK;
    if (Array.isArray(value)) return listInTurns(value as readonly Json[], way, depth, turn, null);
    const object = value as JsonObject;
    let copy: Record<string, Json> | null = null;
    let renamed = false;
    for (const name in object) {
      const old = object[name] ?? null;
      const kind = kindOf(name);
      const inner = await fieldInTurns(object, name, kind, way, depth, turn);
      if (inner !== old) (copy ??= { ...object })[name] = inner;
      renamed ||= kind === HOLDS_SECRET;
      const late = turn();
      if (late) await late;
    }
    return finished(object, copy, renamed, way);
  };

  const fieldInTurns = (
    object: JsonObject,
    name: string,
    kind: number,
    way: Way,
    depth: number,
    turn: SliceEnd,
  ): Json | Promise<Json> => {
    const old = object[name] ?? null;
    const isNamed = way.names && kind !== PLAIN && kind !== HOLDS_SECRET;
    if (isNamed || !isLarge(old)) return walkField(object, name, kind, way, depth);
    if (!Array.isArray(old)) return walkInTurns(old, way, depth + 1, turn);
    if (name === "$content") return blocksInTurns(old as readonly Json[], way, depth, turn);
    const program = way.names && ARGUMENTS.has(name) ? programBeside(object) : null;
    return listInTurns(old as readonly Json[], way, depth + 1, turn, program);
  };

  const listInTurns = async (
    items: readonly Json[],
    way: Way,
    depth: number,
    turn: SliceEnd,
    program: Program | null,
  ): Promise<Json> => {
    let copy: Json[] | null = null;
    for (let at = 0; at < items.length; at++) {
      const old = items[at] ?? null;
      const flag = way.names && at > 0 && isSecretFlag(items[at - 1]);
      let inner: Json;
      if (flag) inner = byName(old, way);
      else if (isLarge(old)) inner = await walkInTurns(old, way, depth + 1, turn);
      else inner = walk(old, way, depth + 1);
      if (inner !== old) (copy ??= [...items])[at] = inner;
      const over = turn();
      if (over) await over;
    }
    return maskArguments(items, copy, program, way) ?? items;
  };

  const blocksInTurns = async (
    blocks: readonly Json[],
    way: Way,
    depth: number,
    turn: SliceEnd,
  ): Promise<Json> => {
    const copy: Json[] = [];
    for (const block of blocks) {
      const over = turn();
      if (over) await over;
      // One block alone is masked as a list of one.
      const rest = dataless(block);
      const inner = await walkInTurns(rest, way, depth + 1, turn);
      copy.push(inner === rest ? block : withData(inner, block));
    }
    return copy.some((block, at) => block !== blocks[at]) ? copy : blocks;
  };

  const largeResult = async (output: Json): Promise<MaskedResult> => {
    const texts = await maskLongTexts(output);
    const kept: Way = { render: tagged, names: true, masked: 0, long: { texts, form: "recorded" } };
    const keptOutput = await walkInTurns(output, kept, 0, mainThread.job());
    if (keptOutput === output) return { answer: output, recorded: output, masked: 0 };
    const told: Way = { render: plain, names: false, masked: 0, long: { texts, form: "answer" } };
    const answer = await walkInTurns(output, told, 0, mainThread.job());
    return { answer, recorded: keptOutput, masked: told.masked };
  };

  const largeValue = async (value: Json): Promise<Json> => {
    const texts = await maskLongTexts(value);
    return walkInTurns(
      value,
      { render: tagged, names: true, masked: 0, long: { texts, form: "recorded" } },
      0,
      mainThread.job(),
    );
  };

  const recorded = <T extends Json>(value: T): T =>
    walk(value, { render: tagged, names: true, masked: 0 }, 0) as T;
  const text = (given: string): string =>
    shortened(given, (part) => maskText(part, { render: tagged, names: true, masked: 0 }));
  /** A line that says too much, with the beginnings of what it says. */
  const longLine = (line: string): string => {
    const parsed = objectIn(line);
    if (parsed === null) return `${text(line)}\n`;
    const kept = maskedBeginning(parsed, LONGEST_TEXT / 4, recorded) as JsonObject;
    return `${JSON.stringify({ ...kept, cut: line.length })}\n`;
  };
  const result = (output: Json): MaskedResult => {
    const kept: Way = { render: tagged, names: true, masked: 0 };
    const keptOutput = walk(output, kept, 0);
    // By names the record hides more than the answer, so what it found in texts may be less: the answer is looked at
    // itself.
    if (keptOutput === output) return { answer: output, recorded: output, masked: 0 };
    const told: Way = { render: plain, names: false, masked: 0 };
    return { answer: walk(output, told, 0), recorded: keptOutput, masked: told.masked };
  };

  return {
    text,
    value: recorded,
    shownText: (given) =>
      shortened(given, (part) => maskText(part, { render: plain, names: false, masked: 0 })),
    shownValue: (value) =>
      walk(value, { render: plain, names: true, masked: 0 }, 0) as typeof value,
    beginning: (value, characters) => maskedBeginning(value, characters, recorded),
    result,
    resultInSlices: (output) => (isLarge(output) ? largeResult(output) : result(output)),
    valueInSlices: (value) =>
      isLarge(value) ? (largeValue(value) as Promise<typeof value>) : recorded(value),
    line(line) {
      if (line.length > LONGEST_TEXT) return longLine(line);
      if (!SECRET_WORD.test(line) && find(line).length === 0) return line;
      const parsed = objectIn(line);
      if (parsed === null) return text(line);
      const masked = recorded(parsed);
      return masked === parsed ? line : `${JSON.stringify(masked)}\n`;
    },
    know: (secret) => {
      values.add(secret);
      longTexts?.know(secret);
      kinds.clear();
    },
    knowTemporary: (secret) => {
      values.addPassing(secret);
      longTexts?.knowTemporary(secret);
      kinds.clear();
    },
    secretsIn(value) {
      const found = new Map<string, Json>();
      const ambiguous = new Set<string>();
      const render: Render = (secret, spelt) => {
        const mask = tagged(secret, spelt);
        if (found.has(mask) && found.get(mask) !== spelt) ambiguous.add(mask);
        found.set(mask, spelt);
        return mask;
      };
      walk(value, { render, names: true, masked: 0 }, 0);
      for (const mask of ambiguous) found.delete(mask);
      for (const [mask, spelt] of found)
        if (typeof spelt === "string")
          found.set(
            mask,
            replaceMasks(spelt, (inner) => speltOf(found, inner)),
          );
      return found;
    },
  };
}

/** Messages and lines of the log: what is longer is cut before it is masked. */
const LONGEST_TEXT = 65_536;
function shortened(given: string, mask: (part: string) => string): string {
  if (given.length <= LONGEST_TEXT) return mask(given);
  const kept = mask(given.slice(0, LONGEST_TEXT)).slice(0, -MARGIN);
  return `${kept}… (cut: ${given.length} characters)`;
}

/** Plain masks by name and look, for explanations: there is no key at hand, and nothing is kept. */
export const maskSecrets = <T extends Json>(value: T): T =>
  createMasker({ key: new Uint8Array(32) }).shownValue(value);

/** A secret that was masked in two rounds holds the mask of the first. */
const speltOf = (found: ReadonlyMap<string, Json>, mask: string): string => {
  const spelt = found.get(mask);
  return typeof spelt === "string" ? spelt : mask;
};

function objectIn(line: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" && parsed !== null ? (parsed as JsonObject) : null;
  } catch {
    return null;
  }
}
