// HTTP for tools: secrets in headers are filled in for their own hosts; everything else is decided by the egress guard.
import type { Call, Json, JsonObject } from "../../../contract/call.ts";
import type { Documents } from "../../../reach/documents/documents.ts";
import type {
  Egress,
  EgressResponse,
  EgressRules,
  EgressSubject,
} from "../../../reach/egress/egress.ts";
import { AppError } from "../../../contract/errors.ts";
import type { FetchPower, WebHead, WebRequest, WebResponse } from "../../../contract/powers/web.ts";
import { forbidden, plainHeaders, type OpenedHeaders, type SecretVault } from "./secrets.ts";
import type { SearchPower } from "./fetch/search.ts";

export interface FetchSettings {
  readonly egress: Egress;
  readonly rulesFor: (call: Call) => EgressRules;
  readonly vault: SecretVault;
  readonly search: (signal: AbortSignal) => SearchPower;
  readonly documents: Documents | null;
  readonly hostMatches: (pattern: string, host: string) => boolean;
}

const MAX_REQUEST_BYTES = 1_048_576;
const DEFAULT_REDIRECTS = 5;
const AGENT = "ostiary";

export function fetchPower(settings: FetchSettings) {
  return (call: Call, signal: AbortSignal): FetchPower => {
    const subject: EgressSubject = { rules: settings.rulesFor(call), signal };
    const send = async (request: WebRequest, maxBytes: number): Promise<Sent> => {
      const began = performance.now();
      const url = withQuery(request.url, request.query);
      const headers = openedHeaders(request.headers ?? {}, settings.vault);
      requireOwnHosts(url, headers, subject.rules, settings.hostMatches);
      requireFitting(request.body);
      const response = await settings.egress.request(
        {
          url,
          method: request.method,
          headers: { "user-agent": AGENT, accept: "*/*", ...headers.plain },
          credentials: headers.secret,
          ...(request.body === undefined ? {} : { body: request.body }),
          maxRedirects: request.maxRedirects ?? DEFAULT_REDIRECTS,
          redirect: request.followRedirects === false ? "manual" : "follow",
          maxBytes,
        },
        subject,
      );
      return { response, began, url, headers };
    };
    return {
      async request(request) {
        const sent = await send(request, request.maxBytes);
        const chunks: Uint8Array[] = [];
        for await (const chunk of sent.response.body) chunks.push(chunk);
        const body = withoutSecrets(Buffer.concat(chunks), sent.headers);
        return { ...headOf(sent), body, truncated: sent.response.truncated() };
      },
      async stream(request) {
        // One byte more than allowed shows that there is more.
        const sent = await send(request, request.maxBytes + 1);
        return { ...headOf(sent), body: withinLimit(sent.response, request.maxBytes) };
      },
      async readable(response, options) {
        if (!settings.documents)
          throw new AppError(
            "UNAVAILABLE",
            "provider_not_configured",
            "documents cannot be read here",
            { remedy: "use web/get for the raw text" },
          );
        const { finalUrl: url, body: bytes } = response;
        const mime = mimeOf(response);
        const name = new URL(url).pathname.split("/").at(-1) ?? "";
        return settings.documents.read({ bytes, mime, name, url, ...options }, signal);
      },
      search: (query) => settings.search(signal).search(query),
    };
  };
}

interface Sent {
  readonly response: EgressResponse;
  readonly began: number;
  readonly url: string;
  readonly headers: OpenedHeaders;
}

function openedHeaders(
  headers: NonNullable<WebRequest["headers"]>,
  vault: SecretVault,
): OpenedHeaders {
  return vault.open(headers) ?? plainHeaders(headers as Readonly<Record<string, string>>);
}

/** A secret goes to its own hosts alone, and in the clear only to places an operator named. */
function requireOwnHosts(
  url: string,
  { secret, used }: OpenedHeaders,
  rules: EgressRules,
  hostMatches: FetchSettings["hostMatches"],
): void {
  const [header = ""] = Object.keys(secret);
  const target = URL.parse(url);
  if (used.length === 0 || !target) return;
  const host = target.hostname.replace(/\.$/, "");
  const port = Number(target.port || (target.protocol === "http:" ? 80 : 443));
  for (const { name, hosts } of used)
    if (!hosts.some((pattern) => hostMatches(pattern, host)))
      throw forbidden(
        header,
        `the secret ${JSON.stringify(name)} is not meant for ${host}`,
        "use it with its own hosts, or ask an administrator to add this one",
      );
  if (target.protocol !== "https:" && !rules.isExcepted(host, port))
    throw forbidden(header, "a secret is not sent in the clear", "use https");
}

function requireFitting(body: string | Uint8Array | undefined): void {
  const bytes = body === undefined ? 0 : Buffer.byteLength(body);
  if (bytes > MAX_REQUEST_BYTES)
    throw new AppError(
      "FORBIDDEN",
      "size_exceeded",
      `the request body has ${bytes} bytes; at most ${MAX_REQUEST_BYTES} are allowed`,
      { remedy: "send less, or in parts" },
    );
}

/** Added as text, so that the URL stays as the gate checked it. */
export function withQuery(url: string, query: JsonObject | undefined): string {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, textOf(one)] as [string, string]),
  );
  if (pairs.length === 0) return url;
  const [whole = "", fragment] = url.split("#", 2);
  const joined = `${whole}${whole.includes("?") ? "&" : "?"}${new URLSearchParams(pairs).toString()}`;
  return fragment === undefined ? joined : `${joined}#${fragment}`;
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

function headOf({ response, began, url, headers }: Sent): WebHead {
  const clean = Object.entries(response.headers).map(([name, value]) => [
    name,
    cleaned(value, headers),
  ]);
  return {
    status: response.status,
    url,
    finalUrl: response.url,
    headers: Object.fromEntries(clean) as Record<string, string>,
    redirects: response.redirects,
    elapsedMs: Math.round(performance.now() - began),
  };
}

const cleaned = (text: string, { used }: OpenedHeaders): string =>
  used.reduce((left, { name, value }) => left.replaceAll(value, `[secret:${name}]`), text);

/** Keeps a secret from a model when a server echoes its request. */
function withoutSecrets(body: Buffer, headers: OpenedHeaders): Buffer {
  if (!headers.used.some(({ value }) => body.includes(value))) return body;
  return Buffer.from(
    cleaned(body.toString("latin1"), {
      ...headers,
      used: headers.used.map((one) => ({
        ...one,
        value: Buffer.from(one.value).toString("latin1"),
      })),
    }),
    "latin1",
  );
}

/** More than the limit is an error; leaving the body unread gives the connection up. */
function withinLimit({ body }: EgressResponse, limit: number): AsyncIterableIterator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  let left = limit;
  return {
    async next() {
      const next = await chunks.next();
      left -= next.done === true ? 0 : next.value.length;
      if (left >= 0) return next;
      await chunks.return?.();
      throw new AppError(
        "EXECUTION_FAILED",
        "body_too_large",
        `the answer is larger than ${limit} bytes`,
        { remedy: "raise maxBytes, or ask for less" },
      );
    },
    async return() {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const mimeOf = ({ headers }: WebResponse): string =>
  (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() || "application/octet-stream";
