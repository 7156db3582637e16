// Approvals as one thing: what the gate and the engine ask, what people do, and what time does.
import type { ApprovalInbox, ApprovalPreviews, Approvals, StandingRules } from "./approval.ts";
import { createDeciders } from "./deciders.ts";
import { createInbox } from "./inbox.ts";
import { createEnding } from "./ending.ts";
import { createHold } from "./hold.ts";
import { createPreviews } from "./previews.ts";
import { createReadable } from "./readable.ts";
import { createResumptionCheck } from "./resumption.ts";
import type { ApprovalPowers } from "./powers.ts";
import { createSeal } from "./seal.ts";
import { createStandingRules } from "./standing-rules.ts";
import { createSweep } from "./sweep.ts";
import { createWaiting } from "./waiting.ts";

export type { ApprovalPowers } from "./powers.ts";

export interface ApprovalParts {
  readonly approvals: Approvals;
  readonly inbox: ApprovalInbox & ApprovalPreviews & { readonly rules: StandingRules };
  /** Ends what ran out, goes on with what was left behind; to be called at start and every second. */
  sweep(): Promise<number>;
  /** Ends what nobody wants any more: to be called after a crash, and when a key, a run or an agent has ended. */
  closeOver(): Promise<number>;
  close(): void;
}

export const SWEEP_EVERY_MS = 1_000;

export function createApprovals(p: ApprovalPowers): ApprovalParts {
  const seal = createSeal(p.serverSecret);
  const checkResumption = createResumptionCheck(p, seal);
  const waiting = createWaiting({ state: p.state, shared: p.store.shared, report: p.report });
  const ending = createEnding(p, waiting);
  const deciders = createDeciders(p);
  const sweeping = createSweep(p, ending, checkResumption);
  const readable = createReadable(p.store.approvals, deciders);
  const inbox = createInbox(p, {
    seal,
    deciders,
    readable,
    ending,
    waiting,
    checkResumption,
    carryOn: sweeping.carryOn,
  });
  const rules = createStandingRules(p, deciders, inbox.show);
  const previews = createPreviews(p, { seal, deciders, readable, checkResumption });
  return {
    approvals: {
      ...createHold(p, { seal, waiting, ending, checkResumption }),
      covers: rules.covers,
    },
    inbox: {
      ...inbox,
      ...previews,
      rules: { draft: rules.draft, list: rules.list, revoke: rules.revoke },
    },
    sweep: sweeping.sweep,
    closeOver: sweeping.closeOver,
    close: waiting.close,
  };
}
