// A `fetch` over kept connections, for code of others that expects one. It follows no redirects and caps what it reads.
import type { Pooled, PooledFetchOptions, PooledFlow } from "./egress.ts";
import { bodyTooLarge, translated } from "./faults.ts";

/** Headers of these are ignored where they are sent all the same. */
const WITHOUT_BODY = new Set([204, 205, 304]);
const DEFAULT_MAX_BYTES = 1_048_576;
/** Bytes buffered ahead of the reader. Reading resumes when half of them are used, not with every chunk. */
const AHEAD_BYTES = 65_536;

export function fetchOver(
  pooled: Pooled,
  given: string | URL,
  init: RequestInit,
  options: PooledFetchOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const url = new URL(given);
    const { signal } = init;
    const body = textOf(init.body);
    const headers = headersOf(init);
    // The reason of a cancel need not be an error.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    if (signal?.aborted) return reject(signal.reason);
    const answer = answering(url.host, options.maxBytes ?? DEFAULT_MAX_BYTES, resolve, reject, () =>
      signal?.removeEventListener("abort", onAbort),
    );
    const flow = pooled.send(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: init.method ?? "GET",
        headers,
        body,
        headersMs: options.headersMs,
        idleMs: options.idleMs,
      },
      { ...answer.sink, started: options.onSent },
    );
    answer.flow = flow;
    const onAbort = (): void => {
      flow.abort();
      answer.fail(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

interface Answering {
  flow: PooledFlow | null;
  fail(cause: unknown): void;
  readonly sink: Parameters<Pooled["send"]>[1];
}

function answering(
  where: string,
  maxBytes: number,
  resolve: (response: Response) => void,
  reject: (cause: unknown) => void,
  release: () => void,
): Answering {
  let stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  let left = maxBytes;
  let isOver = false;
  const self: Answering = {
    flow: null,
    fail(cause) {
      if (isOver) return;
      isOver = true;
      release();
      stream?.error(cause);
      reject(cause);
    },
    sink: {
      head(status, headers) {
        const init = { status, headers: webHeaders(headers) };
        if (WITHOUT_BODY.has(status)) return resolve(new Response(null, init));
        const body = new ReadableStream<Uint8Array>(
          {
            start: (controller) => void (stream = controller),
            pull: ({ desiredSize }) => {
              if ((desiredSize ?? 0) >= AHEAD_BYTES / 2) self.flow?.resume();
            },
            cancel: () => {
              isOver = true;
              release();
              self.flow?.abort();
            },
          },
          new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
        );
        resolve(new Response(body, init));
      },
      data(chunk) {
        if (isOver) return;
        left -= chunk.length;
        if (left < 0) {
          self.flow?.abort();
          return self.fail(bodyTooLarge(where, maxBytes));
        }
        stream?.enqueue(Uint8Array.from(chunk));
        if ((stream?.desiredSize ?? 1) <= 0) self.flow?.pause();
      },
      end() {
        if (isOver) return;
        isOver = true;
        release();
        stream?.close();
      },
      failed: (cause) => self.fail(translated(where, cause)),
    },
  };
  return self;
}

function textOf(body: RequestInit["body"]): string | Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new TypeError("expected a body of text or bytes");
}

/** What comes back is read as it is, so nothing compressed is asked for. */
function headersOf(init: RequestInit): string[] {
  const headers = new Headers(init.headers);
  headers.set("accept-encoding", "identity");
  if (init.body instanceof URLSearchParams && !headers.has("content-type"))
    headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
  return [...headers].flat();
}

function webHeaders(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const one of Array.isArray(value) ? value : [value ?? ""]) headers.append(name, one);
  return headers;
}
