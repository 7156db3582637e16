// Rego strings are bytes in OPA. Bytes that are not UTF-8 live in our strings as lone surrogates
// U+DC80..U+DCFF, so that decoding and encoding again gives the same bytes.

const encoder = new TextEncoder();
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeUtf8(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code >= 0xdc80 && code <= 0xdcff) out.push(code - 0xdc00);
    else if (code >= 0xd800 && code <= 0xdfff) out.push(0xef, 0xbf, 0xbd);
    else out.push(...encoder.encode(char));
  }
  return Uint8Array.from(out);
}

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return decodeLossless(bytes);
  }
}

function decodeLossless(bytes: Uint8Array): string {
  const out: string[] = [];
  for (let i = 0; i < bytes.length;) {
    const size = sequenceLength(bytes, i);
    if (size === 0) {
      out.push(String.fromCharCode(0xdc00 + (bytes[i] ?? 0)));
      i++;
    } else {
      out.push(strict.decode(bytes.subarray(i, i + size)));
      i += size;
    }
  }
  return out.join("");
}

/** The length of the valid UTF-8 sequence at `i`, 0 when there is none. */
function sequenceLength(bytes: Uint8Array, i: number): number {
  const b0 = bytes[i] ?? 0;
  if (b0 < 0x80) return 1;
  const size =
    b0 >= 0xc2 && b0 <= 0xdf ? 2 : b0 >= 0xe0 && b0 <= 0xef ? 3 : b0 >= 0xf0 && b0 <= 0xf4 ? 4 : 0;
  if (size === 0 || i + size > bytes.length) return 0;
  for (let k = 1; k < size; k++) {
    const b = bytes[i + k] ?? 0;
    let low = 0x80;
    let high = 0xbf;
    if (k === 1) {
      if (b0 === 0xe0) low = 0xa0;
      else if (b0 === 0xed) high = 0x9f;
      else if (b0 === 0xf0) low = 0x90;
      else if (b0 === 0xf4) high = 0x8f;
    }
    if (b < low || b > high) return 0;
  }
  return size;
}
