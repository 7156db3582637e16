// OPA's cases in a form that runs in Node and in a browser alike: texts in, texts out.
import { parseJson } from "@ostiary/rego/documents";
import { parseTermText, constantOf } from "@ostiary/rego/syntax";
import { RegoObject, type Value } from "@ostiary/rego/values";
import { toJsonText, type compile as Compile, type RegoPowers } from "@ostiary/rego";

/** The same everywhere, so that answers can be compared. */
const POWERS: RegoPowers = {
  nowNs: () => 1_700_000_000_000_000_000n,
  randomBytes: (n) => new Uint8Array(n),
};

/** The answer to one case, whose JSON text this is: its solutions or its error. */
export function answerTo(compile: typeof Compile, caseText: string): string {
  const each = parseJson(caseText);
  if (!(each instanceof RegoObject)) throw new TypeError("a case is an object");
  const modules = ((each.get("modules") ?? []) as readonly string[]).map(
    (source, i) => [`test-${i}.rego`, source] as const,
  );
  const compiled = compile(Object.fromEntries(modules));
  if (!compiled.ok) return compiled.errors.map(({ code, line }) => `${line}: ${code}`).join("; ");
  const term = each.get("input_term");
  const input = typeof term === "string" ? constantOf(parseTermText(term)) : each.get("input");
  const evaluation = compiled.policy
    .withData(each.get("data") ?? RegoObject.EMPTY)
    .evaluate(textOf(each.get("query")), {
      ...(input !== undefined && { input }),
      strictBuiltinErrors: each.get("strict_error") === true,
      powers: POWERS,
    });
  if (!evaluation.ok) return evaluation.error.message;
  const solutions = evaluation.solutions.map(({ bindings }) => RegoObject.of([...bindings]));
  return toJsonText(solutions);
}

function textOf(value: Value | undefined): string {
  if (typeof value !== "string") throw new TypeError("a query is text");
  return value;
}
