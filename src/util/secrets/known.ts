// Finds secrets that are known word by word, in one pass over a text whatever their number (after Wu and Manber): of
// every window of eight characters the last four say how far the next secret can begin at the earliest.
import type { Span } from "./scan.ts";

export interface KnownSpan extends Span {
  /** The secret itself, however it was spelt here. */
  readonly secret: string;
}

export interface KnownValues {
  /** A secret of less than eight characters cannot be distinguished from a word; beyond the bounds the oldest stay. */
  add(secret: string): void;
  /** One that is replaced now and then, as tokens are: of those the newest stay. */
  addPassing(secret: string): void;
  /** In order, perhaps overlapping. */
  find(text: string): readonly KnownSpan[];
  readonly size: number;
}

const SHORTEST = 8;
const LONGEST = 16_384;
const MOST = 2_000;
const MOST_PASSING = 512;
const BLOCK = 4;
const FURTHEST = SHORTEST - BLOCK + 1;
const TABLE = 8_192;
const NONE: readonly KnownSpan[] = Object.freeze([]);

interface Spelling {
  readonly text: string;
  readonly secret: string;
}

export function createKnownValues(): KnownValues {
  const secrets = new Set<string>();
  /** By the hash of the last block of a spelling's first window. */
  const spellings = new Map<number, Spelling[]>();
  const steps = new Uint8Array(TABLE).fill(FURTHEST);
  /** In the order in which they were last heard of. */
  const passing = new Set<string>();

  const narrow = ({ text }: Spelling): void => {
    for (let at = 0; at + BLOCK <= SHORTEST; at++) {
      const hash = hashAt(text, at);
      steps[hash] = Math.min(steps[hash] ?? 0, SHORTEST - BLOCK - at);
    }
  };
  const learn = (spelling: Spelling): void => {
    const { text } = spelling;
    narrow(spelling);
    const last = hashAt(text, SHORTEST - BLOCK);
    const same = spellings.get(last) ?? [];
    if (same.some((one) => one.text === text)) return;
    // The longest first: what is part of another is found as the other.
    spellings.set(
      last,
      [...same, spelling].sort((a, b) => b.text.length - a.text.length),
    );
  };

  const forget = (secret: string): void => {
    secrets.delete(secret);
    steps.fill(FURTHEST);
    for (const [hash, all] of spellings) {
      const left = all.filter((one) => one.secret !== secret);
      if (left.length === 0) spellings.delete(hash);
      else if (left.length < all.length) spellings.set(hash, left);
      left.forEach(narrow);
    }
  };
  const add = (secret: string): void => {
    if (secret.length < SHORTEST || secret.length > LONGEST || secrets.size >= MOST) return;
    if (secrets.has(secret)) return;
    secrets.add(secret);
    for (const text of spellingsOf(secret)) learn({ text, secret });
  };

  return {
    get size() {
      return secrets.size;
    },
    add(secret) {
      // What is known for good does not pass any more.
      passing.delete(secret);
      add(secret);
    },
    addPassing(secret) {
      if (secrets.has(secret) && !passing.delete(secret)) return;
      passing.add(secret);
      if (passing.size > MOST_PASSING) {
        const oldest = passing.values().next().value ?? "";
        passing.delete(oldest);
        forget(oldest);
      }
      add(secret);
    },
    find(text) {
      if (secrets.size === 0 || text.length < SHORTEST) return NONE;
      let found: KnownSpan[] | null = null;
      for (let at = 0; at + SHORTEST <= text.length;) {
        const hash = hashAt(text, at + SHORTEST - BLOCK);
        const step = steps[hash] ?? 1;
        if (step > 0) {
          at += step;
          continue;
        }
        const hit = spellings.get(hash)?.find((one) => text.startsWith(one.text, at));
        if (hit) (found ??= []).push({ start: at, end: at + hit.text.length, secret: hit.secret });
        at += hit?.text.length ?? 1;
      }
      return found ?? NONE;
    },
  };
}

function hashAt(text: string, at: number): number {
  const a = text.charCodeAt(at) ^ (text.charCodeAt(at + 1) << 3);
  const b = (text.charCodeAt(at + 2) << 6) ^ (text.charCodeAt(at + 3) << 9);
  return (a ^ b) & (TABLE - 1);
}

/** As it is, and as JSON, addresses and base64 spell it. */
function spellingsOf(secret: string): Set<string> {
  const encoded = percentEncoded(secret);
  const all = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encoded,
    encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    encoded.replaceAll("%20", "+"),
    ...base64Of(secret),
  ];
  return new Set(all.filter((text) => text.length >= SHORTEST));
}

function percentEncoded(secret: string): string {
  return secret.isWellFormed() ? encodeURIComponent(secret) : secret;
}

/** In base64 a text looks different at each of three offsets; what its neighbours have a part in is left out. */
function base64Of(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  return [0, 1, 2].flatMap((offset) => {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const from = [0, 2, 3][offset] ?? 0;
    const to = Math.floor(((bytes.length + offset) * 8) / 6);
    const core = whole.slice(from, to);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
