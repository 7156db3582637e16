// Verdicts as the record stores them. Plain allows are one text of `stage ms` pairs; other verdicts are a list.
// Written out, the twelve allows of a call would be most of its record.
import type { Json, Verdict } from "../../contract/call.ts";

export type PackedVerdicts = string | readonly Json[];

export function packVerdicts(gates: readonly Verdict[]): PackedVerdicts {
  let text = "";
  for (const gate of gates) {
    if (!isPlain(gate))
      return gates.map((one) => (isPlain(one) ? plain(one) : (one as unknown as Json)));
    text += text === "" ? plain(gate) : ` ${plain(gate)}`;
  }
  return text;
}

/** Also takes lists of whole verdicts, as the first release wrote them. */
export function unpackVerdicts(packed: PackedVerdicts): Json[] {
  if (typeof packed === "string") return unpackText(packed);
  return packed.flatMap((gate) => (typeof gate === "string" ? unpackText(gate) : [gate]));
}

function unpackText(text: string): Json[] {
  const words = text === "" ? [] : text.split(" ");
  const gates: Json[] = [];
  for (let at = 0; at < words.length; at += 2)
    gates.push({ stage: words[at] ?? "", verdict: "allow", ms: Number(words[at + 1]) });
  return gates;
}

/** Nearly all stages take less than a millisecond: the thousand texts are there already. */
const SHORT = Array.from({ length: 1000 }, (_, us) => String(us / 1000));

const plain = ({ stage, ms }: Verdict): string => `${stage} ${SHORT[ms * 1000] ?? ms}`;

/** An allow with a rule, a question or a trial's answer has more fields. */
function isPlain(gate: Verdict): boolean {
  if (gate.verdict !== "allow") return false;
  let fields = 0;
  for (const _field in gate) fields++;
  return fields === 3;
}
