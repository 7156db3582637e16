// What runs, waits and is broken at the moment, for the people who look after the server.
import type { Diagnosis } from "../server/doors.ts";
import type { Base } from "./base.ts";
import type { EngineParts } from "./engine.ts";

export function createDiagnosis(
  { config, store, dataDir, links }: Base,
  { record, limits, reach }: EngineParts,
): () => Promise<Diagnosis> {
  return async () => {
    const [approvalsPending, outboxPending, head, checkpoint] = await Promise.all([
      store.approvals.pending(),
      config.sink === "none" ? null : record.relay.pending(),
      store.log.head(),
      store.ledger.lastCheckpoint(dataDir.instanceId),
    ]);
    const { ready, reason } = reach.powers.sandbox.status;
    return {
      active: links.engine.get().activeCount(),
      running: limits.slots.running,
      waiting: limits.slots.queued,
      slots: config.execution.maxRunning,
      approvalsPending,
      outboxPending,
      ledger: { head, sinceCheckpoint: Math.max(0, head - (checkpoint?.seq ?? 0)) },
      servers: reach.upstream.figures().map(({ name, up, breaker }) => ({ name, up, breaker })),
      tools: links.breakers
        .get()
        .figures()
        .map(({ name, breaker }) => ({ name, breaker })),
      sandbox: { ready, reason },
    };
  };
}
