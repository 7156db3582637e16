// A request as it goes over the wire; nothing in it can be read as a second one.
import type { PooledRequest } from "./egress.ts";
import type { WireRequest } from "./exchange.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PATH = /^\/[\x21-\x7e]*$/;
const PLAIN = /^[\t\x20-\x7e]*$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** How long the request is, and where it goes, is said here alone. */
const OURS =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect)$/i;
const WITH_BODY = /^(POST|PUT|PATCH)$/;

export function wireRequest(host: string, { method, path, headers, body }: PooledRequest): WireRequest {
  if (!TOKEN.test(method)) throw new TypeError("the method of a request is no word");
  if (!PATH.test(path)) throw new TypeError("the path of a request is not written as in a URL");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let isPlain = true;
  for (let at = 0; at < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (!TOKEN.test(name) || OURS.test(name)) throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`); // prettier-ignore
    if (!PLAIN.test(value)) {
      if (!VALUE.test(value)) throw new TypeError(`the value of the header ${name} has characters that no header has`); // prettier-ignore
      isPlain = false;
    }
    head += `${name}: ${value}\r\n`;
  }
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  if (body !== undefined) head += `content-length: ${bytes}\r\n`;
  else if (WITH_BODY.test(method)) head += "content-length: 0\r\n";
  head += "\r\n";
  if (typeof body !== "string") return { method, head, body, encoding: "latin1" };
  // One byte a character means plain ASCII, which travels without being encoded.
  const encoding = bytes === body.length ? "latin1" : "utf8";
  return { method, head, body: isPlain || encoding === "latin1" ? body : Buffer.from(body), encoding };
} // prettier-ignore
