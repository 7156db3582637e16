// Generated policies and inputs, each decided by our evaluator and by a real OPA: what agrees, what does not.
import { generate, type Pair } from "./rego-generate.ts";
import { agree, answerText, freshAnswer, OpaServer, ours, type Answer } from "./rego-opa.ts";

const INPUTS = 3;
const MODULE = "gen";

/** Modules on which we are known to differ, each with its reason. The list may only shrink. */
const KNOWN: readonly { readonly why: string; readonly seeds: readonly number[] }[] = [
  {
    why: "types that OPA rules out and we do not: under `with` we widen all rules, OPA only those that depend on the target",
    seeds: [
      17, 992, 2083, 3103, 4464, 4572, 4627, 5383, 7609, 7845, 7944, 8080, 9242, 9601, 10009, 10442,
      10727,
    ],
  },
  {
    why: "types that OPA rules out and we do not: a variable that looks into a rule with a dotted head (`p.y := 1`) is a string there",
    seeds: [10078],
  },
  { why: "types that we rule out and OPA does not", seeds: [2487, 6213] },
  {
    why: "an object pattern before a comprehension that uses an outer variable: OPA takes its variables as safe",
    seeds: [909, 2803, 5061, 5763, 8649, 8807],
  },
  {
    why: "both refuse, at another stage: a keyword as the head of a reference, several faults at once",
    seeds: [2127, 4008, 5617, 6599, 7027, 7406, 7839, 7915, 8384, 8840, 9103, 9463, 9935],
  },
  { why: "broken text that OPA still reads as a module", seeds: [4695, 6169, 6308] },
  {
    why: "strict mode: another of several failing functions is met first",
    seeds: [2594, 5332, 10079],
  },
  { why: "OPA itself fails on the number literal .5", seeds: [6589] },
  {
    why: "two keys of one object come out alike, and another of them wins",
    seeds: [2344, 9934],
  },
];
const KNOWN_SEEDS = new Set(KNOWN.flatMap(({ seeds }) => seeds));

export interface Comparison {
  readonly compared: number;
  /** Counts by what OPA answered. */
  readonly kinds: ReadonlyMap<string, number>;
  /** The server answered differently from OPA without its index and memory, and we agree with the latter. */
  readonly serverOnly: number;
  /** Pairs that KNOWN explains. */
  readonly known: number;
  /** One text for each pair that nothing explains. */
  readonly disagreed: readonly string[];
}

export interface Opa {
  readonly url: string;
  /** The program, asked again where its server answers differently. */
  readonly bin: string;
}

/** At least `wanted` pairs of policy and input, from the modules of `firstSeed` and those after it. */
export async function compareWithOpa(
  { url, bin }: Opa,
  wanted: number,
  firstSeed: number,
): Promise<Comparison> {
  const server = new OpaServer(url);
  await server.start();
  const kinds = new Map<string, number>();
  const disagreed: string[] = [];
  let [compared, serverOnly, known] = [0, 0, 0];
  for (let seed = firstSeed; compared < wanted; seed++) {
    const pair = generate(seed, MODULE, INPUTS);
    const theirs = await server.answer(pair, MODULE);
    const mine = ours(pair, MODULE);
    for (let i = 0; i < Math.max(theirs.length, mine.length); i++) {
      // A module that does not compile has one answer for all inputs.
      const [a, b] = [theirs[i] ?? theirs[0], mine[i] ?? mine[0]] as [Answer, Answer];
      compared++;
      const kind = a.kind === "error" ? a.codes.join("+") : a.kind;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if (agree(a, b)) continue;
      const single: Pair = { ...pair, inputs: [pair.inputs[i] ?? {}] };
      const fresh = freshAnswer(bin, single, MODULE);
      if (agree(fresh, b)) serverOnly++;
      else if (KNOWN_SEEDS.has(seed)) known++;
      else
        disagreed.push(
          `seed ${seed} input ${i}${pair.strict ? " strict" : ""}\n${pair.module}\nOPA:  ${answerText(fresh)}\nours: ${answerText(b)}`,
        );
    }
  }
  await server.remove(MODULE);
  return { compared, kinds, serverOnly, known, disagreed };
}
