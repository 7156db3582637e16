// The way to a server over HTTP: the SDK's transports, on connections of the egress guard, with our headers and our
// limits.
import { setTimeout as sleep } from "node:timers/promises";
import type { FetchLike, Transport } from "@modelcontextprotocol/client";
import type { Egress, Pooled } from "../../egress/egress.ts";
import { rulesForServer } from "../../egress/operator.ts";
import type { ServerRow, ServerTransport } from "../../../storage/store/store.ts";
import { parseStrict } from "../../../util/json/json.ts";
import { toUpstreamFault, invalidResponse, responseTooLarge } from "../connection/faults.ts";
import { REQUEST_MARK } from "../connection/wire.ts";
import { eventReader } from "./events.ts";
import { MAX_PIECES, type ReadBudget } from "./read-budget.ts";
import type { UpstreamFault } from "../upstream.ts";
import { type Credential } from "../upstream.ts";

export type HttpTransport = Extract<ServerTransport, { kind: "http" | "sse" }>;

/** Reports on single requests, by their mark. */
export interface HttpWatch {
  sent(mark: string): void;
  failed(mark: string, fault: UpstreamFault): void;
}

export interface OpenedHttp {
  readonly transport: Transport;
  readonly pool: Pooled;
  /** Ends the session where there is one, then every connection. */
  close(): Promise<void>;
}

/** A stream carries notices besides the answer. */
const STREAM_SLACK = 16_777_216;
/** Of pages that explain an error. */
const ERROR_BYTES = 65_536;
const GOODBYE_MS = 2_000;
/** The SDK reads each message several times. */
const SDK_COST = 4;

export async function openHttp(
  row: ServerRow & { readonly transport: HttpTransport },
  credential: Credential,
  watch: HttpWatch,
  budget: ReadBudget,
  egress: Egress,
): Promise<OpenedHttp> {
  const { transport: given, settings } = row;
  const pool = await egress.pooled(rulesForServer(given.url));
  const sdk = await import("@modelcontextprotocol/client");
  const url = new URL(given.url);
  const fetch = fetchFor({
    url,
    kind: given.kind,
    credential,
    watch,
    budget,
    pool,
    maxBytes: settings.maxResultBytes,
  });
  const options = { fetch, ...(credential.oauth ? { authProvider: credential.oauth } : {}) };
  if (given.kind === "sse") {
    const transport = new sdk.SSEClientTransport(url, options);
    return { transport, pool, close: () => transport.close().then(() => pool.close()) };
  }
  const transport = new sdk.StreamableHTTPClientTransport(url, options);
  return {
    transport,
    pool,
    async close() {
      if (transport.sessionId !== undefined) {
        const goodbye = transport.terminateSession().catch(() => undefined);
        await Promise.race([
          goodbye,
          new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref()),
        ]);
      }
      await pool.close();
    },
  };
}

interface FetchParts {
  readonly url: URL;
  readonly kind: HttpTransport["kind"];
  readonly credential: Credential;
  readonly watch: HttpWatch;
  readonly budget: ReadBudget;
  readonly pool: Pooled;
  readonly maxBytes: number;
}

function fetchFor({ url, kind, credential, watch, budget, pool, maxBytes }: FetchParts): FetchLike {
  return async (given, init = {}) => {
    const target = new URL(given);
    const headers = new Headers(init.headers);
    const mark = headers.get(REQUEST_MARK);
    headers.delete(REQUEST_MARK);
    // Discovery and tokens: whatever host it is, it gets nothing that was meant for the server.
    if (!isForServer(target, url, kind, mark !== null, init))
      return pool.fetch(target, { ...init, headers });
    for (const [name, value] of Object.entries(await credential.headers()))
      if (!headers.has(name)) headers.set(name, value);
    let sent = false;
    try {
      const onSent = (): void => {
        sent = true;
        if (mark !== null) watch.sent(mark);
      };
      const response = await pool.fetch(
        target,
        { ...init, headers },
        { maxBytes: Infinity, headersMs: 0, idleMs: 0, onSent },
      );
      return await checkedResponse(
        response,
        { maxBytes, budget, isStanding: init.method === "GET" },
        (fault) => mark !== null && watch.failed(mark, fault),
      );
    } catch (cause) {
      init.signal?.throwIfAborted();
      throw toUpstreamFault(cause, sent);
    }
  };
}

