// Go's net/url, as far as OPA shows it: parsing into parts and query escaping.
import { parseIp } from "./ip.ts";
import { quoteGo } from "./quote.ts";
import { decodeUtf8, encodeUtf8 } from "./utf8.ts";

export class UrlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UrlError";
  }
}

type Mode = "path" | "host" | "zone" | "userinfo" | "query" | "fragment";

export interface ParsedUrl {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly rawPath: string;
  readonly rawQuery: string;
  readonly fragment: string;
}

const isHex = (char: string): boolean => /^[0-9a-fA-F]$/.test(char);
const badEscape = (text: string): UrlError => new UrlError(`invalid URL escape ${quoteGo(text)}`);

/** Characters a host may hold unescaped besides letters, digits and non-ASCII. */
const HOST_OK = "-_.~!$&'()*+,;=:[]<>\"";

export function unescape(text: string, mode: Mode): string {
  if (!/[%+]/.test(text) && mode !== "host" && mode !== "zone") return text;
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (char === "%") {
      const pair = text.slice(i + 1, i + 3);
      if (pair.length < 2 || !isHex(pair.charAt(0)) || !isHex(pair.charAt(1))) {
        throw badEscape(decodeUtf8(encodeUtf8(text.slice(i, i + 4)).subarray(0, 3)));
      }
      const code = parseInt(pair, 16);
      checkHostEscape(text.slice(i, i + 3), code, mode);
      out.push(code);
      i += 2;
    } else if (char === "+" && mode === "query") out.push(32);
    else {
      const unit = text.charCodeAt(i);
      if ((mode === "host" || mode === "zone") && unit < 0x80 && !hostChar(char)) {
        throw new UrlError(`invalid character ${quoteGo(char)} in host name`);
      }
      const point = String.fromCodePoint(text.codePointAt(i) ?? 0);
      out.push(...encodeUtf8(point));
      i += point.length - 1;
    }
  }
  return decodeUtf8(Uint8Array.from(out));
}

const hostChar = (char: string): boolean => /^[A-Za-z0-9]$/.test(char) || HOST_OK.includes(char);

/** In a host only non-ASCII bytes may be escaped, in a zone also what needs escaping there. */
function checkHostEscape(escape: string, code: number, mode: Mode): void {
  if (mode === "host" && code < 0x80 && escape !== "%25") throw badEscape(escape);
  if (
    mode === "zone" &&
    escape !== "%25" &&
    code !== 0x20 &&
    code < 0x80 &&
    !hostChar(String.fromCharCode(code))
  ) {
    throw badEscape(escape);
  }
}

