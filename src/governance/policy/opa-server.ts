// One OPA server over its REST API: a set of ours is pushed whole, and one request answers a decision.
import { AppError } from "../../contract/errors.ts";
import type { PolicySet, Switches } from "./policy-set.ts";
import type { PolicyInput } from "./policy.ts";
import { keyText } from "@ostiary/rego/values";
import { toJsonText } from "@ostiary/rego";
import { pathText } from "@ostiary/rego/syntax";

/** Of the module we write beside the policies: it gives the whole answer in one document, and says whose it is. */
const ANSWER = "ostiary_enforced";
const FOLDER = "ostiary/enforced/";
const ANSWER_ID = `${FOLDER}${ANSWER}.rego`;
const PUSH_LIMIT_MS = 5_000;

/** The server's answer, not yet checked. `allow` and `reasons` are absent when undefined. */
export interface OpaResult {
  readonly version?: unknown;
  readonly allow?: unknown;
  readonly reasons?: unknown;
  readonly decisionId?: string;
}

export class OpaServer {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** The password of the address, when it has one, is the bearer token of the server. */
  constructor(address: string) {
    const url = new URL(address);
    const token = decodeURIComponent(url.password);
    url.username = url.password = "";
    this.#base = url.href.replace(/\/+$/, "");
    this.#headers = {
      "content-type": "application/json",
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
    };
  }

  async ask(input: PolicyInput, signal: AbortSignal): Promise<OpaResult> {
    const body = JSON.stringify({ input });
    const reply = await this.#send("POST", `/v1/data/${ANSWER}`, { body, signal });
    const { result, decision_id: id } = (await reply.json()) as {
      result?: unknown;
      decision_id?: unknown;
    };
    const answer = typeof result === "object" && result !== null ? (result as OpaResult) : {};
    return { ...answer, ...(typeof id === "string" ? { decisionId: id } : {}) };
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#send("GET", "/health", { signal });
  }

  /** Our answer goes first and comes last: in between nobody is answered by half a set. */
  async push(set: PolicySet, path: string, tools: Switches): Promise<void> {
    const before = await this.#roots();
    await this.#remove(ANSWER_ID);
    await untilDone(await this.#ours(), (id) => this.#remove(id));
    const roots = set.data
      .entries()
      .map(([key, value]) => [keyText(key), toJsonText(value)] as const);
    for (const root of before.filter((each) => !roots.some(([name]) => name === each)))
      await this.#change("DELETE", `/v1/data/${encodeURIComponent(root)}`);
    for (const [root, text] of roots)
      await this.#change("PUT", `/v1/data/${encodeURIComponent(root)}`, text);
    await this.pushTools(tools);
    await untilDone(Object.entries(set.modules), ([file, text]) => this.#put(FOLDER + file, text));
    await this.#put(
      ANSWER_ID,
      answerModule(
        set,
        path,
        roots.map(([name]) => name),
      ),
    );
  }

  async pushTools(tools: Switches): Promise<void> {
    await this.#change("PUT", "/v1/data/tools", JSON.stringify(tools));
  }

  /** Top keys of data that an earlier push wrote. */
  async #roots(): Promise<readonly string[]> {
    const reply = await this.#change("GET", `/v1/data/${ANSWER}/roots`);
    const { result } = (await reply.json()) as { result?: unknown };
    return Array.isArray(result) ? result.filter((root) => typeof root === "string") : [];
  }

  async #ours(): Promise<readonly string[]> {
    const reply = await this.#change("GET", "/v1/policies");
    const { result } = (await reply.json()) as { result?: readonly { id: string }[] };
    return (result ?? []).map(({ id }) => id).filter((id) => id.startsWith(FOLDER));
  }

  #put(id: string, text: string): Promise<Response> {
    return this.#change("PUT", policyPath(id), text, "text/plain");
  }

  async #remove(id: string): Promise<void> {
    await this.#change("DELETE", policyPath(id));
  }

  #change(method: string, path: string, body?: string, type?: string): Promise<Response> {
    const signal = AbortSignal.timeout(PUSH_LIMIT_MS);
    return this.#send(method, path, {
      signal,
      ...(body === undefined ? {} : { body }),
      ...(type === undefined ? {} : { type }),
    });
  }

  async #send(
    method: string,
    path: string,
    { body, signal, type }: { body?: string; signal: AbortSignal; type?: string },
  ): Promise<Response> {
    const headers = type === undefined ? this.#headers : { ...this.#headers, "content-type": type };
    const init = { method, headers, signal, ...(body === undefined ? {} : { body }) };
    const reply = await fetch(this.#base + path, init);
    if (reply.ok || (method === "DELETE" && reply.status === 404)) return reply;
    const text = (await reply.text()).slice(0, 2_000);
    if (reply.status === 400 && method !== "GET") throw refusedByServer(text);
    throw new Error(`OPA answered ${reply.status} to ${method} ${path}: ${text}`);
  }
}

/**
 * The server takes one module at a time and compiles all of them each time, so a module must come after those whose
 * functions it calls, and go before them. What is refused is tried again after the others, as long as any succeeds.
 */
async function untilDone<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let left = items;
  while (left.length > 0) {
    const refused: { item: T; cause: AppError }[] = [];
    for (const item of left) {
      await work(item).catch((cause: unknown) => {
        if (!(cause instanceof AppError)) throw cause;
        refused.push({ item, cause });
      });
    }
    const [first] = refused;
    if (first && refused.length === left.length) throw first.cause;
    left = refused.map(({ item }) => item);
  }
}

const policyPath = (id: string): string =>
  `/v1/policies/${id.split("/").map(encodeURIComponent).join("/")}`;

/** The server understands less, or more strictly, than we do. */
function refusedByServer(text: string): AppError {
  const message = `The OPA server refuses the policy: ${text}`;
  return new AppError("BAD_REQUEST", "invalid_input", message, {
    remedy: "correct the policy; files that call each other's functions must be one file there",
  });
}

function answerModule(set: PolicySet, path: string, roots: readonly string[]): string {
  return [
    `# Written by Ostiary: the answer to one decision, and which version of the policies gave it.`,
    `package ${ANSWER}`,
    `version := ${JSON.stringify(set.mark)}`,
    `roots := ${JSON.stringify(roots)}`,
    `allow := ${pathText(path.split("/"))}`,
    ...(set.reasonsPath ? [`reasons := ${pathText(set.reasonsPath)}`] : []),
    "",
  ].join("\n");
}
