// Where the gauges of `/metrics` read their values, and how decided approvals are counted.
import type { ApprovalRow, Store } from "../storage/store/store.ts";
import type { Metrics, GaugeSources } from "../core/record/metrics.ts";
import type { Sandbox } from "../reach/sandbox/sandbox.ts";

type Given = "active" | "mode" | "outboxPending" | "upstreams" | "tools";

export interface GaugePowers extends Pick<GaugeSources, Given> {
  readonly slots: { readonly running: number; readonly queued: number };
  readonly maxRunning: number;
  readonly approvals: Pick<Store["approvals"], "pending">;
  readonly sandbox: Pick<Sandbox, "probed">;
}

export function gaugeSources(p: GaugePowers): GaugeSources {
  const { active, mode, outboxPending, upstreams, tools, slots } = p;
  let ready: boolean | null = null;
  let asked: Promise<void> | null = null;
  return {
    active,
    mode,
    outboxPending,
    upstreams,
    tools,
    running: () => slots.running,
    queued: () => slots.queued,
    slots: p.maxRunning,
    approvalsPending: () => p.approvals.pending(),
    sandboxReady() {
      // Probed once, with the first reading of the page, which does not wait for it.
      asked ??= p.sandbox.probed.then(
        (status) => void (ready = status.ready),
        () => void (ready = false),
      );
      return ready;
    },
  };
}

/** Counts how long an approval was open. One that expired unused was counted when it was granted. */
export function countDecision(
  metrics: Pick<Metrics, "decided">,
  row: Pick<ApprovalRow, "state" | "votes" | "needed" | "createdAt" | "decidedAt">,
): void {
  const { state, votes, needed, createdAt, decidedAt } = row;
  const granted = votes.filter(({ decision }) => decision === "approve").length >= needed;
  if (decidedAt === null || (granted && state !== "approved")) return;
  metrics.decided(decidedAt - createdAt);
}
