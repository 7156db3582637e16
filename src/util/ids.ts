// Prefixed, time-sortable ids. Random bytes are drawn in blocks: one system call serves hundreds of calls.
import { randomFillSync } from "node:crypto";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"; // Crockford base32: no i, l, o, u
const LETTERS = Buffer.from(ALPHABET);
const BLOCK = 4096;

export type IdPrefix = "usr" | "key" | "cap" | "psn" | "req" | "inst";
/** What travels in links and to other people: a name nobody guesses. */
export type HandlePrefix =
  | "apr"
  | "rul"
  | "msg"
  | "whk"
  | "wfl"
  | "run"
  | "sch"
  | "pln"
  | "agt"
  | "grp"
  | "qst"
  | "sgn"
  | "ses"
  | "trn"
  | "ast"
  | "dft"
  | "use";

export interface Ids {
  /** `exec_<milliseconds>_<random>`; 130 random bits, a name nobody guesses. */
  execution(now: number): string;
  /** `<prefix>_<time><random>`: sorts by time, selects whole on a double click. */
  next(prefix: IdPrefix, now: number): string;
  /** `<prefix>_<time><random>`: sorts by time, 130 random bits. */
  handle(prefix: HandlePrefix, now: number): string;
  hex(bytes: number): string;
  /** 48 bits of milliseconds, 80 random ones: those of one time lie together in an index. */
  trace(now?: number): string;
}

export function createIds(): Ids {
  const block = Buffer.alloc(BLOCK);
  let used = BLOCK;

  /** Where fresh bytes begin. */
  const take = (bytes: number): number => {
    if (used + bytes > BLOCK) {
      randomFillSync(block);
      used = 0;
    }
    used += bytes;
    return used - bytes;
  };

  /** In one piece: letter by letter it would be a tree of strings. */
  const random = (length: number): string => {
    const from = take(length);
    for (let at = from; at < used; at++) block[at] = LETTERS[(block[at] ?? 0) & 31] ?? 0;
    return block.toString("latin1", from, used);
  };

  // These ids name things and grant nothing: unique by instance and count, they need no randomness of their own.
  const instance = random(10);
  let count = 0;
  let last = { now: Number.NaN, text: "" };
  const timeOf = (now: number): string => {
    if (now !== last.now) last = { now, text: base32(now, 9) };
    return last.text;
  };

  return {
    execution: (now) => `exec_${now}_${random(26)}`,
    next: (prefix, now) => `${prefix}_${timeOf(now)}${instance}${base32(count++, 7)}`,
    handle: (prefix, now) => `${prefix}_${base32(now, 9)}${random(26)}`,
    hex: (bytes) => block.toString("hex", take(bytes), used),
    trace(now = Date.now()) {
      const from = take(16);
      block.writeUIntBE(now, from, 6);
      return block.toString("hex", from, used);
    },
  };
}

function base32(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) {
    text = (ALPHABET[rest % 32] ?? "") + text;
  }
  return text;
}
