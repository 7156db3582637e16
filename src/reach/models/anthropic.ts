// Anthropic's models through their SDK, whose requests take our way out.
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import type { JsonObject } from "../../contract/call.ts";
import type { Generated, GenerateRequest, ModelMessage } from "../../contract/powers/model.ts";
import { providerFault, refused } from "./faults.ts";
import type { Exchange, ModelAdapter, ModelSettings } from "./model.ts";

type Create = Anthropic.MessageCreateParamsNonStreaming;
const DEFAULT_URL = "https://api.anthropic.com";
const LOOK_TOKENS = 1_024;
/** The tool by which a model hands over an answer of a wanted shape. */
const ANSWER = "answer";
const IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;

export function anthropic(settings: ModelSettings, name: string, exchange: Exchange): ModelAdapter {
  const client = new Anthropic({
    apiKey: settings.apiKey ?? "",
    // Nothing from the environment.
    authToken: null,
    baseURL: settings.url ?? DEFAULT_URL,
    // Retries and time limits are the engine's.
    maxRetries: 0,
    fetch: fetchThrough(exchange),
  });
  const model = settings.model ?? name;

  const create = async (request: Omit<Create, "model">): Promise<Anthropic.Message> => {
    try {
      const message = await client.messages.create({ model, ...request });
      if (message.stop_reason === "refusal") throw refused(name);
      return message;
    } catch (cause) {
      if (cause instanceof APIError && typeof cause.status === "number")
        throw providerFault(name, cause.status, JSON.stringify(cause.error ?? ""));
      // The SDK wraps what our own way out said.
      throw cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
    }
  };

  return {
    async generate(request): Promise<Generated> {
      const message = await create(paramsOf(request));
      const calls = message.content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ id: block.id, name: block.name, arguments: block.input as JsonObject }]
          : [],
      );
      const shaped = request.schema && calls.find((call) => call.name === ANSWER);
      const text = shaped ? JSON.stringify(shaped.arguments) : textOf(message);
      const asked = shaped ? [] : calls;
      return {
        text,
        calls: asked,
        model: message.model,
        usage: usageOf(message),
        finishReason:
          asked.length > 0
            ? "tool_calls"
            : message.stop_reason === "max_tokens"
              ? "length"
              : "stop",
      };
    },
    async look({ image, mime, prompt }) {
      const media = IMAGES.find((known) => known === mime);
      if (media === undefined)
        throw providerFault(name, 400, `images of type ${mime} are not read`);
      const source = {
        type: "base64" as const,
        media_type: media,
        data: Buffer.from(image).toString("base64"),
      };
      const message = await create({
        max_tokens: LOOK_TOKENS,
        messages: [
          {
            role: "user",
            content: [
              { type: "image", source },
              { type: "text", text: prompt },
            ],
          },
        ],
      });
      return { text: textOf(message), model: message.model, usage: usageOf(message) };
    },
  };
}

function paramsOf({
  messages,
  system,
  maxTokens,
  temperature,
  stop,
  tools,
  schema,
}: GenerateRequest): Omit<Create, "model"> {
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
    messages: messages.map(messageOf),
    ...(system === undefined ? {} : { system }),
    // Beyond 1 there is nothing here.
    ...(temperature === undefined ? {} : { temperature: Math.min(1, temperature) }),
    ...(stop === undefined || stop.length === 0 ? {} : { stop_sequences: [...stop] }),
    ...(offered.length === 0 ? {} : { tools: offered }),
    ...shaped,
  };
}

function messageOf(message: ModelMessage): Anthropic.MessageParam {
  if (message.role === "tool")
    return {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: message.callId, content: message.content }],
    };
  if (message.role === "user") return { role: "user", content: message.content };
  const said = message.content === "" ? [] : [{ type: "text" as const, text: message.content }];
  const calls = (message.calls ?? []).map(({ id, name, arguments: input }) => ({
    type: "tool_use" as const,
    id,
    name,
    input,
  }));
  return { role: "assistant", content: [...said, ...calls] };
}

const textOf = ({ content }: Anthropic.Message): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");

const usageOf = ({ usage }: Anthropic.Message) => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
});

function fetchThrough(exchange: Exchange): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { status, headers, bytes } = await exchange({
      url: request.url,
      method: request.method === "GET" ? "GET" : "POST",
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
    });
    // Already decompressed and of known length: those words about it no longer hold.
    const { "content-encoding": _encoding, "content-length": _length, ...rest } = headers;
    return new Response(Buffer.from(bytes), { status, headers: rest });
  };
}
