// Mutated modules: whatever the text, loading it ends in a policy or in errors with positions.
import { compile } from "@ostiary/rego";
import { generate } from "../agreement/rego-generate.ts";
import { Random } from "../fixtures/random.ts";

const SNIPPETS = [
  "{",
  "}",
  "[",
  "]",
  "(",
  ")",
  "|",
  ":=",
  "=",
  "==",
  "if",
  "else",
  "not",
  "some",
  "every",
  "in",
  "with",
  "as",
  "default",
  "contains",
  "import",
  "package",
  "data",
  "input",
  "_",
  ".",
  ",",
  ";",
  ":",
  "\n",
  '$"{',
  '"',
  "`",
  "#",
  "1e999999",
  "-",
  "0x1",
  "\u0000",
  "\ud800",
  "é",
  "null",
  "set()",
  "p[x]",
  "import future.keywords.and",
  "and",
  "or",
  "# METADATA\n# title: [",
  "rego.metadata.chain()",
  "__proto__",
  "constructor",
];

const SEEDS = [
  "package a\n\nimport rego.v1\n\np contains x if some x in [1, 2]\n\nq[x].y := z if { x := input.a; z := x + 1 }\n",
  'package a.b\n\ndefault allow := false\n\nallow if {\n\tevery k, v in input { k != v }\n\tnot deny with input as {"a": 1}\n} else := 3 if true\n',
  'package a\n\nf(x, [y, _]) := sprintf("%d %s", [x, y])\n\ng := {k: v | some k, v in {"a": [1]}}\n\nh := $"a {g.a} b"\n',
  "# METADATA\n# title: x\npackage a\n\nimport data.b as c\nimport future.keywords.and\n\np if { {c.x} and (input.y) }\n",
];

export interface FuzzReport {
  readonly tried: number;
  readonly compiled: number;
  readonly refused: number;
  readonly problems: readonly string[];
  readonly slowestMs: number;
}

/** A module may take this long and no longer, whatever it says. */
const MAX_MS = 2_000;

export function fuzz(count: number, firstSeed = 1): FuzzReport {
  let compiled = 0;
  let refused = 0;
  let slowestMs = 0;
  const problems: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + count; seed++) {
    const source = mutated(seed);
    const started = performance.now();
    const problem = tryModule(source, (ok) => (ok ? compiled++ : refused++));
    const took = performance.now() - started;
    slowestMs = Math.max(slowestMs, took);
    if (problem !== undefined) problems.push(`seed ${String(seed)}: ${problem}\n${source}`);
    else if (took > MAX_MS)
      problems.push(`seed ${String(seed)}: took ${String(took)} ms\n${source}`);
  }
  return { tried: count, compiled, refused, problems, slowestMs };
}

function tryModule(source: string, done: (ok: boolean) => void): string | undefined {
  try {
    const result = compile({ "fuzz.rego": source });
    done(result.ok);
    if (result.ok) {
      result.policy.evaluate("data", {
        input: { a: [1, { b: "x" }] },
        maxSteps: 20_000,
        deadlineMs: 1_000,
      });
      return undefined;
    }
    const lines = source.split("\n").length;
    const astray = result.errors.find(({ line, column }) => line < 1 || line > lines || column < 1);
    if (result.errors.length === 0) return "refused without an error";
    return astray && `error outside the text: ${JSON.stringify(astray)}`;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

function mutated(seed: number): string {
  const r = new Random(seed * 7919);
  let source = r.chance(0.5) ? r.pick(SEEDS) : generate(seed, "t", 0).module;
  const edits = r.below(6);
  for (let i = 0; i < edits; i++) source = edit(r, source);
  return source;
}

function edit(r: Random, source: string): string {
  const at = r.below(source.length + 1);
  const length = r.below(12);
  switch (r.below(6)) {
    case 0:
      return source.slice(0, at) + source.slice(at + length);
    case 1:
      return source.slice(0, at) + r.pick(SNIPPETS) + source.slice(at);
    case 2:
      return source.slice(0, at) + r.pick(SNIPPETS) + source.slice(at + length);
    case 3: {
      const from = r.below(source.length + 1);
      return source.slice(0, at) + source.slice(from, from + length * 4) + source.slice(at);
    }
    case 4:
      return source.slice(0, at) + r.pick(SNIPPETS).repeat(r.below(60)) + source.slice(at);
    default:
      return source.slice(0, at) + String.fromCharCode(r.below(0x3000)) + source.slice(at);
  }
}
