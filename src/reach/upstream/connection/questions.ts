// What a server may ask the caller's client, and how an answer that is a question becomes the next round.
import type { InputQuestions, Json, JsonObject } from "../../../contract/call.ts";
import { invalidResponse, isObject } from "./faults.ts";
import type { RequestOptions } from "../upstream.ts";

/** As the protocol writes them, and the capability a client declares for each. */
const KINDS: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};
/** A server that always has another question is not waited for. */
export const MAX_ROUNDS = 10;
const MAX_QUESTIONS = 16;

export const isQuestion = (method: string): boolean => Object.hasOwn(KINDS, method);

/** What we say of ourselves on a connection that exists to carry questions. */
export const ASKABLE: JsonObject = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Whether the caller's client declared that it can be asked this. */
export function mayAsk(
  capabilities: JsonObject | undefined,
  method: string,
  params: JsonObject,
): boolean {
  const declared = capabilities?.[KINDS[method] ?? ""];
  if (!isObject(declared)) return false;
  if (method !== "elicitation/create") return true;
  // A client that names no mode can show a form.
  return params["mode"] === "url" ? "url" in declared : "form" in declared || !("url" in declared);
}

/** The answer, no question. */
export const isComplete = ({ resultType }: JsonObject): boolean => resultType === "complete";

/**
 * Of the modern era: null when the result is the answer, else the parameters of the next round. `pause` and `resume`
 * bypass the time in which a person is asked.
 */
export async function nextRound(
  result: JsonObject,
  params: JsonObject,
  options: RequestOptions,
): Promise<JsonObject | null> {
  if (isComplete(result)) return null;
  const { resultType } = result;
  if (resultType !== "input_required")
    throw invalidResponse(
      resultType === undefined
        ? "it has no resultType"
        : `its resultType ${JSON.stringify(resultType).slice(0, 60)} is unknown`,
    );
  const { inputRequests, requestState } = result;
  const questions = questionsOf(inputRequests, options);
  if (Object.keys(questions).length === 0 && typeof requestState !== "string")
    throw invalidResponse("it asks for input and names none");
  const answers = Object.keys(questions).length === 0 ? {} : await options.ask?.(questions);
  const { requestState: _, inputResponses: __, ...rest } = params;
  return {
    ...rest,
    ...(Object.keys(questions).length === 0 ? {} : { inputResponses: answers as JsonObject }),
    ...(typeof requestState === "string" ? { requestState } : {}),
  };
}

/** Throws where nobody can be asked what the server wants to know. */
export function questionsOf(given: Json | undefined, options: RequestOptions): InputQuestions {
  if (given === undefined) return {};
  if (!isObject(given)) throw invalidResponse("its inputRequests are no object");
  const entries = Object.entries(given);
  if (entries.length === 0) return {};
  if (entries.length > MAX_QUESTIONS)
    throw invalidResponse(
      `it asks ${entries.length} questions at once, more than ${MAX_QUESTIONS}`,
    );
  if (!options.ask) throw invalidResponse("it asks for input, and nobody can be asked");
  return Object.fromEntries(
    entries.map(([key, question]) => {
      const { method, params = {} } = isObject(question) ? question : {};
      if (typeof method !== "string" || !isQuestion(method) || !isObject(params))
        throw invalidResponse(
          `its question ${JSON.stringify(key).slice(0, 60)} is of no known kind`,
        );
      if (!mayAsk(options.clientCapabilities, method, params))
        throw invalidResponse(`it asks ${method}, which the caller's client did not declare`);
      return [key, { method, params }];
    }),
  );
}
