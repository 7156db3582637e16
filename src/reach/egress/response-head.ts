// Parses the head of an HTTP/1.1 response strictly: what two programs could understand differently is refused.

export type ResponseHeaders = Readonly<Record<string, string | string[]>>;

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ResponseHeaders;
  /** How the body ends: after so many bytes, with the last chunk, or with the connection. */
  readonly body: number | "chunked" | "close";
  /** How long the connection may wait for the next request; 0: it is closed. */
  readonly keepMs: number;
}

/** The bytes are no valid response. */
export class InvalidResponse extends Error {}

const STATUS = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
/** All lines after the first, each with the end of the one before. */
const HEADERS = /^(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*)*$/;
const SPACE = 32;
const LENGTH = /^\d{1,15}$/;
/** If the server does not say; shorter than what servers usually use. */
export const KEEP_MS = 4_000;
const MAX_KEEP_MS = 600_000;
/** The server closes at the time it names: a request sent then would be lost. */
const EARLIER_MS = 1_000;

/** `text` without the empty line that ends it, a character per byte. */
export function parseHead(text: string, method: string): ResponseHead {
  const first = text.indexOf("\r\n");
  const [, minor, digits] = STATUS.exec(first === -1 ? text : text.slice(0, first)) ?? [];
  if (digits === undefined) throw new InvalidResponse("its first line is no status");
  const headers = headersOf(first === -1 ? "" : text.slice(first));
  const status = Number(digits);
  const body = bodyOf(headers, minor === "1");
  if (status < 200 && (minor === "0" || body !== "close" || isClosing(headers["connection"])))
    throw new InvalidResponse("it has an interim status where none is allowed");
  const hasNone = method === "HEAD" || status < 200 || status === 204 || status === 304;
  // A body where none is allowed: the connection is not reused.
  const isOdd = hasNone && method !== "HEAD" && status !== 304 && body !== 0 && body !== "close";
  const isKept =
    minor === "1" && !isOdd && (hasNone || body !== "close") && !isClosing(headers["connection"]);
  return {
    status,
    headers,
    body: hasNone ? 0 : body,
    keepMs: isKept ? keepMsOf(headers["keep-alive"]) : 0,
  };
}

/** One regular expression for all lines: line by line would cost more than the rest of a response. */
function headersOf(text: string): ResponseHeaders {
  if (!HEADERS.test(text)) throw new InvalidResponse("a line of its head is no header");
  // Without a prototype: a server may choose any name.
  const headers = Object.create(null) as Record<string, string | string[]>;
  for (let at = 0; at < text.length;) {
    const next = text.indexOf("\r\n", at + 2);
    const end = next === -1 ? text.length : next;
    const colon = text.indexOf(":", at);
    const name = text.slice(at + 2, colon).toLowerCase();
    const value = trimmed(text, colon + 1, end);
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (Array.isArray(before)) before.push(value);
    else headers[name] = [before, value];
    at = end;
  }
  return headers;
}

/** Tabs stay: HTTP has them as white space too, but not all programs see a length or encoding beside one. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--;
  return text.slice(start, end);
}

function bodyOf(headers: ResponseHeaders, isCurrent: boolean): ResponseHead["body"] {
  const length = headers["content-length"];
  const coding = headers["transfer-encoding"];
  if (coding !== undefined) {
    if (length !== undefined) throw new InvalidResponse("it has a length and chunks");
    if (!isCurrent || typeof coding !== "string" || coding.toLowerCase() !== "chunked")
      throw new InvalidResponse("its transfer encoding is unknown");
    return "chunked";
  }
  if (length === undefined) return "close";
  if (typeof length !== "string" || !LENGTH.test(length))
    throw new InvalidResponse("its length is no number");
  return Number(length);
}

function isClosing(connection: string | string[] | undefined): boolean {
  if (connection === undefined || connection === "keep-alive") return false;
  const words = String(connection).toLowerCase().split(",");
  return words.some((word) => word.trim() === "close" || word.trim() === "upgrade");
}

function keepMsOf(keepAlive: string | string[] | undefined): number {
  if (keepAlive === undefined) return KEEP_MS;
  const [, seconds] = /\btimeout=(\d{1,6})\b/i.exec(String(keepAlive)) ?? [];
  if (seconds === undefined) return KEEP_MS;
  return Math.max(0, Math.min(MAX_KEEP_MS, Number(seconds) * 1_000 - EARLIER_MS));
}
