// Our evaluator beside a real OPA server on generated policies:
//   scripts/services run opa -- node test/agreement/rego.ts 20000 [first seed]
// OPA's rule index is an optimisation with faults of its own (`x in {x, "a"}` may be undefined with it),
// so a disagreement counts only when OPA gives the same answer with the index switched off.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { compile, toJsonText } from "@ostiary/rego";
import { BASE, generatePair } from "./rego-generator.ts";

const url = process.env["OSTIARY_TEST_OPA"];
const binary = process.env["OSTIARY_TEST_OPA_BIN"];
const wanted = Number(process.argv[2] ?? "20000");
const firstSeed = Number(process.argv[3] ?? "1");
const shown = Number(process.argv[4] ?? "20");
if (url === undefined) {
  console.error("skipped: OSTIARY_TEST_OPA is not set");
  process.exit(1);
}

type Answer =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly code: string; readonly message: string };

interface OpaErrors {
  readonly code: string;
  readonly message?: string;
  readonly errors?: readonly { readonly code: string; readonly message: string }[];
}

async function opaAnswers(source: string, inputs: readonly unknown[]): Promise<readonly Answer[]> {
  const put = await fetch(`${String(url)}/v1/policies/t`, { method: "PUT", body: source });
  const reply: unknown = await put.json();
  if (!put.ok) return inputs.map(() => opaError(reply as OpaErrors));
  return Promise.all(
    inputs.map(async (input): Promise<Answer> => {
      const post = await fetch(`${String(url)}/v1/data/t`, {
        method: "POST",
        body: JSON.stringify({ input }),
      });
      const body: unknown = await post.json();
      if (!post.ok) return opaError(body as OpaErrors);
      return { kind: "value", value: (body as { result?: unknown }).result };
    }),
  );
}

function opaError(reply: OpaErrors): Answer {
  const [first] = reply.errors ?? [];
  return {
    kind: "error",
    code: first?.code ?? reply.code,
    message: first?.message ?? reply.message ?? "",
  };
}

/** The answer of OPA without its rule index. */
function plainOpaAnswer(source: string, input: unknown): Answer | undefined {
  if (binary === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "rego-agreement-"));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const args = ["eval", "--disable-indexing", "--format", "json", "--data", file("t.rego", source)];
  args.push("--data", file("data.json", JSON.stringify({ base: BASE })));
  args.push("--input", file("input.json", JSON.stringify(input)), "data.t");
  try {
    const reply = JSON.parse(
      execFileSync(binary, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    ) as {
      result?: readonly { expressions: readonly { value: unknown }[] }[];
    };
    return { kind: "value", value: reply.result?.[0]?.expressions[0]?.value };
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    return stdout === undefined ? undefined : opaError(JSON.parse(stdout) as OpaErrors);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ourAnswers(source: string, inputs: readonly unknown[]): readonly Answer[] {
  const compiled = compile({ "t.rego": source }, { data: { base: BASE } });
  if (!compiled.ok) {
    const [first] = compiled.errors;
    return inputs.map(() => ({
      kind: "error",
      code: first?.code ?? "",
      message: first?.message ?? "",
    }));
  }
  const query = compiled.policy.prepare("data.t");
  return inputs.map((input): Answer => {
    const evaluation = query.evaluate({ input, powers: { nowNs: () => 0n }, deadlineMs: 5_000 });
    if (!evaluation.ok)
      return { kind: "error", code: evaluation.error.code, message: evaluation.error.message };
    const { value } = evaluation;
    return {
      kind: "value",
      value: value === undefined ? undefined : (JSON.parse(toJsonText(value)) as unknown),
    };
  });
}

function agree(a: Answer, b: Answer): boolean {
  if (a.kind === "error" || b.kind === "error")
    return a.kind === b.kind && "code" in a && "code" in b && a.code === b.code;
  return isDeepStrictEqual(a.value, b.value);
}

await fetch(`${url}/v1/data/base`, { method: "PUT", body: JSON.stringify(BASE) });

let compared = 0;
let disagreed = 0;
let indexFaults = 0;
const kinds = new Map<string, number>();
for (let seed = firstSeed; compared < wanted; seed++) {
  const { source, inputs } = generatePair(seed);
  const theirs = await opaAnswers(source, inputs);
  const ours = ourAnswers(source, inputs);
  let told = false;
  inputs.forEach((input, i) => {
    const a = theirs[i] as Answer;
    const b = ours[i] as Answer;
    compared++;
    const kind = a.kind === "error" ? a.code : "value";
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (agree(a, b)) return;
    const plain = plainOpaAnswer(source, input);
    if (plain && agree(plain, b)) {
      indexFaults++;
      return;
    }
    if (disagreed++ < shown * inputs.length && !told) {
      told = true;
      console.log(
        `DISAGREED seed ${String(seed)}\n${source}\ninput ${JSON.stringify(input)}\nopa  ${JSON.stringify(a)}\nours ${JSON.stringify(b)}\n`,
      );
    }
  });
}
for (const [kind, count] of kinds) console.log(`${kind}: ${String(count)}`);
console.log(`${String(indexFaults)} agree only with OPA's rule index off`);
console.log(`${String(compared)} compared, ${String(disagreed)} disagreed`);
process.exitCode = disagreed > 0 ? 1 : 0;
