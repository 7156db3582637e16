// Approvals as one thing: what the gate and the engine ask, what people do, and what time does.
import type { ApprovalDesk, Approvals, StandingRules } from "./approval.ts";
import { createDeciders } from "./deciders.ts";
import { createDesk } from "./inbox.ts";
import { createEnding } from "./ending.ts";
import { createHold } from "./hold.ts";
import { createFate } from "./over.ts";
import type { ApprovalPowers } from "./powers.ts";
import { createSeal } from "./seal.ts";
import { createStanding } from "./standing.ts";
import { createSweep } from "./sweep.ts";
import { createWaiting } from "./waiting.ts";

export type { ApprovalPowers } from "./powers.ts";

export interface ApprovalParts {
  readonly approvals: Approvals;
  readonly desk: ApprovalDesk & { readonly rules: StandingRules };
  /** Ends what ran out, goes on with what was left behind; to be called at start and every second. */
  sweep(): Promise<number>;
  /** Ends what nobody wants any more: to be called after a crash, and when a key, a run or an agent has ended. */
  closeOver(): Promise<number>;
  close(): void;
}

export const SWEEP_EVERY_MS = 1_000;

export function createApprovals(p: ApprovalPowers): ApprovalParts {
  const seal = createSeal(p.serverSecret);
  const fateOf = createFate(p, seal);
  const waiting = createWaiting({ state: p.state, shared: p.store.shared, report: p.report });
  const ending = createEnding(p, waiting);
  const deciders = createDeciders(p);
  const sweeping = createSweep(p, ending, fateOf);
  const desk = createDesk(p, {
    seal,
    deciders,
    ending,
    waiting,
    fateOf,
    carryOn: sweeping.carryOn,
  });
  const rules = createStanding(p, deciders, desk.show);
  return {
    approvals: { ...createHold(p, { seal, waiting, ending, fateOf }), covers: rules.covers },
    desk: { ...desk, rules: { draft: rules.draft, list: rules.list, revoke: rules.revoke } },
    sweep: sweeping.sweep,
    closeOver: sweeping.closeOver,
    close: waiting.close,
  };
}
