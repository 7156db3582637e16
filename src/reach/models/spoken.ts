// An answer as it grows, whatever the provider's format: text, calls, pictures, and never more than requested.
import type { Json, JsonObject } from "../../contract/call.ts";
import type {
  GenerateRequest,
  ModelImage,
  ModelToolCall,
  Usage,
} from "../../contract/powers/model.ts";
import { endless } from "./faults.ts";
import type { AdapterAnswer } from "./model.ts";

const MAX_CALLS = 128;
const MAX_IMAGES = 16;
const MAX_NAME = 256;
const MAX_UNREADABLE = 500;
/** Characters that a token has at the very most, on average, and some for short answers. */
const CHARS_PER_TOKEN = 16;
const SPARE_CHARS = 16_384;
/** The same as it usually is, for providers that count nothing. */
const USUAL_CHARS_PER_TOKEN = 4;

interface Asked {
  id: string;
  name: string;
  json: string;
}

type Finish = AdapterAnswer<"generate">["finishReason"];

export interface Spoken {
  readonly text: string;
  say(piece: string): void;
  /** A call, or more of one; `key` identifies it in the provider's format. */
  call(key: string, more: { id?: string; name?: string; json?: string }): void;
  image(image: ModelImage): void;
  answer(end: { model: string; usage: Usage | null; finish: Finish }): AdapterAnswer<"generate">;
}

/** Throws as soon as it is longer than `maxTokens` can be. */
export function spoken(name: string, request: GenerateRequest): Spoken {
  const limit = request.maxTokens * CHARS_PER_TOKEN + SPARE_CHARS;
  const pieces: string[] = [];
  const calls = new Map<string, Asked>();
  const dropped = new Set<string>();
  const images: ModelImage[] = [];
  let size = 0;
  const grow = (by: number): void => {
    size += by;
    if (size > limit) throw endless(name, `${request.maxTokens} tokens can be`, pieces.join(""));
  };
  return {
    get text() {
      return pieces.join("");
    },
    say(piece) {
      if (piece === "") return;
      grow(piece.length);
      pieces.push(piece);
      request.onText?.(piece);
    },
    call(key, { id = "", name: called = "", json = "" }) {
      grow(json.length + called.length);
      // Some servers give all calls the same index, and only their ids differ.
      const other = id !== "" && (calls.get(key)?.id ?? id) !== id;
      const place = other ? `${key} ${id}` : key;
      const known = calls.get(place);
      if (!known && calls.size >= MAX_CALLS) return void dropped.add(place);
      const call = known ?? { id: "", name: "", json: "" };
      call.id ||= id;
      call.name ||= called.slice(0, MAX_NAME);
      call.json += json;
      calls.set(place, call);
    },
    image(image) {
      if (images.length < MAX_IMAGES) images.push(image);
    },
    answer({ model, usage, finish }) {
      const text = pieces.join("");
      return {
        text,
        calls: readCalls([...calls.values()]),
        ...(dropped.size === 0 ? {} : { droppedCalls: dropped.size }),
        ...(images.length === 0 ? {} : { images }),
        model,
        finishReason: calls.size > 0 ? "tool_calls" : finish,
        usage: usage ?? estimated(request, size),
      };
    },
  };
}

/** Results are matched by id, so each call has its own. */
function readCalls(calls: readonly Asked[]): ModelToolCall[] {
  const used = new Set<string>();
  return calls.map(({ id, name, json }, at) => {
    let own = id === "" ? `call_${at + 1}` : id;
    while (used.has(own)) own += "_";
    used.add(own);
    return { id: own, name, ...argumentsOf(json) };
  });
}

/**
 * Models write arguments as text, sometimes as invalid JSON: then the model gets the fault as the result of the call.
 */
function argumentsOf(json: string): Pick<ModelToolCall, "arguments" | "unreadable"> {
  try {
    const value = JSON.parse(json.trim() === "" ? "{}" : json) as Json;
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { arguments: value as JsonObject };
  } catch {
    // Handled below.
  }
  return { arguments: {}, unreadable: json.slice(0, MAX_UNREADABLE) };
}

/** Where the provider counts no tokens, they are estimated, so that no answer is free. */
function estimated(request: GenerateRequest, size: number): Usage {
  const { system = "", messages } = request;
  const asked = messages.reduce((sum, { content }) => sum + content.length, system.length);
  return {
    input: Math.ceil(asked / USUAL_CHARS_PER_TOKEN),
    output: Math.ceil(size / USUAL_CHARS_PER_TOKEN),
  };
}
