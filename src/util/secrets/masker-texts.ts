// Masks the secrets of one text, and says what the name of a field means. Both depend on the secrets that the server
// knows, so they are kept together.
import { HOLDS_SECRET, kindByName, type Render } from "./masker-fields.ts";
import { LONG_TEXT, type MaskedText } from "./masker-large.ts";
import { createKnownValues, type KnownSpan } from "./known.ts";
import { findSecrets, united, type Span } from "./redact.ts";

export interface TextMasker {
  find(text: string): readonly (Span | KnownSpan)[];
  mask(text: string, way: Way): string;
  /** What the name of a field says of its value: one of the kinds of masker-fields.ts. */
  kindOf(name: string): number;
  know(secret: string): void;
  knowTemporary(secret: string): void;
}

/** How a walk over a value masks. */
export interface Way {
  readonly texts: TextMasker;
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

const MAX_ROUNDS = 5;
const MAX_NAMES = 4_096;
const MAX_NAME_CHARS = 64;

export function createTextMasker(known: readonly string[]): TextMasker {
  const values = createKnownValues();
  for (const secret of known) values.add(secret);
  /** Names of fields are few and come again and again. */
  const kinds = new Map<string, number>();

  const find = (text: string): readonly (Span | KnownSpan)[] => {
    const exact = values.find(text);
    const looks = findSecrets(text);
    return exact.length === 0 ? looks : united(text, [...exact, ...looks]);
  };

  /** Again, until nothing is left: what stood beside a secret may look like one without it. */
  const mask = (text: string, way: Way): string => {
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

  return {
    find,
    mask,
    kindOf,
    // A name that was plain may hold the new secret.
    know(secret) {
      values.add(secret);
      kinds.clear();
    },
    knowTemporary(secret) {
      values.addPassing(secret);
      kinds.clear();
    },
  };
}

function maskSpans(text: string, spans: readonly (Span | KnownSpan)[], way: Way): string {
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
}
