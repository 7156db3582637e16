import type { Call, Json, JsonObject } from "../call.ts";

/** On whose behalf a model is asked, and how long that may take: a call, or a turn of a conversation. */
export type ModelCaller = Pick<Call, "caller" | "trace" | "signal" | "startedAt" | "timeoutMs">;

export interface Usage {
  input: number;
  output: number;
}

/** Models of the capsule or the tenant. Every call settles its own budget with the provider's figures. */
export interface ModelPower {
  generate(request: GenerateRequest): Promise<Generated>;
  embed(
    request: ModelChoice & { readonly input: readonly string[]; readonly dimensions?: number },
  ): Promise<ModelAnswer & { readonly embeddings: number[][]; readonly usage: Usage }>;
  image(
    request: ModelChoice & {
      readonly prompt: string;
      readonly size: string;
      readonly quality: string;
      readonly count: number;
    },
  ): Promise<
    ModelAnswer & { readonly images: readonly ModelImage[]; readonly revisedPrompt?: string }
  >;
  look(
    request: ModelChoice & {
      readonly image: Uint8Array;
      readonly mime: string;
      readonly prompt: string;
    },
  ): Promise<ModelAnswer & { readonly text: string; readonly usage: Usage }>;
  transcribe(
    request: ModelChoice & {
      readonly audio: Uint8Array;
      readonly name: string;
      readonly language?: string;
      readonly timestamps: boolean;
    },
  ): Promise<
    ModelAnswer & {
      readonly text: string;
      readonly language: string | null;
      readonly durationSeconds: number | null;
      readonly segments?: { start: number; end: number; text: string }[];
    }
  >;
  speak(
    request: ModelChoice & {
      readonly text: string;
      readonly voice?: string;
      readonly speed: number;
      readonly format: "mp3" | "wav" | "ogg";
    },
  ): Promise<
    ModelAnswer & { readonly audio: Uint8Array; readonly mime: string; readonly seconds: number }
  >;
}

/** Which model is asked. Without a name: the cheapest that can do it, then by priority. */
export interface ModelChoice {
  readonly model?: string;
  /** Only these may be asked, fallbacks included; absent: all of the tenant's. */
  readonly allowed?: readonly string[];
}

/** Part of every answer. */
export interface ModelAnswer {
  /** The provider's own name of the model that answered. */
  readonly model: string;
  /** US dollars by the configured prices; 0 where none are. */
  readonly cost: number;
  /** What failed before this answer, in order. */
  readonly attempts: readonly ModelAttempt[];
}

export interface ModelAttempt {
  /** Its name here. */
  readonly model: string;
  readonly reason: string;
}

export interface ModelImage {
  readonly mime: string;
  readonly bytes: Uint8Array;
}

export interface GenerateRequest extends ModelChoice {
  readonly messages: readonly ModelMessage[];
  readonly system?: string;
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly stop?: readonly string[];
  /** Tools the model may ask for; what it asks for is not run here. */
  readonly tools?: readonly {
    readonly name: string;
    readonly description: string;
    readonly schema: Json;
  }[];
  /** A JSON Schema the answer must fit; the provider is asked for it where it can. */
  readonly schema?: JsonObject;
  /** Called with each piece of text as it comes; the whole is in the answer all the same. */
  readonly onText?: (text: string) => void;
}

export type ModelMessage =
  | { readonly role: "user"; readonly content: string; readonly images?: readonly ModelImage[] }
  | {
      readonly role: "assistant";
      readonly content: string;
      readonly calls?: readonly ModelToolCall[];
    }
  | { readonly role: "tool"; readonly callId: string; readonly content: string };

export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /**
   * The model wrote arguments that are no JSON object: their text, cut. `arguments` is empty, and the call must not
   * run.
   */
  readonly unreadable?: string;
}

export interface Generated extends ModelAnswer {
  readonly text: string;
  /** At most 128. */
  readonly calls: readonly ModelToolCall[];
  /** So many more were asked for and left out. */
  readonly droppedCalls?: number;
  /** Pictures that came with the text. */
  readonly images?: readonly ModelImage[];
  readonly finishReason: "stop" | "length" | "tool_calls" | "refused";
  readonly usage: Usage;
}
