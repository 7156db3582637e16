// Any server that speaks the OpenAI interface: OpenAI itself, Ollama, vLLM, OpenRouter and others.
import type { Json, JsonObject } from "../../contract/call.ts";
import type {
  Generated,
  GenerateRequest,
  ModelMessage,
  Usage,
} from "../../contract/powers/model.ts";
import { notUnderstood, providerFault, refused } from "./faults.ts";
import type { Exchange, ModelAdapter, ModelSettings } from "./model.ts";
import { multipart } from "./multipart.ts";

const DEFAULT_URL = "https://api.openai.com/v1";
const MIMES = { mp3: "audio/mpeg", wav: "audio/wav", ogg: "audio/ogg" } as const;
/** What this interface calls our formats. */
const FORMATS = { mp3: "mp3", wav: "wav", ogg: "opus" } as const;

export function openAi(settings: ModelSettings, name: string, exchange: Exchange): ModelAdapter {
  const base = (settings.url ?? DEFAULT_URL).replace(/\/+$/, "");
  const model = settings.model ?? name;
  const auth = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };

  const post = async (
    path: string,
    body: string | Uint8Array,
    type: string,
  ): Promise<Uint8Array> => {
    const headers = { ...auth, "content-type": type, accept: "application/json, audio/*" };
    const { status, bytes } = await exchange({
      url: `${base}${path}`,
      method: "POST",
      headers,
      body,
    });
    if (status < 200 || status >= 300) throw providerFault(name, status, textOf(bytes));
    return bytes;
  };
  const ask = async (path: string, body: object): Promise<Answer> =>
    parsed(name, await post(path, JSON.stringify(body), "application/json"));

  const chat = async (body: object): Promise<{ choice: Choice; usage: Usage; model: string }> => {
    const answer = await ask("/chat/completions", { model, ...body });
    const choice = answer.choices?.[0];
    if (!choice?.message) throw notUnderstood(name, "a choice");
    if (choice.message.refusal || choice.finish_reason === "content_filter") throw refused(name);
    return { choice, usage: usageOf(answer), model: answer.model ?? model };
  };

  return {
    async generate(request): Promise<Generated> {
      const { choice, usage, model: used } = await chat(bodyOf(request));
      const calls = (choice.message.tool_calls ?? []).map(({ id, function: asked }) => ({
        id,
        name: asked.name,
        arguments: argumentsOf(name, asked.arguments),
      }));
      return {
        text: choice.message.content ?? "",
        calls,
        model: used,
        usage,
        finishReason: finishOf(choice, calls.length),
      };
    },
    async look({ image, mime, prompt }) {
      const url = `data:${mime};base64,${Buffer.from(image).toString("base64")}`;
      const content = [
        { type: "text", text: prompt },
        { type: "image_url", image_url: { url } },
      ];
      const { choice, usage, model: used } = await chat({ messages: [{ role: "user", content }] });
      return { text: choice.message.content ?? "", model: used, usage };
    },
    async embed({ input, dimensions }) {
      const answer = await ask("/embeddings", {
        model,
        input,
        ...(dimensions === undefined ? {} : { dimensions }),
      });
      const rows = (answer.data ?? []).toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
      const embeddings = rows.map(({ embedding }) => embedding ?? []);
      if (embeddings.length !== input.length)
        throw notUnderstood(name, "an embedding for each text");
      return { model: answer.model ?? model, embeddings, usage: usageOf(answer) };
    },
    async image({ prompt, size, quality, count }) {
      const answer = await ask("/images/generations", {
        model,
        prompt,
        size,
        quality,
        n: count,
        response_format: "b64_json",
      });
      const images = (answer.data ?? []).map(({ b64_json: data }) => {
        if (data === undefined) throw notUnderstood(name, "image data");
        return { bytes: Buffer.from(data, "base64"), mime: "image/png" };
      });
      if (images.length === 0) throw notUnderstood(name, "an image");
      const revisedPrompt = answer.data?.[0]?.revised_prompt;
      return { model, images, ...(revisedPrompt === undefined ? {} : { revisedPrompt }) };
    },
    async transcribe({ audio, name: file, language, timestamps }) {
      const { body, type } = multipart([
        { name: "model", value: model },
        { name: "response_format", value: "verbose_json" },
        ...(language === undefined ? [] : [{ name: "language", value: language }]),
        ...(timestamps ? [{ name: "timestamp_granularities[]", value: "segment" }] : []),
        { name: "file", value: audio, file },
      ]);
      const answer = parsed(name, await post("/audio/transcriptions", body, type));
      if (answer.text === undefined) throw notUnderstood(name, "a text");
      const segments = (answer.segments ?? []).map(({ start, end, text }) => ({
        start,
        end,
        text,
      }));
      return {
        text: answer.text,
        language: answer.language ?? null,
        durationSeconds: answer.duration ?? null,
        ...(timestamps ? { segments } : {}),
      };
    },
    async speak({ text, voice, speed, format }) {
      const body = {
        model,
        input: text,
        voice: voice ?? settings.voice ?? "alloy",
        speed,
        response_format: FORMATS[format],
      };
      return {
        audio: await post("/audio/speech", JSON.stringify(body), "application/json"),
        mime: MIMES[format],
      };
    },
  };
}

interface Answer {
  model?: string;
  choices?: Choice[];
  usage?: { prompt_tokens?: number; completion_tokens?: number; total_tokens?: number };
  data?: { index?: number; embedding?: number[]; b64_json?: string; revised_prompt?: string }[];
  text?: string;
  language?: string;
  duration?: number;
  segments?: { start: number; end: number; text: string }[];
}

interface Choice {
  finish_reason?: string;
  message: {
    content?: string | null;
    refusal?: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  };
}

function bodyOf({
  messages,
  system,
  maxTokens,
  temperature,
  stop,
  tools,
  schema,
}: GenerateRequest): JsonObject {
  return {
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...messages.map(messageOf),
    ],
    max_tokens: maxTokens,
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
  if (message.role === "user" || !message.calls?.length)
    return { role: message.role, content: message.content };
  const calls = message.calls.map(({ id, name, arguments: given }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(given) },
  }));
  return { role: "assistant", content: message.content, tool_calls: calls };
}

function finishOf({ finish_reason: reason }: Choice, calls: number): Generated["finishReason"] {
  if (calls > 0) return "tool_calls";
  return reason === "length" ? "length" : "stop";
}

/**
 * Models write arguments as text, and not always well: what cannot be read is theirs to hear about, as no arguments.
 */
function argumentsOf(name: string, text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text === "" ? "{}" : text) as Json;
  } catch {
    throw notUnderstood(name, "arguments that are JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw notUnderstood(name, "arguments that are an object");
  return value as JsonObject;
}

function usageOf({ usage }: Answer): Usage {
  const input = usage?.prompt_tokens ?? 0;
  return {
    input,
    output: usage?.completion_tokens ?? Math.max(0, (usage?.total_tokens ?? 0) - input),
  };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

function parsed(name: string, bytes: Uint8Array): Answer {
  try {
    const value = JSON.parse(textOf(bytes)) as unknown;
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Told below.
  }
  throw notUnderstood(name, "JSON");
}
