// Bytes as text: a byte-order mark, then what was declared, then what the page itself declares, then UTF-8, and at last
// the encoding of old pages, which can read anything.

const META = /<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)/i;
const META_BYTES = 2_048;

export function textOf(bytes: Uint8Array, declared: string | null, markup: boolean): string {
  const named = markOf(bytes) ?? declared ?? (markup ? metaOf(bytes) : null);
  const decoder = named === null ? null : decoderOf(named);
  if (decoder) return decoder.decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function markOf([first, second, third]: Uint8Array): string | null {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return null;
}

function metaOf(bytes: Uint8Array): string | null {
  const found = META.exec(Buffer.from(bytes.subarray(0, META_BYTES)).toString("latin1"));
  const name = found?.[1] ?? found?.[2] ?? null;
  // A page that could be read so far is not in one of these, whatever it declares.
  return name !== null && /^utf-?16/i.test(name) ? "utf-8" : name;
}

function decoderOf(name: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(name);
  } catch {
    return null;
  }
}
