// Verdicts as the log keeps them: a plain allow is the text `stage ms`, everything else the verdict itself. Twelve allows
// a call would otherwise be most of what is written.
import type { Json, Verdict } from "../call.ts";

export function packGates(gates: readonly Verdict[]): Json[] {
  const packed: Json[] = [];
  for (const gate of gates) {
    packed.push(isPlain(gate) ? `${gate.stage} ${gate.ms}` : (gate as unknown as Json));
  }
  return packed;
}

export function unpackGates(packed: readonly Json[]): Json[] {
  return packed.map((gate) => {
    if (typeof gate !== "string") return gate;
    const space = gate.lastIndexOf(" ");
    return { stage: gate.slice(0, space), verdict: "allow", ms: Number(gate.slice(space + 1)) };
  });
}

/** An allow with a rule, a question or a trial's answer has more fields. */
function isPlain(gate: Verdict): boolean {
  if (gate.verdict !== "allow") return false;
  let fields = 0;
  for (const _field in gate) fields++;
  return fields === 3;
}
