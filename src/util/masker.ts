// The one way in which secrets are taken out of what is kept, logged, traced or told (T49): by the names of fields, by the
// look of texts, and by the values the server itself knows. In the record each mask carries a keyed tag, so that equal
// secrets can be recognised and none can be read.
import { createHmac } from "node:crypto";
import type { Json, JsonObject } from "../call.ts";
import { canonicalJson } from "./json.ts";
import { isMasked, isSecretField, MASK, replaceMasks, taggedMask } from "./mask.ts";
import { findSecrets, united, type Span } from "./redact.ts";
import { createKnownValues, type KnownSpan } from "./secrets/known.ts";

export interface Masker {
  /** For the record, the log and spans: tagged masks. */
  text(text: string): string;
  /** The same of every text and every secret-like field; the same object when there is nothing to mask. */
  value<T extends Json>(value: T): T;
  /** For whoever reads along: plain masks. */
  told(text: string): string;
  /** The same of a whole value, by names too. */
  shown<T extends Json>(value: T): T;
  /** What a tool gave: for its caller by look and known values only, and for the record. */
  result(output: Json): MaskedResult;
  /** One line of JSON as the log writes it. */
  line(line: string): string;
  /** A secret the server holds: masked from now on wherever it turns up. */
  know(secret: string): void;
  /** The same of one that is replaced now and then: so many of the newest. */
  knowPassing(secret: string): void;
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
}

/** `spelt` is how the secret stood there: a known one may be encoded. */
type Render = (secret: Json, spelt: Json) => string;

/** How a walk over a value masks. */
interface Way {
  readonly render: Render;
  /** Also by the names of fields. */
  readonly names: boolean;
  /** Secrets found in texts. */
  masked: number;
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

const PLAIN = 0;
const SECRET_FIELD = 1;
const HOLDS_SECRET = 2;

export function createMasker({ key, known = [] }: MaskerOptions): Masker {
  const values = createKnownValues();
  for (const secret of known) values.add(secret);
  /** Names of fields are few and come again and again. */
  const kinds = new Map<string, number>();

  const tagged: Render = (secret) => {
    const text = typeof secret === "string" ? secret : canonicalJson(secret);
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
    const kind = find(name).length > 0 ? HOLDS_SECRET : isSecretField(name) ? SECRET_FIELD : PLAIN;
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

  const walkList = (items: readonly Json[], way: Way, depth: number): Json => {
    let copy: Json[] | null = null;
    for (let at = 0; at < items.length; at++) {
      const old = items[at] ?? null;
      const flag = way.names && at > 0 && isSecretFlag(items[at - 1]);
      const inner = flag ? byName(old, way) : walk(old, way, depth + 1);
      if (inner !== old) (copy ??= [...items])[at] = inner;
    }
    return copy ?? items;
  };

  const walkObject = (object: JsonObject, way: Way, depth: number): Json => {
    let copy: Record<string, Json> | null = null;
    let renamed = false;
    let fields = 0;
    let value = "";
    for (const name in object) {
      fields++;
      if (VALUES.has(name)) value = name;
      const old = object[name] ?? null;
      const kind = kindOf(name);
      let inner: Json;
      if (way.names && kind === SECRET_FIELD) inner = byName(old, way);
      else if (name === "$content" && Array.isArray(old))
        inner = walkBlocks(old as readonly Json[], way, depth);
      else inner = walk(old, way, depth + 1);
      if (inner !== old) (copy ??= { ...object })[name] = inner;
      renamed ||= kind === HOLDS_SECRET;
    }
    if (way.names && value !== "" && fields > 1 && isNamed(object, kindOf))
      (copy ??= { ...object })[value] = byName(object[value] ?? null, way);
    if (!renamed) return copy ?? object;
    return Object.fromEntries(
      Object.entries(copy ?? object).map(([name, inner]) => [maskText(name, way), inner]),
    );
  };

  /** What is more than JSON: base64 of pictures is no text. */
  const walkBlocks = (blocks: readonly Json[], way: Way, depth: number): Json => {
    let copy: Json[] | null = null;
    blocks.forEach((block, at) => {
      if (typeof block !== "object" || block === null || Array.isArray(block)) return;
      const { data, ...rest } = block as JsonObject;
      const inner = walk(rest, way, depth + 1);
      if (inner !== rest)
        (copy ??= [...blocks])[at] = {
          ...(inner as JsonObject),
          ...(data === undefined ? {} : { data }),
        };
    });
    return copy ?? blocks;
  };

  const recorded = <T extends Json>(value: T): T =>
    walk(value, { render: tagged, names: true, masked: 0 }, 0) as T;
  const text = (given: string): string =>
    maskText(given, { render: tagged, names: true, masked: 0 });

  return {
    text,
    value: recorded,
    told: (given) => maskText(given, { render: plain, names: false, masked: 0 }),
    shown: (value) => walk(value, { render: plain, names: true, masked: 0 }, 0) as typeof value,
    result(output) {
      const kept: Way = { render: tagged, names: true, masked: 0 };
      const keptOutput = walk(output, kept, 0);
      // By names the record hides more than the answer, so what it found in texts may be less: the answer is looked at itself.
      if (keptOutput === output) return { answer: output, recorded: output, masked: 0 };
      const told: Way = { render: plain, names: false, masked: 0 };
      return { answer: walk(output, told, 0), recorded: keptOutput, masked: told.masked };
    },
    line(line) {
      if (!SECRET_WORD.test(line) && find(line).length === 0) return line;
      const parsed = objectIn(line);
      if (parsed === null) return text(line);
      const masked = recorded(parsed);
      return masked === parsed ? line : `${JSON.stringify(masked)}\n`;
    },
    know: (secret) => {
      values.add(secret);
      kinds.clear();
    },
    knowPassing: (secret) => {
      values.addPassing(secret);
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

/** Plain masks by name and look, for explanations: there is no key at hand, and nothing is kept. */
export const maskSecrets = <T extends Json>(value: T): T =>
  createMasker({ key: new Uint8Array(32) }).shown(value);

/** A secret that was masked in two rounds holds the mask of the first. */
const speltOf = (found: ReadonlyMap<string, Json>, mask: string): string => {
  const spelt = found.get(mask);
  return typeof spelt === "string" ? spelt : mask;
};

/** The whole value of a secret-like field; nothing, yes and no are no secrets, and a mask stays as it is. */
function byName(value: Json, way: Way): Json {
  if (value === null || typeof value === "boolean" || value === "" || isMasked(value)) return value;
  return way.render(value, value);
}

const VALUES = new Set(["value", "text"]);
const NAMES = ["name", "key", "field", "header", "label", "selector", "placeholder"] as const;

/** `{name: "password", value: …}`: the name stands beside the value. */
function isNamed(object: JsonObject, kindOf: (name: string) => number): boolean {
  for (const beside of NAMES) {
    const told = object[beside];
    if (typeof told === "string" && told.length <= 200 && kindOf(lastWord(told)) === SECRET_FIELD)
      return true;
  }
  return false;
}

/** `password` of `#login input[name="password"]`. */
const lastWord = (told: string): string => /([\w-]+)\W*$/.exec(told)?.[1] ?? told;

/** `--password`, as one of a program's arguments. */
const isSecretFlag = (before: Json | undefined): boolean =>
  typeof before === "string" &&
  before.startsWith("-") &&
  before.length < 64 &&
  /^--?[\w-]+$/.test(before) &&
  isSecretField(before);

function objectIn(line: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" && parsed !== null ? (parsed as JsonObject) : null;
  } catch {
    return null;
  }
}
