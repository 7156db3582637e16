import type { Json, JsonObject } from "../call.ts";

export interface Usage {
  input: number;
  output: number;
}

/** Models of the capsule or the tenant. Every call settles its own budget with the provider's figures. */
export interface ModelPower {
  generate(request: GenerateRequest): Promise<Generated>;
  embed(request: {
    input: readonly string[];
    model?: string;
    dimensions?: number;
  }): Promise<{ model: string; embeddings: number[][]; usage: Usage }>;
  image(request: { prompt: string; size: string; quality: string; count: number }): Promise<{
    model: string;
    images: { bytes: Uint8Array; mime: string }[];
    revisedPrompt?: string;
  }>;
  look(request: {
    image: Uint8Array;
    mime: string;
    prompt: string;
  }): Promise<{ text: string; model: string; usage: Usage }>;
  transcribe(request: {
    audio: Uint8Array;
    name: string;
    language?: string;
    timestamps: boolean;
  }): Promise<{
    text: string;
    language: string | null;
    durationSeconds: number | null;
    segments?: { start: number; end: number; text: string }[];
  }>;
  speak(request: {
    text: string;
    voice?: string;
    speed: number;
    format: "mp3" | "wav" | "ogg";
  }): Promise<{ audio: Uint8Array; mime: string }>;
}

export interface GenerateRequest {
  readonly messages: readonly ModelMessage[];
  readonly system?: string;
  readonly model?: string;
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
}

export type ModelMessage =
  | { readonly role: "user"; readonly content: string }
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
}

export interface Generated {
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
  readonly model: string;
  readonly finishReason: "stop" | "length" | "tool_calls" | "refused";
  readonly usage: Usage;
}
