// Closes, at a start, executions that a crash left open, and runs the periodic upkeep afterwards.
import { closeAfterCrash, closeStale } from "../core/record/recover.ts";
import { SWEEP_EVERY_MS as APPROVALS_EVERY_MS } from "../governance/approvals/index.ts";
import type { Base } from "./base.ts";
import type { EngineParts, OpenedEngine } from "./engine.ts";
import { filesWatch } from "./files-watch.ts";
import type { LostInstance } from "./instances.ts";

const FLUSH_EVERY_MS = 10_000;
const REQUESTS_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 60_000;
/** After every deadline, queue wait and this grace time, an open row has no owner any more. */
const STALE_GRACE_MS = 60_000;
const LOST_ENDS_EVERY_MS = 1_000;
const FILES_EVERY_MS = 1_000;

export interface UpkeepParts extends Pick<
  EngineParts,
  "record" | "governance" | "identity" | "limits" | "reach"
> {
  readonly engine: OpenedEngine;
}

/** Closes what a crash of this instance left open, before anything new may run. */
export async function recoverAfterCrash(base: Base, parts: UpkeepParts): Promise<void> {
  const { store, dataDir } = base;
  const { record, governance, reach, engine } = parts;
  const { live, log, recovery } = record;
  if (store.shared) {
    // What other instances recorded reaches the listeners here too.
    await live.catchUp();
    for (const name of ["mode", "approvals"]) governance.follower.on(name, () => live.catchUp());
  }
  const executions = await closeAfterCrash(recovery, dataDir.instanceId);
  if (executions > 0) log.warn({ executions }, "closed executions that a crash left open");
  const questions = (await reach.powers.questions.recover()) + (await engine.approvals.closeOver());
  if (questions > 0) log.warn({ questions }, "closed questions and approvals of what has ended");
  await store.usage.releaseOrphans(dataDir.instanceId);
  await record.instances.watch((gone) => closeLost(base, parts, gone));
}

/** Closes at once what a dead instance left open, so that nothing waits for it. */
async function closeLost(base: Base, parts: UpkeepParts, gone: LostInstance): Promise<void> {
  const { store } = base;
  const { record, reach, engine } = parts;
  const instanceId = gone.id;
  const items = await store.workItems.free(instanceId);
  const executions = await closeAfterCrash(record.recovery, instanceId, gone.begunUntil);
  const agents = await reach.powers.work.recoverLost(gone);
  await reach.powers.questions.recover();
  await engine.approvals.closeOver();
  await store.usage.releaseOrphans(instanceId);
  record.log.warn(
    { instanceId, seenAt: gone.seenAt, executions, agents, items },
    "an instance is gone: closed what it left open",
  );
}

export function startUpkeep({ config, dataDir, closing }: Base, parts: UpkeepParts): void {
  const { record, limits, engine } = parts;
  const { background, log, recovery, lost } = record;
  const { identity } = parts.identity;
  const { sweep } = engine.approvals;
  const { maxTimeoutMs, maxQueueWaitMs } = config.execution;
  const maxAge = maxTimeoutMs + maxQueueWaitMs + STALE_GRACE_MS;
  let sweeping: Promise<unknown> = Promise.resolve();
  const timers = [
    setInterval(() => background(identity.flush()), FLUSH_EVERY_MS),
    setInterval(() => background(limits.requests.flush()), REQUESTS_EVERY_MS),
    setInterval(() => background(closeStale(recovery, maxAge, engine.active.has)), SWEEP_EVERY_MS),
    // While the store is unavailable each attempt fails, which every call reports already; the next one tries again.
    setInterval(() => void lost.close().catch(() => undefined), LOST_ENDS_EVERY_MS),
    setInterval(filesWatch(dataDir.files, log), FILES_EVERY_MS),
    setInterval(() => background((sweeping = sweeping.then(sweep, sweep))), APPROVALS_EVERY_MS),
  ];
  for (const timer of timers) timer.unref();
  closing.defer(async () => {
    for (const timer of timers) clearInterval(timer);
    await sweeping.catch(() => undefined);
    // An unavailable store must not keep the server from stopping.
    const report = (cause: unknown): void =>
      log.warn({ err: cause }, "could not be written while stopping");
    await identity.flush().catch(report);
    await limits.requests.flush().catch(report);
  });
}
