// Changes that sensors ask for and the table of transitions leaves to a person.
import type { JsonObject } from "../../contract/call.ts";
import type { ModeStore } from "./mode-store.ts";
import type { Sensors } from "./sensors.ts";
import { isStricter, type StoredMode } from "./stored.ts";
import type { Move } from "./transitions.ts";

export interface ProposalPowers {
  readonly modeStore: ModeStore;
  readonly sensors: Pick<Sensors, "quietSince">;
  readonly snapshot: () => JsonObject;
  /** Several instances share the store, so a proposal may be another one's. */
  readonly shared: boolean;
  readonly tenantId: string;
  readonly now: () => number;
}

/** Brings the standing proposal in line with the wanted move. */
export type UpdateProposal = (seen: StoredMode, wanted: Move | null) => Promise<void>;

export function createUpdateProposal(p: ProposalPowers): UpdateProposal {
  const { modeStore } = p;
  let ownProposalAt: number | null = null;
  let proposedFor = "";

  const propose = (seen: StoredMode, wanted: Move) =>
    modeStore.change((before) => {
      if (before.index !== seen.index) return null;
      const { to, reason, by } = wanted;
      const proposal = { mode: to, reason, at: (ownProposalAt = p.now()) };
      proposedFor = keyOf(seen, wanted);
      const sensors = p.snapshot();
      const body = { from: before.mode, to, reason, by, sensors, index: before.index };
      return {
        next: { ...before, proposal },
        note: { action: "mode.proposed", who: { tenantId: p.tenantId, userId: by }, body },
      };
    });

  const withdraw = (seen: StoredMode) =>
    modeStore.change((before) =>
      before.index === seen.index && before.proposal
        ? { next: { ...before, proposal: null }, note: null }
        : null,
    );

  return async (seen, wanted) => {
    const standing = seen.proposal;
    const isOwn = !p.shared || standing?.at === ownProposalAt;
    if (wanted) {
      const isBetter =
        !standing ||
        (standing.mode !== wanted.to && (isOwn || isStricter(wanted.to, standing.mode)));
      // One cause proposes once: a proposal that was withdrawn must not return from an instance with other readings.
      if (isBetter && proposedFor !== keyOf(seen, wanted)) await propose(seen, wanted);
    } else if (standing) {
      const againstFacts = p.sensors.quietSince() === null && isStricter(seen.mode, standing.mode);
      if (isOwn || againstFacts) await withdraw(seen);
    }
  };
}

const keyOf = ({ index }: StoredMode, { to, cause }: Move): string => `${index} ${to} ${cause}`;
