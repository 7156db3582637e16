// What an upstream server may ask the caller's client: only what the client declared, and with the server's name in it.
import { randomUUID } from "node:crypto";
import type { InputAnswers, InputQuestions, Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { isObject } from "./json-rpc.ts";

const KINDS: Readonly<Record<string, string>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The client's capabilities that upstream servers may know. */
export function askableCapabilities(declared: JsonObject | undefined): JsonObject {
  const known = Object.entries(declared ?? {}).filter(([kind]) =>
    Object.values(KINDS).includes(kind),
  );
  return Object.fromEntries(known);
}

export const cannotAsk = (why: string): AppError =>
  new AppError("UNAVAILABLE", "client_cannot_be_asked", why, {
    remedy: "use a client that can answer, or a call that asks nothing",
  });

/** The questions as they are sent to the client; throws when the client did not declare a kind of them. */
export function questionsForClient(
  questions: InputQuestions,
  server: string,
  capabilities: JsonObject,
): InputQuestions {
  const entries = Object.entries(questions).map(([key, { method, params }]) => {
    if (!isDeclared(method, params, capabilities))
      throw cannotAsk(
        `the server ${server} asks ${JSON.stringify(method)} of a client that did not declare it`,
      );
    return [key, { method, params: withServerName(method, params, server) }] as const;
  });
  return Object.fromEntries(entries);
}

function isDeclared(method: string, params: JsonObject, capabilities: JsonObject): boolean {
  const declared = capabilities[KINDS[method] ?? ""];
  if (!isObject(declared)) return false;
  if (method !== "elicitation/create") return true;
  // A client that names no mode can show a form.
  return params["mode"] === "url" ? "url" in declared : "form" in declared || !("url" in declared);
}

/** The person who answers must know which server asks. */
function withServerName(method: string, params: JsonObject, server: string): JsonObject {
  const { message, _meta, ...rest } = params;
  const meta = { ...(isObject(_meta) ? _meta : {}), "ostiary/server": server };
  const named = typeof message === "string" ? { message: `${server} asks: ${message}` } : {};
  const url = method === "elicitation/create" && params["mode"] === "url";
  return {
    ...rest,
    ...named,
    ...(url && params["elicitationId"] === undefined ? { elicitationId: randomUUID() } : {}),
    _meta: meta,
  };
}

/** The answers to these questions and nothing else; null: one is missing. */
export function answersTo(questions: InputQuestions, given: unknown): InputAnswers | null {
  const answers = given as Readonly<Record<string, Json>> | undefined;
  const found: Record<string, JsonObject> = {};
  for (const key of Object.keys(questions)) {
    const answer = answers && Object.hasOwn(answers, key) ? answers[key] : undefined;
    if (!isObject(answer)) return null;
    found[key] = answer;
  }
  return found;
}
