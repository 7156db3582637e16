// The new row of one capability, from what was decided before and what is offered now. Pure.
import { createHash } from "node:crypto";
import type {
  ForeignDefinition,
  ServerToolRow,
  ServerToolState,
} from "../../../storage/store/store.ts";
import { boundsFault } from "./bounds.ts";
import { pinOf } from "./definition.ts";
import { nameTool, type ToolNames, type TakenNames } from "./names.ts";
import { proposeTerms } from "./propose-terms.ts";
import { scan } from "../scan/scan.ts";

export interface OfferedTool {
  readonly server: string;
  readonly definition: ForeignDefinition;
  /** The row it has, by the server's own name for it. */
  readonly former: ServerToolRow | null;
  readonly at: number;
}

/** `taken` are the names of native tools, of other servers' tools, and of those assessed before in the same check. */
export function assessOffer(
  { server, definition, former, at }: OfferedTool,
  taken: TakenNames,
): ServerToolRow {
  const pin = pinOf(definition);
  // Assessed before in exactly this form.
  if (former !== null && former.seenPin === pin && former.state !== "refused")
    return { ...former, state: stateOf(former, pin), seenAt: at };
  const named = nameTool(server, definition);
  const names = "fault" in named ? refusedName(server, definition) : named;
  const fault =
    "fault" in named ? named.fault : (twinFault(named, taken) ?? boundsFault(definition));
  // Terms that an administrator decided stay.
  const kept =
    former !== null && former.approvedPin !== null ? former.terms : proposeTerms(definition);
  return {
    server,
    method: definition.method,
    upstreamName: definition.name,
    ...(former === null || former.state === "refused"
      ? names
      : { name: former.name, wireName: former.wireName }),
    state: fault === null ? stateOf(former, pin) : "refused",
    reason: fault,
    approvedPin: former?.approvedPin ?? null,
    seenPin: pin,
    terms: kept,
    findings: fault === null ? scan(definition, taken.outside(server), server) : [],
    firstSeenAt: former?.firstSeenAt ?? at,
    seenAt: at,
    decidedBy: former?.decidedBy ?? null,
    decidedAt: former?.decidedAt ?? null,
  };
}

/** The server no longer offers it: hidden, and everything about it is kept. */
export function assessAbsence(former: ServerToolRow): ServerToolRow {
  return former.state === "removed"
    ? former
    : { ...former, state: "removed", reason: "the server no longer offers it" };
}

function stateOf(former: ServerToolRow | null, pin: string): ServerToolState {
  if (former === null) return "pending";
  if (former.approvedPin === pin) return "approved";
  const same = former.seenPin === pin;
  if (same && former.state === "rejected") return "rejected";
  // It was rejected, disappeared, and is offered again.
  if (
    same &&
    former.state === "removed" &&
    former.approvedPin === null &&
    former.decidedAt !== null
  )
    return "rejected";
  return former.approvedPin === null ? "pending" : "changed";
}

function twinFault(named: ToolNames, taken: TakenNames): string | null {
  const twin = taken.twinOf(named);
  return twin === null ? null : `it could be mistaken for ${twin.name}: ${twin.why}`;
}

/** What cannot be named is kept under a name that nothing else has, so that it can be shown. */
export function refusedName(server: string, { method, name }: ForeignDefinition): ToolNames {
  const sum = createHash("sha256")
    .update(JSON.stringify([method, name]))
    .digest("hex")
    .slice(0, 8);
  return { name: `${server}/refused_${sum}`, wireName: `${server}_refused_${sum}` };
}