/** Go's url.QueryEscape. */
export function queryEscape(text: string): string {
  let out = "";
  for (const byte of encodeUtf8(text)) {
    const char = String.fromCharCode(byte);
    if (/^[A-Za-z0-9\-_.~]$/.test(char)) out += char;
    else out += byte === 32 ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

/** Pairs of a query; parts with `;` are errors, parts that fail to decode too. */
export function parseQuery(query: string): [string, string][] {
  const pairs: [string, string][] = [];
  let problem: UrlError | undefined;
  for (const part of query.split("&")) {
    if (part.includes(";")) {
      problem = new UrlError("invalid semicolon separator in query");
      continue;
    }
    if (part === "") continue;
    const at = part.indexOf("=");
    try {
      const key = unescape(at < 0 ? part : part.slice(0, at), "query");
      pairs.push([key, at < 0 ? "" : unescape(part.slice(at + 1), "query")]);
    } catch (error) {
      if (!(error instanceof UrlError)) throw error;
      problem ??= error;
    }
  }
  if (problem !== undefined) throw problem;
  return pairs;
}

function escapePath(path: string): string {
  let out = "";
  for (const byte of encodeUtf8(path)) {
    const char = String.fromCharCode(byte);
    out += /^[A-Za-z0-9\-_.~$&+,/:;=@]$/.test(char)
      ? char
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

function splitScheme(url: string): [scheme: string, rest: string] {
  for (let i = 0; i < url.length; i++) {
    const char = url.charAt(i);
    if (/^[a-zA-Z]$/.test(char)) continue;
    if (/^[0-9+\-.]$/.test(char)) {
      if (i === 0) return ["", url];
    } else if (char === ":") {
      if (i === 0) throw new UrlError("missing protocol scheme");
      return [url.slice(0, i), url.slice(i + 1)];
    } else return ["", url];
  }
  return ["", url];
}

function checkUserinfo(userinfo: string): void {
  for (const char of userinfo) {
    if (!/^[A-Za-z0-9]$/.test(char) && !"-._:~!$&'()*+,;=%@".includes(char)) {
      throw new UrlError("net/url: invalid userinfo");
    }
  }
  for (const part of userinfo.split(":")) unescape(part, "userinfo");
}

const validPort = (port: string): boolean => port === "" || /^:\d*$/.test(port);

/** "[::1]:80": the address in brackets must be a real one, with an optional zone. */
function parseLiteral(host: string, close: number): string {
  const port = host.slice(close + 1);
  if (!validPort(port)) throw new UrlError(`invalid port ${quoteGo(port)} after host`);
  const inner = host.slice(1, close);
  const zone = inner.indexOf("%25");
  const name =
    zone < 0
      ? unescape(inner, "host")
      : unescape(inner.slice(0, zone), "host") + unescape(inner.slice(zone), "zone");
  const percent = name.indexOf("%");
  const address = percent < 0 ? name : name.slice(0, percent);
  const ip = parseIp(address);
  if (ip === undefined || percent === name.length - 1) {
    throw new UrlError(`invalid host: ParseAddr(${quoteGo(name)}): unable to parse IP`);
  }
  if (ip.length === 4) throw new UrlError("invalid IP-literal");
  return `[${name}]${port}`;
}

function parseHost(scheme: string, host: string): string {
  const open = host.lastIndexOf("[");
  if (open > 0) throw new UrlError("invalid IP-literal");
  if (open === 0) {
    const close = host.lastIndexOf("]");
    if (close < 0) throw new UrlError("missing ']' in host");
    return parseLiteral(host, close);
  }
  // Only the last colon counts, except where a second one is always a mistake.
  const strict = scheme === "http" || scheme === "https";
  const colon = strict ? host.indexOf(":") : host.lastIndexOf(":");
  if (colon >= 0 && !validPort(host.slice(colon))) {
    throw new UrlError(`invalid port ${quoteGo(host.slice(colon))} after host`);
  }
  return unescape(host, "host");
}

function parseParts(url: string): ParsedUrl {
  // eslint-disable-next-line no-control-regex -- a URL with these is refused
  if (/[\x00-\x1f\x7f]/.test(url)) throw new UrlError("net/url: invalid control character in URL");
  if (url === "*") return { ...NOTHING, path: "*" };
  const [scheme, afterScheme] = splitScheme(url);
  const question = afterScheme.indexOf("?");
  const rawQuery = question < 0 ? "" : afterScheme.slice(question + 1);
  let rest = question < 0 ? afterScheme : afterScheme.slice(0, question);
  const base = { ...NOTHING, scheme: scheme.toLowerCase(), rawQuery };
  if (!rest.startsWith("/")) {
    // Opaque: "mailto:someone" has no path.
    if (scheme !== "") return base;
    const segment = rest.split("/", 1)[0] ?? "";
    if (segment.includes(":")) throw new UrlError("first path segment in URL cannot contain colon");
  }
  let host = "";
  if ((scheme !== "" || !rest.startsWith("///")) && rest.startsWith("//")) {
    const slash = rest.indexOf("/", 2);
    const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
    rest = slash < 0 ? "" : rest.slice(slash);
    const at = authority.lastIndexOf("@");
    host = parseHost(base.scheme, authority.slice(at + 1));
    if (at >= 0) checkUserinfo(authority.slice(0, at));
  }
  const path = unescape(rest, "path");
  const rawPath = rest === escapePath(path) ? "" : rest;
  return { ...base, host, path, rawPath };
}

const NOTHING: ParsedUrl = {
  scheme: "",
  host: "",
  path: "",
  rawPath: "",
  rawQuery: "",
  fragment: "",
};

export function parseUrl(raw: string): ParsedUrl {
  const hash = raw.indexOf("#");
  const url = hash < 0 ? raw : raw.slice(0, hash);
  const parts = located(url, () => parseParts(url));
  const fragment = hash < 0 ? "" : located(raw, () => unescape(raw.slice(hash + 1), "fragment"));
  return { ...parts, fragment };
}

function located<T>(text: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof UrlError)) throw error;
    throw new UrlError(`parse ${quoteGo(text)}: ${error.message}`);
  }
}

function splitPort(host: string): [host: string, port: string] {
  const colon = host.lastIndexOf(":");
  if (colon < 0 || !validPort(host.slice(colon))) return [host, ""];
  return [host.slice(0, colon), host.slice(colon + 1)];
}

export function hostname(url: ParsedUrl): string {
  const [host] = splitPort(url.host);
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

export const port = (url: ParsedUrl): string => splitPort(url.host)[1];

/** The path as it is sent: as written when that was valid, else escaped anew. */
export function escapedPath(url: ParsedUrl): string {
  const valid = /^[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]%/]*$/.test(url.rawPath);
  if (url.rawPath !== "" && valid) return url.rawPath;
  return url.path === "*" ? "*" : escapePath(url.path);
}
