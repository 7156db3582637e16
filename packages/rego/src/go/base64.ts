// Go's encoding/base64 and encoding/hex, with their errors.

const STANDARD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE = `${STANDARD.slice(0, 62)}-_`;

export type Alphabet = "standard" | "url";

const ALPHABETS: Readonly<Record<Alphabet, string>> = { standard: STANDARD, url: URL_SAFE };

function reverse(alphabet: string): Int8Array {
  const table = new Int8Array(256).fill(-1);
  for (let i = 0; i < alphabet.length; i++) table[alphabet.charCodeAt(i)] = i;
  return table;
}

const TABLES: Readonly<Record<Alphabet, Int8Array>> = {
  standard: reverse(STANDARD),
  url: reverse(URL_SAFE),
};

export function encodeBase64(bytes: Uint8Array, kind: Alphabet, padded = true): string {
  const alphabet = ALPHABETS[kind];
  const out: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const n = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    out.push(alphabet.charAt(n >> 18), alphabet.charAt((n >> 12) & 63));
    if (left > 1) out.push(alphabet.charAt((n >> 6) & 63));
    else if (padded) out.push("=");
    if (left > 2) out.push(alphabet.charAt(n & 63));
    else if (padded) out.push("=");
  }
  return out.join("");
}

/** Where the text stops being base64, counted in bytes from 0. */
export class CorruptInput extends Error {
  constructor(at: number) {
    super(`illegal base64 data at input byte ${at}`);
    this.name = "CorruptInput";
  }
}

/** Strict about padding, blind to line breaks; takes the text as UTF-8 bytes. */
export function decodeBase64(src: Uint8Array, kind: Alphabet, padded = true): Uint8Array {
  const table = TABLES[kind];
  const out: number[] = [];
  let si = 0;
  let done = false;
  while (si < src.length && !done) {
    const quad: number[] = [];
    while (quad.length < 4) {
      if (si === src.length) {
        if (quad.length === 0) return Uint8Array.from(out);
        if (quad.length === 1 || padded) throw new CorruptInput(si - quad.length);
        done = true;
        break;
      }
      const byte = src[si] ?? 0;
      si++;
      if (byte === 10 || byte === 13) continue;
      const value = table[byte] ?? -1;
      if (value >= 0) {
        quad.push(value);
        continue;
      }
      if (byte !== 61 || !padded) throw new CorruptInput(si - 1);
      si = endPadding(src, si, quad.length);
      done = true;
      break;
    }
    const [a = 0, b = 0, c = 0, d = 0] = quad;
    const n = (a << 18) | (b << 12) | (c << 6) | d;
    out.push(n >> 16);
    if (quad.length > 2) out.push((n >> 8) & 255);
    if (quad.length > 3) out.push(n & 255);
  }
  return Uint8Array.from(out);
}

/** After the first `=`: checks the rest of the padding and that nothing follows. */
function endPadding(src: Uint8Array, start: number, have: number): number {
  let si = start;
  const skipBreaks = (): void => {
    while (src[si] === 10 || src[si] === 13) si++;
  };
  if (have < 2) throw new CorruptInput(si - 1);
  if (have === 2) {
    skipBreaks();
    if (si === src.length) throw new CorruptInput(src.length);
    if (src[si] !== 61) throw new CorruptInput(si - 1);
    si++;
  }
  skipBreaks();
  if (si < src.length) throw new CorruptInput(si);
  return si;
}

export function encodeHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
