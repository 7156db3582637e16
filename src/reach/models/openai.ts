// Any server that speaks the OpenAI interface: OpenAI itself, Ollama, vLLM, OpenRouter and others.
import { AppError } from "../../contract/errors.ts";
import type { GenerateRequest } from "../../contract/powers/model.ts";
import {
  bytesOf,
  errorText,
  MAX_ANSWER_BYTES,
  MAX_CHAT_BYTES,
  type ModelExchange,
  type ExchangeResponse,
} from "./exchange.ts";
import { notUnderstood, providerFault } from "./faults.ts";
import type { AdapterAnswer, ModelAdapter, ModelMemory, ModelSettings } from "./model.ts";
import { multipart } from "./multipart.ts";
import {
  bodyOf,
  completed,
  parsed,
  streamed,
  usageOf,
  type Completion,
  type TokenCounts,
} from "./openai-chat.ts";
import { secondsOf } from "./sound.ts";

const DEFAULT_URL = "https://api.openai.com/v1";
const MIMES = { mp3: "audio/mpeg", wav: "audio/wav", ogg: "audio/ogg" } as const;
/** What this interface calls our formats. */
const FORMATS = { mp3: "mp3", wav: "wav", ogg: "opus" } as const;
const JSON_TYPE = "application/json";
/** A description of a picture is not longer. */
const LOOK_TOKENS = 4_096;

interface Sent {
  readonly body: string | Uint8Array;
  readonly type: string;
  readonly maxBytes?: number;
  readonly streams?: boolean;
}

/** One server and model, with what all requests to it need. */
interface Provider {
  readonly name: string;
  readonly model: string;
  readonly settings: ModelSettings;
  readonly memory: ModelMemory;
  post(path: string, sent: Sent): Promise<ExchangeResponse>;
  answerOf<T extends object>(response: ExchangeResponse): Promise<T>;
  ask(path: string, body: object): Promise<Answer>;
}

export function openAi(
  settings: ModelSettings,
  name: string,
  exchange: ModelExchange,
  memory: ModelMemory,
): ModelAdapter {
  const base = (settings.url ?? DEFAULT_URL).replace(/\/+$/, "");
  const model = settings.model ?? name;
  const auth = settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` };

  const post: Provider["post"] = async (path, { body, type, streams, maxBytes }) => {
    const response = await exchange({
      url: `${base}${path}`,
      method: "POST",
      headers: { ...auth, "content-type": type, accept: acceptOf(streams) },
      body,
      maxBytes: maxBytes ?? MAX_ANSWER_BYTES,
      ...(streams && { streams }),
    });
    if (response.status >= 200 && response.status < 300) return response;
    const retryAfter = response.headers["retry-after"];
    throw providerFault(name, response.status, await errorText(response), { retryAfter });
  };
  const answerOf: Provider["answerOf"] = async <T extends object>(response: ExchangeResponse) => {
    const answer = parsed<T>((await bytesOf(response)).toString("utf8"));
    if (answer === null) throw notUnderstood(name, "JSON");
    return answer;
  };
  const ask: Provider["ask"] = async (path, body) =>
    answerOf(await post(path, { body: JSON.stringify(body), type: JSON_TYPE }));

  const provider = { name, model, settings, memory, post, answerOf, ask };
  return { ...text(provider), ...images(provider), ...sound(provider) };
}

async function chat(
  { name, model, memory, post, answerOf }: Provider,
  request: GenerateRequest,
): Promise<AdapterAnswer<"generate">> {
  const send = () =>
    post("/chat/completions", {
      body: JSON.stringify({
        model,
        ...bodyOf(request, memory.completionTokens ? "max_completion_tokens" : "max_tokens"),
      }),
      type: JSON_TYPE,
      maxBytes: MAX_CHAT_BYTES,
      streams: request.onText !== undefined,
    });
  const response = await send().catch((cause: unknown) => {
    if (memory.completionTokens || !wantsOtherWord(cause)) throw cause;
    memory.completionTokens = true;
    return send();
  });
  const asked = { name, model, request };
  if (request.onText && isStream(response)) return streamed(asked, response.body);
  return completed(asked, await answerOf<Completion>(response));
}

function text(provider: Provider) {
  const { name, model, ask } = provider;
  return {
    generate: (request) => chat(provider, request),
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
      return { model: answer.model ?? model, embeddings, usage: usageOf(answer.usage) };
    },
  } satisfies ModelAdapter;
}

function images(provider: Provider) {
  const { name, model, settings, ask } = provider;
  return {
    async look({ image, mime, prompt }) {
      const images = [{ mime, bytes: image }];
      const { text, usage, ...rest } = await chat(provider, {
        messages: [{ role: "user", content: prompt, images }],
        maxTokens: Math.min(LOOK_TOKENS, settings.limits?.outputTokens ?? LOOK_TOKENS),
      });
      return { text, usage, model: rest.model };
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
  } satisfies ModelAdapter;
}

function sound({ name, model, settings, post, answerOf }: Provider) {
  return {
    async transcribe({ audio, name: file, language, timestamps }) {
      const { body, type } = multipart([
        { name: "model", value: model },
        { name: "response_format", value: "verbose_json" },
        ...(language === undefined ? [] : [{ name: "language", value: language }]),
        ...(timestamps ? [{ name: "timestamp_granularities[]", value: "segment" }] : []),
        { name: "file", value: audio, file },
      ]);
      const answer = await answerOf<Answer>(await post("/audio/transcriptions", { body, type }));
      if (answer.text === undefined) throw notUnderstood(name, "a text");
      const segments = (answer.segments ?? []).map(({ start, end, text }) => ({
        start,
        end,
        text,
      }));
      return {
        model,
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
      const audio = await bytesOf(
        await post("/audio/speech", { body: JSON.stringify(body), type: JSON_TYPE }),
      );
      return { model, audio, mime: MIMES[format], seconds: secondsOf(audio, text, speed) };
    },
  } satisfies ModelAdapter;
}

interface Answer {
  model?: string;
  usage?: TokenCounts;
  data?: { index?: number; embedding?: number[]; b64_json?: string; revised_prompt?: string }[];
  text?: string;
  language?: string;
  duration?: number;
  segments?: { start: number; end: number; text: string }[];
}

const acceptOf = (streams: boolean | undefined): string =>
  streams ? "text/event-stream, application/json" : "application/json, audio/*";

const isStream = ({ headers }: ExchangeResponse): boolean =>
  (headers["content-type"] ?? "").toLowerCase().startsWith("text/event-stream");

/** Newer models of OpenAI refuse `max_tokens`, and their error names the field to use. */
const wantsOtherWord = (cause: unknown): boolean =>
  cause instanceof AppError && cause.message.includes("max_completion_tokens");
