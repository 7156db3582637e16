// A request as it goes over the wire; nothing in it can be read as a second one.
import type { PooledRequest } from "./egress.ts";
import type { WireRequest } from "./exchange.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const PATH = /^\/[\x21-\x7e]*$/;
const PLAIN = /^[\t\x20-\x7e]*$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Length and target of the request are written here only. */
const OURS =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect)$/i;
const WITH_BODY = /^(POST|PUT|PATCH)$/;

interface Lines {
  readonly text: string;
  /** Nothing but ASCII. */
  readonly isPlain: boolean;
}

const NO_LINES: Lines = { text: "", isPlain: true };

/** Remembers which header lists were validated. */
export function createWireRequest(): (host: string, request: PooledRequest) => WireRequest {
  const seen = new WeakMap<readonly string[], Lines>();
  const commonOf = (headers: readonly string[]): Lines => {
    const known = seen.get(headers);
    if (known) return known;
    const lines = linesOf(headers);
    seen.set(headers, lines);
    return lines;
  };
  return (host, { method, path, headers, common, body }) => {
    if (!TOKEN.test(method)) throw new TypeError("the method of a request is not a token");
    if (!PATH.test(path)) throw new TypeError("the path of a request is not written as in a URL");
    const shared = common ? commonOf(common) : NO_LINES;
    const own = linesOf(headers);
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    const length =
      body !== undefined || WITH_BODY.test(method) ? `content-length: ${bytes}\r\n` : "";
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${shared.text}${own.text}${length}\r\n`;
    if (typeof body !== "string") return { method, head, body, encoding: "latin1" };
    // One byte a character means plain ASCII, which travels without being encoded.
    const encoding = bytes === body.length ? "latin1" : "utf8";
    const isOne = encoding === "latin1" || (shared.isPlain && own.isPlain);
    return { method, head, body: isOne ? body : Buffer.from(body), encoding };
  };
}

function linesOf(headers: readonly string[]): Lines {
  let [text, isPlain] = ["", true];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = "", value = ""] = [headers[at], headers[at + 1]];
    if (!TOKEN.test(name) || OURS.test(name))
      throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`);
    if (!PLAIN.test(value)) {
      if (!VALUE.test(value))
        throw new TypeError(`the value of the header ${name} has characters that no header has`);
      isPlain = false;
    }
    text += `${name}: ${value}\r\n`;
  }
  return { text, isPlain };
}