/** The transport's own requests; those for authorization may go to the same origin. */
function isForServer(
  target: URL,
  server: URL,
  kind: string,
  isMarked: boolean,
  init: RequestInit,
): boolean {
  if (target.origin !== server.origin) return false;
  // A redirect may have led to another path.
  if (isMarked || (target.pathname === server.pathname && target.search === server.search))
    return true;
  // In the transport of 2024 the server names the address to post to.
  return (
    kind === "sse" &&
    init.method === "POST" &&
    new Headers(init.headers).get("content-type") === "application/json"
  );
}

interface StreamLimits {
  readonly maxBytes: number;
  readonly budget: ReadBudget;
  /** It lives as long as the connection. */
  readonly isStanding: boolean;
}

/** The same answer, once it is known to be one that may be read. */
async function checkedResponse(
  response: Response,
  limits: StreamLimits,
  onFault: (fault: UpstreamFault) => void,
): Promise<Response> {
  const { status, headers, body } = response;
  const { budget } = limits;
  if (body === null) return response;
  if (headers.has("content-encoding") && headers.get("content-encoding") !== "identity") {
    await body.cancel();
    throw invalidResponse("it is compressed, which nobody asked for");
  }
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (!response.ok)
    return new Response(await readWhole(body, { budget, maxBytes: ERROR_BYTES }, "cut"), {
      status,
      headers,
    });
  if (type === "application/json") {
    const bytes = await readWhole(body, limits, "refuse");
    parseStrict(bytes);
    return new Response(bytes, { status, headers });
  }
  if (type !== "text/event-stream")
    return new Response(await readWhole(body, { budget, maxBytes: ERROR_BYTES }, "cut"), {
      status,
      headers,
    });
  return new Response(body.pipeThrough(checkedEvents(limits, onFault)), { status, headers });
}

/**
 * Lets events pass that are strict JSON, within the limit and not too many; the first that is not valid ends the
 * stream.
 */
function checkedEvents(
  { maxBytes, budget, isStanding }: StreamLimits,
  onFault: (fault: UpstreamFault) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const stream = budget.stream(SDK_COST);
  let passed: Buffer[] = [];
  const read = eventReader(maxBytes, (data, lines) => {
    // `endpoint` of the transport of 2024 is a path.
    if (
      data === null ||
      data[0] === SLASH ||
      data[0] === LETTER_H ||
      stream.read(data) !== undefined
    )
      passed.push(...lines.flatMap((line) => [line, NEWLINE]), NEWLINE);
  });
  let left = isStanding ? Infinity : maxBytes + STREAM_SLACK;
  return new TransformStream({
    async transform(chunk, out) {
      let rest: number;
      try {
        left -= chunk.length;
        if (left < 0) throw responseTooLarge(maxBytes);
        rest = stream.pauseMs(read(chunk));
      } catch (cause) {
        const fault = toUpstreamFault(cause, true);
        stream.end();
        onFault(fault);
        throw fault;
      }
      if (passed.length > 0) out.enqueue(Buffer.concat(passed));
      passed = [];
      if (rest > 0) await sleep(rest, undefined, { ref: false });
    },
    flush: () => stream.end(),
    cancel: () => stream.end(),
  });
}

const NEWLINE = Buffer.of(10);
const SLASH = 47;
const LETTER_H = 104;

async function readWhole(
  body: ReadableStream<Uint8Array>,
  { budget, maxBytes }: Pick<StreamLimits, "budget" | "maxBytes">,
  beyond: "cut" | "refuse",
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = budget.stream();
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes && beyond === "refuse") throw responseTooLarge(maxBytes);
    chunks.push(chunk);
    if (size > maxBytes) break;
    const rest = stream.pauseMs(0);
    if (rest > 0) await sleep(rest, undefined, { ref: false });
    if (chunks.length === MAX_PIECES) chunks = [Buffer.concat(chunks)];
  }
  return Uint8Array.from(Buffer.concat(chunks).subarray(0, maxBytes));
}
