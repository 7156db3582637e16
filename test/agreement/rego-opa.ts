// One pair of policy and input asked of both: this evaluator and a real OPA server.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile, fromJson, valueText } from "@ostiary/rego";
import { parseJson } from "@ostiary/rego/documents";
import { keyText, equal, isArray, RegoObject, RegoSet, type Value } from "@ostiary/rego/values";
import { BASE, type Pair } from "./rego-generate.ts";
import { regoPowers } from "../conformance/rego-powers.ts";

/** A value, undefined, or the classes of the errors. */
export type Answer =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "undefined" }
  | { readonly kind: "error"; readonly codes: readonly string[]; readonly text: string };

export function ours({ module, inputs, strict }: Pair, name: string): readonly Answer[] {
  const compiled = compile({ [name]: module }, { data: { base: BASE } });
  if (!compiled.ok) {
    const text = compiled.errors.map(({ line, message }) => `${line}: ${message}`).join("; ");
    return [{ kind: "error", codes: classes(compiled.errors), text }];
  }
  const query = compiled.policy.prepare(`data.${name}`);
  return inputs.map((input) => {
    const evaluation = query.evaluate({
      input,
      powers: regoPowers({}),
      strictBuiltinErrors: strict,
      deadlineMs: 10_000,
    });
    if (!evaluation.ok)
      return { kind: "error", codes: [evaluation.error.code], text: evaluation.error.message };
    if (evaluation.value === undefined) return { kind: "undefined" };
    return { kind: "value", value: asJson(evaluation.value) };
  });
}

export class OpaServer {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async start(): Promise<void> {
    const { status } = await this.#send("PUT", "/v1/data/base", JSON.stringify(BASE));
    if (status >= 300) throw new Error(`OPA answered ${status}`);
  }

  /** The policy stays until another of the same name replaces it. */
  async answer({ module, inputs, strict }: Pair, name: string): Promise<readonly Answer[]> {
    const put = await this.#send("PUT", `/v1/policies/${name}`, module, "text/plain");
    if (put.status !== 200) return [errorOf(put)];
    const answers: Answer[] = [];
    for (const input of inputs) {
      const text = `{"input":${inputText(input)}}`;
      const path = `/v1/data/${name}${strict ? "?strict-builtin-errors=true" : ""}`;
      answers.push(answerOf(await this.#send("POST", path, text)));
    }
    return answers;
  }

  async remove(name: string): Promise<void> {
    await this.#send("DELETE", `/v1/policies/${name}`, null);
  }

  async #send(method: string, path: string, body: string | null, type = "application/json") {
    const response = await fetch(this.#url + path, {
      method,
      body,
      headers: { "content-type": type },
    });
    return { status: response.status, text: await response.text() };
  }
}

/**
 * One answer by a process of its own. The server keeps state between policies (types that it has narrowed stay so), and
 * its rule index leaves out rules whose built-ins would have failed: both are seen only by asking without them.
 */
export function freshAnswer(bin: string, { module, inputs, strict }: Pair, name: string): Answer {
  const folder = mkdtempSync(join(tmpdir(), "rego-opa-"));
  try {
    writeFileSync(join(folder, `${name}.rego`), module);
    writeFileSync(join(folder, "data.json"), JSON.stringify({ base: BASE }));
    writeFileSync(join(folder, "input.json"), inputText(inputs[0]));
    const args = [
      "eval",
      "--format",
      "json",
      "--disable-indexing",
      "-d",
      `${name}.rego`,
      "-d",
      "data.json",
      "-i",
      "input.json",
    ];
    const { stdout, stderr } = spawnSync(
      bin,
      [...args, ...(strict ? ["--strict-builtin-errors"] : []), `data.${name}`],
      { cwd: folder, encoding: "utf8" },
    );
    if (stdout === "") return { kind: "error", codes: ["opa_crashed"], text: stderr };
    const body = parseJson(stdout);
    if (!(body instanceof RegoObject)) throw new TypeError(`OPA said ${stdout}`);
    if (body.has("errors")) return errorOf({ status: 500, text: stdout });
    const [first] = (body.get("result") ?? []) as readonly RegoObject[];
    const [expression] = (first?.get("expressions") ?? []) as readonly RegoObject[];
    const value = expression?.get("value");
    return value === undefined ? { kind: "undefined" } : { kind: "value", value: asJson(value) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

function answerOf(reply: Reply): Answer {
  if (reply.status !== 200) return errorOf(reply);
  const body = parseJson(reply.text);
  const value = body instanceof RegoObject ? body.get("result") : undefined;
  return value === undefined ? { kind: "undefined" } : { kind: "value", value: asJson(value) };
}

interface OpaError {
  readonly code?: string;
  readonly message?: string;
  readonly errors?: readonly { code: string; message: string; location?: { row?: number } }[];
}

function errorOf({ status, text }: Reply): Answer {
  const { code, message, errors } = JSON.parse(text) as OpaError;
  if (!errors?.length)
    return { kind: "error", codes: [code ?? String(status)], text: message ?? text };
  const said = errors.map((each) => `${each.location?.row ?? ""}: ${each.message}`).join("; ");
  return { kind: "error", codes: classes(errors), text: said };
}

const classes = (errors: readonly { code: string }[]): string[] =>
  [...new Set(errors.map(({ code }) => code))].sort();

/** The same, and for errors: one class that both name. */
export function agree(a: Answer, b: Answer): boolean {
  if (a.kind === "value" && b.kind === "value") return equal(a.value, b.value);
  if (a.kind === "error" && b.kind === "error")
    return a.codes.some((code) => b.codes.includes(code));
  return a.kind === b.kind;
}

export function answerText(answer: Answer | undefined): string {
  if (!answer) return "(none)";
  if (answer.kind === "value") return valueText(answer.value);
  return answer.kind === "error" ? `${answer.codes.join("+")} (${answer.text})` : "undefined";
}

/** As JSON has it: sets are arrays, keys are text, and bytes that are no UTF-8 become U+FFFD. */
function asJson(value: Value): Value {
  if (typeof value === "string") return value.toWellFormed();
  if (value instanceof RegoSet) return value.items().map(asJson);
  if (isArray(value)) return value.map(asJson);
  if (!(value instanceof RegoObject)) return value;
  return RegoObject.of(
    value.entries().map(([key, item]) => [keyText(key).toWellFormed(), asJson(item)] as const),
  );
}

/** Numbers beyond 2^53 are bigints here. */
export function inputText(input: unknown): string {
  return JSON.stringify(asPlain(fromJson(input)));
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function asPlain(value: Value): unknown {
  if (typeof value === "object" && value !== null) {
    if (value instanceof RegoObject)
      return Object.fromEntries(
        value.entries().map(([key, item]) => [keyText(key), asPlain(item)]),
      );
    if (isArray(value)) return value.map(asPlain);
    if (!(value instanceof RegoSet)) return rawJSON(value.text);
  }
  return value;
}
