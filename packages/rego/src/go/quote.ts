// Go's strconv.Quote.

const SHORT: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

export const isPrintable = (char: string): boolean => PRINTABLE.test(char);

export function quoteGo(text: string, ascii = false): string {
  let out = '"';
  for (const char of text) out += SHORT[char] ?? escape(char, ascii);
  return `${out}"`;
}

function escape(char: string, ascii: boolean): string {
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x20 && code < 0x7f) return char;
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
  if (code >= 0xd800 && code <= 0xdfff) return ascii ? "\\ufffd" : "\ufffd";
  if (!ascii && PRINTABLE.test(char)) return char;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}
