// One exchange with a provider, through the egress guard, at the address of its settings only.
import type { Egress, EgressRules } from "../egress/egress.ts";
import { bodyTooLarge } from "../egress/faults.ts";

export interface ExchangeRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The answer comes in pieces, so that a long silence means that nothing more will come. */
  readonly streams?: boolean;
  readonly maxBytes: number;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As it comes. Must be read or cancelled, which frees the connection; throws when it is larger than allowed. */
  readonly body: AsyncIterable<Uint8Array>;
}

export type ModelExchange = (request: ExchangeRequest) => Promise<ExchangeResponse>;

/** Images and speech come whole. */
export const MAX_ANSWER_BYTES = 104_857_600;
/** Text with its wrapping, and a few pictures. */
export const MAX_CHAT_BYTES = 33_554_432;
const MAX_ERROR_BYTES = 65_536;
/** Between two pieces of a stream, and before the first. */
const IDLE_MS = 60_000;
/** A whole answer is written before it is sent: the time of the call ends the wait. */
const WHOLE_MS = 300_000;

export interface ExchangePowers {
  readonly egress: Pick<Egress, "request">;
  /** Rules that allow only this address. */
  readonly rulesFor: (url: string) => EgressRules;
  readonly signal: AbortSignal;
  readonly idleMs?: number | undefined;
}

export function exchangeThrough(p: ExchangePowers): ModelExchange {
  return async ({ url, method, headers, body, streams = false, maxBytes }) => {
    const request = {
      url,
      method,
      headers,
      maxRedirects: 0,
      maxBytes,
      headersMs: streams ? (p.idleMs ?? IDLE_MS) : WHOLE_MS,
      ...(body === undefined ? {} : { body }),
    };
    const response = await p.egress.request(request, { rules: p.rulesFor(url), signal: p.signal });
    async function* whole(): AsyncGenerator<Uint8Array> {
      yield* response.body;
      if (response.truncated()) throw bodyTooLarge(new URL(url).host, maxBytes);
    }
    return { status: response.status, headers: response.headers, body: whole() };
  };
}

export async function bytesOf({ body }: Pick<ExchangeResponse, "body">): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The longest part of an error's text that is kept. */
export async function errorText({ body }: ExchangeResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_ERROR_BYTES).toString("utf8");
}
