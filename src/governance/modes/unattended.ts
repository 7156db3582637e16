// Changes of the mode without a caller: the end of a timed mode, and what the sensors move or propose.
import type { Mode } from "../../contract/call.ts";
import type { TransitionRule } from "../rules/governance.ts";
import { changeTo, requireParts, snapshotOf, type SelfCheck } from "./change.ts";
import type { ModeLog, ModeStore } from "./mode-store.ts";
import { createUpdateProposal } from "./proposals.ts";
import type { Sensors } from "./sensors.ts";
import type { StoredMode } from "./stored.ts";
import { nextMove, type Move } from "./transitions.ts";

export interface UnattendedPowers {
  readonly modeStore: ModeStore;
  readonly sensors: Pick<Sensors, "statuses" | "quietSince">;
  readonly transitions: () => readonly TransitionRule[];
  readonly selfCheck: SelfCheck;
  /** Several instances share the store. */
  readonly shared: boolean;
  /** The tenant under which the changes are recorded. */
  readonly tenantId: string;
  readonly now: () => number;
  readonly log: ModeLog;
}

/** Neither throws: what hinders a change is logged once per mode, and the next tick tries again. */
export interface UnattendedChanges {
  /** Ends a timed mode that is due. */
  revert(): Promise<void>;
  /** Moves the mode as the table of transitions says, or brings the proposal in line with it. */
  transition(): Promise<void>;
}

export const isDue = ({ until }: StoredMode, now: () => number): boolean =>
  until !== null && now() >= until;

export function createUnattendedChanges(p: UnattendedPowers): UnattendedChanges {
  const { modeStore, sensors, tenantId, now } = p;
  const snapshot = () => snapshotOf(sensors.statuses());
  const updateProposal = createUpdateProposal({ ...p, snapshot });
  let warnedAtIndex = -1;

  async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (warnedAtIndex !== modeStore.stored.index)
        p.log.warn({ err: cause }, `${what} did not happen; it is tried again`);
      warnedAtIndex = modeStore.stored.index;
    }
  }

  async function changeFor(
    before: StoredMode,
    to: Mode,
    { by, reason }: { readonly by: string; readonly reason: string },
  ) {
    await requireParts(before.mode, to, p.selfCheck);
    const details = { by, reason, tenantId, until: null, now: now(), sensors: snapshot() };
    return changeTo(before, to, details);
  }

  const revert = () =>
    modeStore.change(async (before) => {
      if (!isDue(before, now) || before.revertTo === null) return null;
      const reason = `the time set for ${before.mode} is over`;
      return changeFor(before, before.revertTo, { by: "timer", reason });
    });

  const move = (seen: StoredMode, wanted: Move) =>
    modeStore.change(async (before) =>
      before.index === seen.index ? changeFor(before, wanted.to, wanted) : null,
    );

  return {
    revert: () => attempt("the end of a timed mode", revert),
    async transition() {
      const seen = modeStore.stored;
      const { automatic, proposed } = nextMove(p.transitions(), {
        state: seen,
        sensors: sensors.statuses(),
        quietSince: sensors.quietSince(),
        now: now(),
      });
      if (automatic) await attempt("a transition", () => move(seen, automatic));
      else await attempt("a proposal", () => updateProposal(seen, proposed));
    },
  };
}
