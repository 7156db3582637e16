// The chat of the OpenAI interface: our request in its format, and its answer, whole or as a stream of events.
import type { JsonObject } from "../../contract/call.ts";
import type { GenerateRequest, ModelMessage, Usage } from "../../contract/powers/model.ts";
import { AppError } from "../../contract/errors.ts";
import { eventReader } from "../upstream/http/events.ts";
import { UpstreamFault } from "../upstream/upstream.ts";
import { cut, notUnderstood, ProviderFault, providerFault, refused } from "./faults.ts";
import type { AdapterAnswer } from "./model.ts";
import { spoken, type Spoken } from "./spoken.ts";

/** One event, text of a few tokens or a picture. */
const MAX_EVENT_BYTES = 16_777_216;
const DONE = "[DONE]";

export interface Completion {
  readonly model?: string;
  readonly choices?: readonly Choice[];
  readonly usage?: TokenCounts | null;
  readonly error?: { readonly code?: unknown; readonly message?: unknown } | null;
}

interface Choice {
  readonly finish_reason?: string | null;
  /** Of a whole answer. */
  readonly message?: Part;
  /** Of a stream. */
  readonly delta?: Part;
}

interface Part {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ToolCall[] | null;
  /** Not OpenAI's own; routers and compatible servers return pictures like this. */
  readonly images?: readonly { readonly image_url?: { readonly url?: string } }[] | null;
}

interface ToolCall {
  readonly index?: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown };
}

export interface TokenCounts {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
}

export interface ChatRequest {
  /** Its name here. */
  readonly name: string;
  /** The provider's name for it. */
  readonly model: string;
  readonly request: GenerateRequest;
}

/** `tokensWord`: newer models of OpenAI need another one. */
export function bodyOf(
  { messages, system, maxTokens, temperature, stop, tools, schema, onText }: GenerateRequest,
  tokensWord: "max_tokens" | "max_completion_tokens",
): JsonObject {
  return {
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...messages.map(messageOf),
    ],
    [tokensWord]: maxTokens,
    ...(onText && { stream: true, stream_options: { include_usage: true } }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, schema: parameters }) => ({
            type: "function",
            function: { name, description, parameters },
          })),
        }),
    ...(schema === undefined
      ? {}
      : {
          response_format: {
            type: "json_schema",
            json_schema: { name: "answer", schema, strict: false },
          },
        }),
  };
}

function messageOf(message: ModelMessage): JsonObject {
  if (message.role === "tool")
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  if (message.role === "user") {
    const { content, images = [] } = message;
    if (images.length === 0) return { role: "user", content };
    const parts = images.map(({ mime, bytes }) => imagePart(mime, bytes));
    return { role: "user", content: [{ type: "text", text: content }, ...parts] };
  }
  if (!message.calls?.length) return { role: "assistant", content: message.content };
  const calls = message.calls.map(({ id, name, arguments: given }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));
  return { role: "assistant", content: message.content, tool_calls: calls };
}

function imagePart(mime: string, bytes: Uint8Array): JsonObject {
  const url = `data:${mime};base64,${Buffer.from(bytes).toString("base64")}`;
  return { type: "image_url", image_url: { url } };
}

/** A whole answer. */
export function completed(asked: ChatRequest, answer: Completion): AdapterAnswer<"generate"> {
  const { name, request } = asked;
  const choice = answer.choices?.[0];
  if (!choice?.message) throw notUnderstood(name, "a choice");
  const reply = spoken(name, request);
  take(name, reply, choice.message);
  return ended(asked, reply, answer, choice.finish_reason ?? null);
}

/** A stream of events, assembled as it comes. */
export async function streamed(
  asked: ChatRequest,
  body: AsyncIterable<Uint8Array>,
): Promise<AdapterAnswer<"generate">> {
  const { name, request } = asked;
  const reply = spoken(name, request);
  const seen: { -readonly [K in keyof Completion]: Completion[K] } = {};
  let finish: string | null = null;
  let done = false;
  let events = 0;
  const read = eventReader(MAX_EVENT_BYTES, (data) => {
    if (data === null || done) return;
    events++;
    const text = data.toString("utf8");
    if (text === DONE) return void (done = true);
    const chunk = chunkOf(name, text, reply);
    const choice = chunk.choices?.[0];
    if (choice?.delta) take(name, reply, choice.delta);
    finish = choice?.finish_reason ?? finish;
    if (chunk.usage) seen.usage = chunk.usage;
    if (chunk.model !== undefined) seen.model = chunk.model;
  });
  try {
    for await (const bytes of body) {
      read(bytes);
      if (done) break;
    }
  } catch (cause) {
    if (cause instanceof UpstreamFault)
      throw notUnderstood(name, "events that can be read", reply.text);
    if (cause instanceof ProviderFault || !(cause instanceof AppError)) throw cause;
    throw cut(name, reply.text, cause);
  }
  if (events === 0) throw notUnderstood(name, "events");
  if (!done && finish === null) throw cut(name, reply.text);
  return ended(asked, reply, seen, finish);
}

function chunkOf(name: string, text: string, reply: Spoken): Completion {
  const chunk = parsed(text);
  if (chunk === null) throw notUnderstood(name, "JSON in its stream", reply.text);
  if (!chunk.error) return chunk;
  const { code } = chunk.error;
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : 500;
  throw providerFault(name, status, text, { partial: reply.text });
}

function take(name: string, reply: Spoken, part: Part): void {
  if (part.refusal) throw refused(name, reply.text);
  if (typeof part.content === "string") reply.say(part.content);
  for (const [at, call] of (part.tool_calls ?? []).entries()) reply.call(...calledBy(call, at));
  for (const { image_url: link } of part.images ?? []) {
    const [, mime, data] = /^data:(image\/[a-z0-9.+-]+);base64,(.*)$/s.exec(link?.url ?? "") ?? [];
    if (mime !== undefined && data !== undefined)
      reply.image({ mime, bytes: Buffer.from(data, "base64") });
  }
}

function calledBy(
  { index, id, function: asked }: ToolCall,
  at: number,
): Parameters<Spoken["call"]> {
  const given = asked?.arguments;
  const json = typeof given === "string" ? given : given == null ? "" : JSON.stringify(given);
  // In whole answers the position counts, since those have no index.
  return [String(index ?? at), { id: id ?? "", name: asked?.name ?? "", json }];
}

function ended(
  { name, model: wanted }: ChatRequest,
  reply: Spoken,
  { model, usage }: Completion,
  finish: string | null,
): AdapterAnswer<"generate"> {
  if (finish === "content_filter") throw refused(name, reply.text);
  return reply.answer({
    model: model ?? wanted,
    usage: usage ? usageOf(usage) : null,
    finish: finish === "length" ? "length" : "stop",
  });
}

export function usageOf(usage: TokenCounts | null | undefined): Usage {
  const input = usage?.prompt_tokens ?? 0;
  return {
    input,
    output: usage?.completion_tokens ?? Math.max(0, (usage?.total_tokens ?? 0) - input),
  };
}

/** Null: not an object in JSON. */
export function parsed<T extends object = Completion>(text: string): T | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? (value as T) : null;
  } catch {
    return null;
  }
}
