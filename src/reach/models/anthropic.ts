// Anthropic's models through their SDK, whose requests go through the egress guard.
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { AppError } from "../../contract/errors.ts";
import type { GenerateRequest, ModelImage, ModelMessage } from "../../contract/powers/model.ts";
import { MAX_CHAT_BYTES, type ModelExchange } from "./exchange.ts";
import { cut, notUnderstood, ProviderFault, providerFault, refused } from "./faults.ts";
import type { AdapterAnswer, ModelAdapter, ModelSettings } from "./model.ts";
import { spoken, type Spoken } from "./spoken.ts";

type Create = Anthropic.MessageCreateParamsNonStreaming;
type Event = Anthropic.RawMessageStreamEvent;
const DEFAULT_URL = "https://api.anthropic.com";
const LOOK_TOKENS = 1_024;
/** The tool by which a model returns an answer of a wanted shape. */
const ANSWER = "answer";
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
/** More than any answer may take; the call ends it earlier. */
const TIMEOUT_MS = 600_000;
/** The status that errors inside a stream stand for. */
const STATUSES: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  rate_limit_error: 429,
  overloaded_error: 529,
};

export function anthropic(
  settings: ModelSettings,
  name: string,
  exchange: ModelExchange,
): ModelAdapter {
  const model = settings.model ?? name;

  const generate = async (request: GenerateRequest): Promise<AdapterAnswer<"generate">> => {
    const failed: { cause?: unknown } = {};
    const client = new Anthropic({
      apiKey: settings.apiKey ?? "",
      // Nothing from the environment.
      authToken: null,
      baseURL: settings.url ?? DEFAULT_URL,
      // Retries are those of all providers, in ask.ts.
      maxRetries: 0,
      timeout: TIMEOUT_MS,
      // It would print messages of providers.
      logLevel: "off",
      fetch: fetchThrough(exchange, request.onText !== undefined, failed),
    });
    const reply = spoken(name, request);
    const params = { model, ...paramsOf(name, request) };
    try {
      if (!request.onText) return whole(name, reply, request, await client.messages.create(params));
      return await streamed(
        { name, reply, request },
        await client.messages.create({ ...params, stream: true }),
      );
    } catch (cause) {
      // The SDK wraps the error of the egress guard.
      throw translated(name, failed.cause ?? cause, reply.text);
    }
  };

  return {
    generate,
    async look({ image, mime, prompt }) {
      const { text, usage, ...rest } = await generate({
        messages: [{ role: "user", content: prompt, images: [{ mime, bytes: image }] }],
        maxTokens: Math.min(LOOK_TOKENS, settings.limits?.outputTokens ?? LOOK_TOKENS),
      });
      return { text, usage, model: rest.model };
    },
  };
}

function translated(name: string, cause: unknown, partial: string): unknown {
  if (cause instanceof ProviderFault) return cause;
  if (cause instanceof APIError) {
    const { status, headers, error, type } = cause as APIError<
      number | undefined,
      Headers | undefined,
      object | undefined
    >;
    return providerFault(name, status ?? STATUSES[type ?? ""] ?? 500, JSON.stringify(error ?? ""), {
      retryAfter: headers?.get("retry-after") ?? undefined,
      partial,
    });
  }
  if (cause instanceof SyntaxError) return notUnderstood(name, "JSON", partial);
  return cause instanceof AppError && partial !== "" ? cut(name, partial, cause) : cause;
}

function whole(
  name: string,
  reply: Spoken,
  request: GenerateRequest,
  message: Anthropic.Message,
): AdapterAnswer<"generate"> {
  // The SDK reads JSON of any kind.
  if (!Array.isArray(message.content)) throw notUnderstood(name, "content");
  for (const [at, block] of message.content.entries()) {
    if (block.type === "text") reply.say(block.text);
    if (block.type !== "tool_use") continue;
    const json = JSON.stringify(block.input);
    if (isAnswer(request, block.name)) reply.say(json);
    else reply.call(String(at), { id: block.id, name: block.name, json });
  }
  return ended(name, reply, message);
}

/** The one tool that a wanted shape is asked for with: its arguments are the answer. */
const isAnswer = ({ schema }: GenerateRequest, tool: string): boolean =>
  schema !== undefined && tool === ANSWER;

interface Streaming {
  readonly name: string;
  readonly reply: Spoken;
  readonly request: GenerateRequest;
}

