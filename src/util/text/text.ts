// Bytes that may be text.

const SNIFFED_BYTES = 8_192;

/** Null for binary content: NUL among the first bytes, or invalid UTF-8. A byte-order mark is dropped. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, SNIFFED_BYTES).includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export const hasByteOrderMark = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
