// What a server sends besides its answer: progress, log messages, questions to the caller. As in the answer itself,
// secrets are masked and texts are bounded.
import type {
  Call,
  InputAnswers,
  InputQuestions,
  Json,
  JsonObject,
  Progress,
} from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { RequestOptions } from "../upstream.ts";

type Clean = (value: Json) => Json;
type Options = Pick<
  RequestOptions,
  "onProgress" | "ask" | "clientCapabilities" | "logLevel" | "onMessage" | "onTask"
>;

const NO_OPTIONS: Options = {};
const MAX_TEXT = 4_000;
const MAX_QUESTIONS_BYTES = 65_536;

/** The options of a request that bring them to the caller. What the caller does not want is not requested. */
export function sideMessageOptions(call: Call, server: string, clean: Clean): Options {
  const { client, onProgress, signal } = call;
  const onTask = onTaskOf(call);
  if (!client && !onProgress) return onTask ? TASKS_ONLY : NO_OPTIONS;
  return {
    ...(onTask ? { onTask } : {}),
    ...(onProgress
      ? { onProgress: (progress: Progress): void => onProgress(cleanProgress(progress, clean)) }
      : {}),
    ...(client
      ? {
          clientCapabilities: client.capabilities,
          ask: async (questions: InputQuestions): Promise<InputAnswers> =>
            client.ask(cleanQuestions(questions, clean), { server, signal }),
        }
      : {}),
    ...(client?.logLevel === undefined
      ? {}
      : {
          logLevel: client.logLevel,
          // Only those that came with the very call; nobody else's.
          onMessage: (params: JsonObject): void =>
            client.notify("notifications/message", clean(bounded(params)) as JsonObject),
        }),
  };
}

/**
 * A client of MCP gets a task where it declared tasks. Where none waits, as over REST or after an approval, the server
 * may always answer with one: only we follow it.
 */
function onTaskOf({ client, entry, grant }: Call): (() => void) | undefined {
  if (client) return client.onTask;
  return grant !== null || (entry !== "mcp" && entry !== "stdio") ? NOBODY_WAITS : undefined;
}

const NOBODY_WAITS = (): void => undefined;
const TASKS_ONLY: Options = { onTask: NOBODY_WAITS };

function cleanProgress({ message, ...numbers }: Progress, clean: Clean): Progress {
  return message === undefined
    ? numbers
    : { ...numbers, message: clean(message.slice(0, MAX_TEXT)) as string };
}

function cleanQuestions(questions: InputQuestions, clean: Clean): InputQuestions {
  const size = Buffer.byteLength(JSON.stringify(questions));
  if (size > MAX_QUESTIONS_BYTES)
    throw new AppError(
      "UNAVAILABLE",
      "client_cannot_be_asked",
      `a server's question is ${size} bytes long, at most ${MAX_QUESTIONS_BYTES} are handed on`,
    );
  return clean(questions) as unknown as InputQuestions; // masking keeps the shape
}

/** Anything longer is cut, not parsed any further. */
function bounded(params: JsonObject): JsonObject {
  const { data } = params;
  const text = typeof data === "string" ? data : JSON.stringify(data ?? null);
  return text.length <= MAX_TEXT ? params : { ...params, data: `${text.slice(0, MAX_TEXT)}…` };
}
