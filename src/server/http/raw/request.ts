// Parses a plain request: complete, alone in its bytes, and written so that no two programs can read it differently.
// Null refuses nothing: node:http then reads the request and reports what is wrong with it.
import { maxHeaderSize, type IncomingHttpHeaders } from "node:http";

export interface PlainRequest {
  readonly path: string;
  /** Names in lower case, each of them once. */
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const END_OF_HEAD = Buffer.from("\r\n\r\n", "latin1");
/** Less than HTTP allows: no tabs, no bytes beyond ASCII, only `POST`, and a path that needs no decoding. */
const HEAD = /^POST (\/[\w/-]*) HTTP\/1\.1(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\x20-\x7e]*)+$/;
/** They change where the request ends, what follows it, or (set-cookie) how node:http presents them. */
const UNUSUAL = new Set([
  "transfer-encoding",
  "content-encoding",
  "expect",
  "upgrade",
  "te",
  "trailer",
  "proxy-connection",
  "set-cookie",
]);
const SPACE = 32;

export function parsePlainRequest(bytes: Buffer): PlainRequest | null {
  const end = bytes.indexOf(END_OF_HEAD);
  if (end === -1 || end > maxHeaderSize) return null;
  const head = bytes.toString("latin1", 0, end);
  const path = HEAD.exec(head)?.[1];
  const headers = path === undefined ? null : headersIn(head);
  if (path === undefined || headers === null) return null;
  const bodyAt = end + END_OF_HEAD.length;
  // Canonical decimal only: no leading zeros, no sign, no list.
  if (headers["content-length"] !== String(bytes.length - bodyAt)) return null;
  if (headers.connection !== undefined && headers.connection.toLowerCase() !== "keep-alive")
    return null;
  return { path, headers, body: bytes.subarray(bodyAt) };
}

function headersIn(head: string): IncomingHttpHeaders | null {
  const headers: IncomingHttpHeaders = {};
  let at = head.indexOf("\r\n");
  while (at !== -1) {
    const start = at + 2;
    at = head.indexOf("\r\n", start);
    const colon = head.indexOf(":", start);
    const name = head.slice(start, colon).toLowerCase();
    // Names of Object.prototype look repeated too; such headers are rare, and node:http reads them.
    if (headers[name] !== undefined || UNUSUAL.has(name)) return null;
    headers[name] = trimmed(head, colon + 1, at === -1 ? head.length : at);
  }
  return headers;
}

function trimmed(head: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && head.charCodeAt(start) === SPACE) start++;
  while (end > start && head.charCodeAt(end - 1) === SPACE) end--;
  return head.slice(start, end);
}