async function streamed(
  { name, reply, request }: Streaming,
  events: AsyncIterable<Event>,
): Promise<AdapterAnswer<"generate">> {
  let message: Anthropic.Message | null = null;
  let complete = false;
  /** Blocks that are the wanted answer itself. */
  const shaped = new Set<number>();
  for await (const event of events) {
    if (event.type === "message_start") message = event.message;
    else if (event.type === "content_block_start" && event.content_block.type === "tool_use") {
      const { id, name: tool } = event.content_block;
      if (isAnswer(request, tool)) shaped.add(event.index);
      else reply.call(String(event.index), { id, name: tool });
    } else if (event.type === "content_block_delta") {
      const { delta, index } = event;
      if (delta.type === "text_delta") reply.say(delta.text);
      else if (delta.type === "input_json_delta" && shaped.has(index))
        reply.say(delta.partial_json);
      else if (delta.type === "input_json_delta")
        reply.call(String(index), { json: delta.partial_json });
    } else if (event.type === "message_delta" && message) {
      message.stop_reason = event.delta.stop_reason;
      message.usage.output_tokens = event.usage.output_tokens;
    } else if (event.type === "message_stop") complete = true;
  }
  if (!message) throw notUnderstood(name, "a message", reply.text);
  if (!complete) throw cut(name, reply.text);
  return ended(name, reply, message);
}

function ended(
  name: string,
  reply: Spoken,
  { model, stop_reason: reason, usage }: Anthropic.Message,
): AdapterAnswer<"generate"> {
  if (reason === "refusal") throw refused(name, reply.text);
  return reply.answer({
    model,
    usage: { input: inputOf(usage), output: usage.output_tokens },
    finish: reason === "max_tokens" ? "length" : "stop",
  });
}

/** What comes from the provider's cache, or goes there, was sent all the same. */
const inputOf = (usage: Anthropic.Usage): number =>
  usage.input_tokens +
  (usage.cache_read_input_tokens ?? 0) +
  (usage.cache_creation_input_tokens ?? 0);

function paramsOf(
  name: string,
  { messages, system, maxTokens, temperature, stop, tools, schema }: GenerateRequest,
): Omit<Create, "model"> {
  const offered = (tools ?? []).map((tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.schema as Anthropic.Tool.InputSchema,
  }));
  // A wanted shape is asked for as the one tool that must be used.
  const shaped =
    schema === undefined
      ? {}
      : {
          tools: [
            {
              name: ANSWER,
              description: "Hand over the answer.",
              input_schema: schema as Anthropic.Tool.InputSchema,
            },
          ],
          tool_choice: { type: "tool" as const, name: ANSWER },
        };
  return {
    max_tokens: maxTokens,
    messages: messagesOf(name, messages),
    ...(system === undefined ? {} : { system }),
    // This interface allows 1 at most.
    ...(temperature === undefined ? {} : { temperature: Math.min(1, temperature) }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop_sequences: [...stop] }),
    ...(offered.length === 0 ? {} : { tools: offered }),
    ...shaped,
  };
}

/** Results of one turn's calls, and the text with them, are one message of the user. */
function messagesOf(name: string, messages: readonly ModelMessage[]): Anthropic.MessageParam[] {
  const turns: { role: "user" | "assistant"; content: Anthropic.ContentBlockParam[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(name, message);
    const last = turns.at(-1);
    // A message without content is refused.
    if (content.length === 0) continue;
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content });
  }
  return turns;
}

function blocksOf(name: string, message: ModelMessage): Anthropic.ContentBlockParam[] {
  if (message.role === "tool")
    return [{ type: "tool_result", tool_use_id: message.callId, content: message.content }];
  const texts = message.content === "" ? [] : [{ type: "text" as const, text: message.content }];
  if (message.role === "user")
    return [...(message.images ?? []).map((image) => imageBlock(name, image)), ...texts];
  const calls = (message.calls ?? []).map(({ id, name: tool, arguments: input }) => ({
    type: "tool_use" as const,
    id,
    name: tool,
    input,
  }));
  return [...texts, ...calls];
}

function imageBlock(name: string, { mime, bytes }: ModelImage): Anthropic.ImageBlockParam {
  const media = IMAGES.find((known) => known === mime);
  if (media === undefined) throw providerFault(name, 400, `images of type ${mime} are not read`);
  const data = Buffer.from(bytes).toString("base64");
  return { type: "image", source: { type: "base64", media_type: media, data } };
}

/** `failed` keeps the error of the egress guard. */
function fetchThrough(
  exchange: ModelExchange,
  streams: boolean,
  failed: { cause?: unknown },
): typeof fetch {
  const keep = (cause: unknown): never => {
    failed.cause = cause;
    throw cause;
  };
  async function* kept(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    try {
      yield* body;
    } catch (cause) {
      keep(cause);
    }
  }
  return async (input, init) => {
    const request = new Request(input, init);
    const { status, headers, body } = await exchange({
      url: request.url,
      method: request.method === "GET" ? "GET" : "POST",
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
      maxBytes: MAX_CHAT_BYTES,
      streams,
    }).catch(keep);
    // The body is decompressed already: these headers no longer describe it.
    const { "content-encoding": _encoding, "content-length": _length, ...rest } = headers;
    const chunks = kept(body);
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    });
    return new Response(stream, { status, headers: rest });
  };
}
