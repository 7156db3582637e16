// Stops a model that repeats itself: the same call again and again, or the same tool without an end.
import type { JsonObject } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { TurnStep } from "../../storage/store/store.ts";

export type LoopDecision =
  | { readonly kind: "run"; readonly hint?: string }
  | { readonly kind: "block"; readonly message: string };

export interface LoopGate {
  decide(tool: string, category: string, args: JsonObject): LoopDecision;
  /** What the call gave, whether it ran or was blocked. */
  ended(tool: string, args: JsonObject, output: string, wasBlocked: boolean): void;
  /** So many calls in a row were blocked: the model does not listen. */
  readonly blockedInARow: number;
}

interface Limits {
  /** The same arguments so often without a hint; two more times with one; then it is blocked. */
  readonly perSignature: number;
  /** The same tool so often in a row without a hint. */
  readonly inARow: number;
}

const USUAL: Limits = { perSignature: 1, inARow: 2 };
/** A program is run again after each change: repeating it is ordinary work. */
const PROGRAMS: Limits = { perSignature: 5, inARow: 10 };
const HINTED_REPEATS = 2;
/** The same arguments gave the same answer so often: once more would give it again. */
const SAME_ANSWERS = 2;

interface Seen {
  count: number;
  lastOutput: string | null;
  sameOutputs: number;
}

export function createLoopGate(): LoopGate {
  const seen = new Map<string, Seen>();
  let lastTool = "";
  let inARow = 0;
  let blockedInARow = 0;

  return {
    get blockedInARow() {
      return blockedInARow;
    },
    decide(tool, category, args) {
      const limits = category === "shell" ? PROGRAMS : USUAL;
      const { count, sameOutputs } = seen.get(signatureOf(tool, args)) ?? NEVER;
      if (sameOutputs >= SAME_ANSWERS && category !== "shell")
        return block(`${tool} gave the same answer to these arguments ${sameOutputs} times`);
      if (count >= limits.perSignature + HINTED_REPEATS)
        return block(`${tool} was called with these arguments ${count} times`);
      if (count >= limits.perSignature)
        return { kind: "run", hint: `you have called ${tool} with these arguments before` };
      if (tool === lastTool && inARow >= limits.inARow)
        return {
          kind: "run",
          hint: `you have called ${tool} ${inARow} times in a row; say what you still need, or answer`,
        };
      return { kind: "run" };
    },
    ended(tool, args, output, wasBlocked) {
      blockedInARow = wasBlocked ? blockedInARow + 1 : 0;
      if (wasBlocked) return;
      inARow = tool === lastTool ? inARow + 1 : 1;
      lastTool = tool;
      const signature = signatureOf(tool, args);
      const known = seen.get(signature) ?? { ...NEVER };
      known.count++;
      known.sameOutputs = known.lastOutput === output ? known.sameOutputs + 1 : 1;
      known.lastOutput = output;
      seen.set(signature, known);
    },
  };
}

const NEVER: Readonly<Seen> = Object.freeze({ count: 0, lastOutput: null, sameOutputs: 0 });

const signatureOf = (tool: string, args: JsonObject): string => `${tool} ${canonicalJson(args)}`;

const block = (why: string): LoopDecision => ({
  kind: "block",
  message: `${why}: do something else, or answer with what you have`,
});

/** A gate that has seen what a turn did before it was taken over. */
export function loopGateAfter(
  steps: readonly TurnStep[],
  toolNamed: (name: string) => Tool | undefined,
): LoopGate {
  const gate = createLoopGate();
  const calls = new Map(
    steps
      .flatMap((step) => (step.kind === "model" ? step.calls : []))
      .map((call) => [call.id, call]),
  );
  for (const step of steps) {
    if (step.kind !== "result" || step.status === "pending") continue;
    const call = calls.get(step.callId);
    if (!call) continue;
    const name = toolNamed(call.name)?.name ?? call.name;
    gate.ended(name, call.arguments, step.content, step.reason === LOOP_BLOCKED);
  }
  return gate;
}

export const LOOP_BLOCKED = "loop_blocked";
