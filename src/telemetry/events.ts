// Events of spans, made once and kept with holes for their times: most calls pass the same stages.
import type { Verdict } from "../contract/call.ts";
import { ATTR, SPAN } from "./names.ts";
import { attributeFields, field, fixed64Field, textField, varintSize } from "./protobuf.ts";
import type { Stamped } from "./span-writer.ts";
import type { Attributes } from "./tracing.ts";

const TIME = fixed64Field(1, 0n);
const MAX_TRAILS = 32;

export function eventOf(name: string, attributes: Attributes): Stamped {
  const body = Buffer.concat([TIME, textField(2, name), attributeFields(3, attributes)]);
  return { bytes: field(11, body), times: [1 + varintSize(body.length) + 1] };
}

export function aboutVerdict({ stage, verdict, code }: Verdict): Attributes {
  const attributes = { [ATTR.stage]: stage, [ATTR.verdict]: verdict };
  return code === undefined ? attributes : { ...attributes, [ATTR.stageCode]: code };
}

type StageDecision = Pick<Verdict, "stage" | "verdict" | "code">;
interface Trail {
  readonly verdicts: readonly (StageDecision & { readonly hasWaited: boolean })[];
  readonly events: Stamped;
}

/** The events of the stages that did not wait; one list for each course that calls take. */
export class Trails {
  #known: Trail[] = [];

  of(gates: readonly Verdict[], waited: readonly string[] | null): Stamped {
    for (const trail of this.#known) if (isSame(trail, gates, waited)) return trail.events;
    const trail = trailOf(gates, waited);
    if (this.#known.length === MAX_TRAILS) this.#known = [];
    this.#known.push(trail);
    return trail.events;
  }
}

function isSame(
  { verdicts }: Trail,
  gates: readonly Verdict[],
  waited: readonly string[] | null,
): boolean {
  if (verdicts.length !== gates.length) return false;
  for (let i = 0; i < gates.length; i++) {
    const [one, other] = [verdicts[i], gates[i]];
    if (
      !one ||
      !other ||
      one.verdict !== other.verdict ||
      one.code !== other.code ||
      one.stage !== other.stage
    )
      return false;
    if (one.hasWaited !== (waited !== null && waited.includes(other.stage))) return false;
  }
  return true;
}

function trailOf(gates: readonly Verdict[], waited: readonly string[] | null): Trail {
  const verdicts = gates.map(({ stage, verdict, code }) => ({
    stage,
    verdict,
    code,
    hasWaited: waited?.includes(stage) ?? false,
  })) as Trail["verdicts"];
  const parts: Uint8Array[] = [];
  const times: number[] = [];
  let length = 0;
  gates.forEach((verdict, i) => {
    if (verdicts[i]?.hasWaited) return;
    const event = eventOf(SPAN.gate(verdict.stage), aboutVerdict(verdict));
    times.push(length + (event.times[0] ?? 0));
    parts.push(event.bytes);
    length += event.bytes.length;
  });
  return { verdicts, events: { bytes: Buffer.concat(parts), times } };
}
