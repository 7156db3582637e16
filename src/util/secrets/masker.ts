// The one way in which secrets are masked in what is kept, logged, traced or answered: by the names of fields,
// by the look of texts, and by the values the server itself knows. In the record each mask carries a keyed tag, so
// that equal secrets can be recognised and none can be read.
import { createHmac } from "node:crypto";
import type { Json, JsonObject } from "../../contract/call.ts";
import { canonicalJson } from "../json/json.ts";
import { mainThread } from "../async/time-slices.ts";
import { MASK, replaceMasks, taggedMask } from "./mask.ts";
import type { Render } from "./masker-fields.ts";
import { isLarge, MARGIN, maskedBeginning, type LongTexts } from "./masker-large.ts";
import { createTextMasker, type TextMasker, type Way } from "./masker-texts.ts";
import { maskLongTexts, walkInTurns } from "./masker-turns.ts";
import { walk } from "./masker-walk.ts";

export interface Masker {
  /** For the record, the log and spans: tagged masks. */
  text(text: string): string;
  /** The same of every text and every secret-like field; the same object when there is nothing to mask. */
  value<T extends Json>(value: T): T;
  /** For live readers: plain masks. */
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

/** Names of fields that may hold a secret, as a line of the log spells them. */
const SECRET_WORD =
  /(?:pass|pwd|secret|token|key|auth|cookie|credential|mnemonic|phrase|jwt|otp)[\w-]{0,20}"\s?:/i;
const TAG_LETTERS = 12;

export function createMasker({ key, known = [], longTexts }: MaskerOptions): Masker {
  const texts = createTextMasker(known);
  const tagged = taggedWith(key);
  const recordWay = (): Way => ({ texts, render: tagged, names: true, masked: 0 });
  const answerWay = (): Way => ({ texts, render: plain, names: false, masked: 0 });

  const recorded = <T extends Json>(value: T): T => walk(value, recordWay(), 0) as T;
  const text = (given: string): string => shortened(given, (part) => texts.mask(part, recordWay()));
  const result = (output: Json): MaskedResult => {
    const keptOutput = walk(output, recordWay(), 0);
    if (keptOutput === output) return { answer: output, recorded: output, masked: 0 };
    // By names the record hides more than the answer, so what it found in texts may be less: the answer is masked by
    // a walk of its own.
    const way = answerWay();
    return { answer: walk(output, way, 0), recorded: keptOutput, masked: way.masked };
  };

  const largeResult = async (output: Json): Promise<MaskedResult> => {
    const long = await maskLongTexts(output, longTexts);
    const kept: Way = { ...recordWay(), long: { texts: long, form: "recorded" } };
    const keptOutput = await walkInTurns(output, kept, 0, mainThread.job());
    if (keptOutput === output) return { answer: output, recorded: output, masked: 0 };
    const way: Way = { ...answerWay(), long: { texts: long, form: "answer" } };
    const answer = await walkInTurns(output, way, 0, mainThread.job());
    return { answer, recorded: keptOutput, masked: way.masked };
  };
  const largeValue = async (value: Json): Promise<Json> => {
    const long = await maskLongTexts(value, longTexts);
    const way: Way = { ...recordWay(), long: { texts: long, form: "recorded" } };
    return walkInTurns(value, way, 0, mainThread.job());
  };

  return {
    text,
    value: recorded,
    shownText: (given) => shortened(given, (part) => texts.mask(part, answerWay())),
    shownValue: (value) => walk(value, { ...answerWay(), names: true }, 0) as typeof value,
    beginning: (value, characters) => maskedBeginning(value, characters, recorded),
    result,
    resultInSlices: (output) => (isLarge(output) ? largeResult(output) : result(output)),
    valueInSlices: (value) =>
      isLarge(value) ? (largeValue(value) as Promise<typeof value>) : recorded(value),
    line(line) {
      if (line.length > LONGEST_TEXT) return longLine(line, text, recorded);
      if (!SECRET_WORD.test(line) && texts.find(line).length === 0) return line;
      const parsed = objectIn(line);
      if (parsed === null) return text(line);
      const masked = recorded(parsed);
      return masked === parsed ? line : `${JSON.stringify(masked)}\n`;
    },
    know(secret) {
      texts.know(secret);
      longTexts?.know(secret);
    },
    knowTemporary(secret) {
      texts.knowTemporary(secret);
      longTexts?.knowTemporary(secret);
    },
    secretsIn: (value) => secretsIn(value, texts, tagged),
  };
}

const plain: Render = () => MASK;

const taggedWith =
  (key: Uint8Array): Render =>
  (secret) => {
    const text =
      typeof secret === "string"
        ? secret
        : isLarge(secret)
          ? JSON.stringify(secret)
          : canonicalJson(secret);
    return taggedMask(createHmac("sha256", key).update(text).digest("hex").slice(0, TAG_LETTERS));
  };

function secretsIn(value: Json, texts: TextMasker, tagged: Render): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>();
  const ambiguous = new Set<string>();
  const render: Render = (secret, spelt) => {
    const mask = tagged(secret, spelt);
    if (found.has(mask) && found.get(mask) !== spelt) ambiguous.add(mask);
    found.set(mask, spelt);
    return mask;
  };
  walk(value, { texts, render, names: true, masked: 0 }, 0);
  for (const mask of ambiguous) found.delete(mask);
  for (const [mask, spelt] of found)
    if (typeof spelt === "string")
      found.set(
        mask,
        replaceMasks(spelt, (inner) => speltOf(found, inner)),
      );
  return found;
}

/** Messages and lines of the log: what is longer is cut before it is masked. */
const LONGEST_TEXT = 65_536;
function shortened(given: string, mask: (part: string) => string): string {
  if (given.length <= LONGEST_TEXT) return mask(given);
  const kept = mask(given.slice(0, LONGEST_TEXT)).slice(0, -MARGIN);
  return `${kept}… (cut: ${given.length} characters)`;
}

/** A line that is too long, with the beginnings of its fields. */
function longLine(
  line: string,
  maskText: (text: string) => string,
  maskPart: (part: Json) => Json,
): string {
  const parsed = objectIn(line);
  if (parsed === null) return `${maskText(line)}\n`;
  const kept = maskedBeginning(parsed, LONGEST_TEXT / 4, maskPart) as JsonObject;
  return `${JSON.stringify({ ...kept, cut: line.length })}\n`;
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
