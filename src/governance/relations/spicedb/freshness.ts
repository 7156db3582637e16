// How new an answer must be. Tokens of SpiceDB cannot be compared, so none is kept across a change: after each the next
// answer reads the newest state, and its token holds until the following change.
import type { v1 } from "@authzed/authzed-node";

export interface Freshness {
  /** The consistency to ask for now, and where the token of the answer goes. */
  next(): { readonly consistency: v1.Consistency; learn(token: v1.ZedToken | undefined): void };
  /** Something changed, or the token was refused. */
  renew(): void;
}

const NEWEST: v1.Consistency = {
  requirement: { oneofKind: "fullyConsistent", fullyConsistent: true },
};

export function createFreshness(alwaysFresh: boolean): Freshness {
  let known: v1.Consistency | null = null;
  let changes = 0;
  return {
    next() {
      const before = changes;
      return {
        consistency: known ?? NEWEST,
        learn(token) {
          // An answer that was under way during a change may be older than it.
          if (alwaysFresh || known !== null || token === undefined || before !== changes) return;
          known = { requirement: { oneofKind: "atLeastAsFresh", atLeastAsFresh: token } };
        },
      };
    },
    renew() {
      changes++;
      known = null;
    },
  };
}
