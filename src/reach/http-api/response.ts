// The answer of an API: read within its limit, freed of our own secrets, and shaped as an administrator wants it.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { EgressResponse } from "../egress/egress.ts";
import { AppError } from "../../contract/errors.ts";
import { UpstreamFault } from "../upstream/upstream.ts";
import { JsonFault, parseStrict } from "../../util/json/json.ts";
import { mimeOf, textOf } from "../../util/web-answer.ts";
import { isJson } from "./inputs.ts";
import type { Operation } from "./operation.ts";
import { shaped } from "./select.ts";

/** Takes the server's own secrets out of a text, should the API echo them. */
export type Clean = (text: string) => string;

/** A response that reports trouble of the server: it counts against its breaker. */
export class StatusFault extends UpstreamFault {
  readonly apiError: AppError;
  constructor(apiError: AppError) {
    super("protocol", apiError.message, { dispatched: true });
    this.apiError = apiError;
  }
}

const MAX_ERROR_BYTES = 16_384;
const MAX_ERROR_CHARS = 2_000;
const MAX_RETRY_SECONDS = 86_400;
/** Headers that say where to go on. */
const TOLD_HEADERS = ["location", "link", "etag", "last-modified", "x-total-count", "x-next-page"];

export async function readResponse(
  response: EgressResponse,
  operation: Operation,
  maxBytes: number,
  clean: Clean,
): Promise<JsonObject> {
  const { status } = response;
  if (status >= 400) throw await failureOf(response, clean);
  const bytes = await collect(response, Number.POSITIVE_INFINITY);
  if (response.truncated())
    throw new UpstreamFault("too_large", `the answer is larger than ${maxBytes} bytes`, {
      dispatched: true,
    });
  const headers = TOLD_HEADERS.flatMap((name) => {
    const value = response.headers[name];
    return value === undefined ? [] : [[name, clean(value)] as const];
  });
  return {
    status,
    ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}),
    ...contentOf(bytes, response.headers["content-type"] ?? null, operation, clean),
  };
}

function contentOf(
  bytes: Buffer,
  contentType: string | null,
  { select, maxItems }: Operation,
  clean: Clean,
): JsonObject {
  if (bytes.length === 0) return { body: null };
  const text = textOf(bytes, contentType);
  // Bytes that are no text help no model.
  if (text === null)
    return {
      contentType: clean(contentType ?? ""),
      bytes: bytes.length,
      note: "the answer is binary; only its size and type are handed on",
    };
  const parsed = isJson(mimeOf(contentType)) ? jsonOf(clean(text)) : undefined;
  if (parsed !== undefined && !("fault" in parsed)) {
    const { value, omitted } = shaped(parsed.value, select, maxItems);
    return { body: value, ...(omitted > 0 ? { omittedItems: omitted } : {}) };
  }
  // What was chosen to be handed on cannot be found in it, and the rest was not meant to be.
  if (select !== null)
    throw new AppError(
      "EXECUTION_FAILED",
      "upstream_protocol",
      `the answer is no JSON that parts can be taken of (${parsed?.fault ?? (mimeOf(contentType) || "no content type")})`,
      { remedy: "an administrator can import the operation without select" },
    );
  return {
    contentType: clean(contentType ?? ""),
    body: clean(text),
    ...(parsed ? { note: `handed on as text: ${parsed.fault}` } : {}),
  };
}

/** JSON that every parser reads the same way; anything else stays text. */
function jsonOf(text: string): { readonly value: Json } | { readonly fault: string } {
  try {
    return { value: parseStrict(Buffer.from(text)) };
  } catch (cause) {
    if (cause instanceof JsonFault) return { fault: cause.message };
    throw cause;
  }
}

async function failureOf(response: EgressResponse, clean: Clean): Promise<Error> {
  const { status, headers } = response;
  const bytes = await collect(response, MAX_ERROR_BYTES);
  const bodyText = clean(textOf(bytes, headers["content-type"] ?? null) ?? "").trim();
  const shown =
    bodyText.length > MAX_ERROR_CHARS ? `${bodyText.slice(0, MAX_ERROR_CHARS)}…` : bodyText;
  const wait = status === 429 || status === 503 ? retryAfter(headers["retry-after"]) : null;
  const apiError = new AppError(
    "EXECUTION_FAILED",
    reasonOf(status),
    `the API answered ${status}${shown === "" ? "" : `: ${shown}`}`,
    {
      remedy: remedyOf(status, wait),
      ...(wait === null ? {} : { retryAfterSeconds: wait }),
    },
  );
  return status >= 500 || status === 429 ? new StatusFault(apiError) : apiError;
}

function reasonOf(status: number): string {
  if (status === 429) return "upstream_rate";
  return status >= 500 ? "upstream_unavailable" : "upstream_error";
}

function remedyOf(status: number, wait: number | null): string {
  if (wait !== null) return `try again after ${wait} seconds`;
  if (status === 401 || status === 403)
    return "an administrator must check the credential of this server";
  if (status === 404 || status === 410) return "check the values that name what you want";
  if (status === 429) return "call it less often";
  return status >= 500 ? "try again later" : "mend the arguments as the answer says";
}

/** Seconds, or a date; null when it says neither. */
function retryAfter(header: string | undefined): number | null {
  if (header === undefined) return null;
  const seconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header)
    : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? null : Math.min(MAX_RETRY_SECONDS, Math.max(1, seconds));
}

/** The body, or its beginning; leaving it gives the connection up. */
async function collect({ body }: EgressResponse, enough: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= enough) break;
  }
  return Buffer.concat(chunks);
}
