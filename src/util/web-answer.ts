// The answer of a web server as a tool gives it: JSON, text or base64, with what the record notes about it.
import type { Json, JsonObject } from "../contract/call.ts";
import { isModest } from "./json/json.ts";

export interface WebResponse {
  readonly status: number;
  readonly url: string;
  readonly finalUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly redirects: readonly string[];
  readonly elapsedMs: number;
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

const TEXTUAL =
  /^(text\/.*|application\/(json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-yaml|toml|sql|graphql|jsonl|x-ndjson|x-sh)|.*\+(json|xml|yaml))$/;
const SNIFFED_BYTES = 8_192;

export function answerOf(response: WebResponse) {
  const { status, url, finalUrl, redirects, elapsedMs, body, truncated } = response;
  const contentType = response.headers["content-type"] ?? null;
  return {
    ok: status >= 200 && status < 300,
    status,
    url,
    finalUrl,
    headers: { ...response.headers },
    contentType,
    ...contentOf(body, contentType, truncated),
    bytes: body.length,
    truncated,
    redirects: [...redirects],
    elapsedMs,
  };
}

/** What the record notes: where it came from, how much, and that nobody here vouches for it. */
export function notesOf(
  response: Omit<WebResponse, "body" | "truncated" | "status" | "headers">,
  bytes: number,
): JsonObject {
  const addresses = [response.url, ...response.redirects, response.finalUrl];
  const hosts = new Set(addresses.map((address) => URL.parse(address)?.hostname ?? ""));
  hosts.delete("");
  return { untrusted: true, hosts: [...hosts], bytes };
}

function contentOf(
  body: Uint8Array,
  contentType: string | null,
  truncated: boolean,
): { json?: Json; text?: string; base64?: string } {
  if (body.length === 0) return { text: "" };
  const text = textOf(body, contentType);
  if (text === null) return { base64: Buffer.from(body).toString("base64") };
  // JSON with too many values to process is answered as text.
  if (!truncated && /[/+]json$/.test(mimeOf(contentType)) && isModest(text)) {
    try {
      return { json: JSON.parse(text) as Json };
    } catch {
      // Declared as JSON, but it is not: the text explains more than an error would.
    }
  }
  return { text };
}

/** Null for what is no text. The charset of the header counts; an unknown one is read as UTF-8. */
export function textOf(body: Uint8Array, contentType: string | null): string | null {
  const mime = mimeOf(contentType);
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  if (mime !== "" && TEXTUAL.test(mime)) return decoded(body, charset, false);
  if (mime !== "" && mime !== "application/octet-stream") return null;
  return body.subarray(0, SNIFFED_BYTES).includes(0) ? null : decoded(body, "utf-8", true);
}

export const mimeOf = (contentType: string | null): string =>
  (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

function decoded(body: Uint8Array, charset: string, fatal: boolean): string | null {
  try {
    return new TextDecoder(charset, { fatal }).decode(body);
  } catch (cause) {
    if (cause instanceof RangeError) return new TextDecoder().decode(body);
    return null;
  }
}

/** A body as its content type wants it; null when an object cannot be written so. */
export function bodyOf(
  body: string | Readonly<Record<string, unknown>> | undefined,
  contentType: string,
): string | undefined | null {
  if (body === undefined || typeof body === "string") return body;
  const mime = mimeOf(contentType);
  if (/[/+]json$/.test(mime)) return JSON.stringify(body);
  if (mime !== "application/x-www-form-urlencoded") return null;
  const pairs = Object.entries(body).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return new URLSearchParams(pairs as [string, string][]).toString();
}
