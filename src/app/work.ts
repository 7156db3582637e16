// What works for callers beyond a single call: workflow runs, the clock that starts them, plans.
import type { Caller, JsonObject } from "../call.ts";
import { workflowsPower } from "../run/powers/workflows.ts";
import type { EngineSettings } from "../run/powers/engine.ts";
import type { PowerSources } from "../run/powers/index.ts";
import type { Store } from "../store/store.ts";
import type { Ids } from "../util/ids.ts";
import { createPlans } from "../workflow/plans.ts";
import { createScheduler } from "../workflow/scheduler.ts";
import { createWorkflows } from "../workflow/workflows.ts";

/** What only the composition root can give. */
export interface WorkParts {
  readonly instanceId: string;
  /** A caller as they are today; null when user or key is gone. */
  readonly callerAgain: (userId: string, keyId: string | null) => Promise<Caller | null>;
  /** A caller's own schema: null when the value fits. Nothing of it is kept. */
  readonly validate: (schema: JsonObject, value: unknown) => readonly { path: string; message: string }[] | null;
} // prettier-ignore

export interface WorkPowers extends WorkParts {
  readonly store: Store;
  readonly engine: () => EngineSettings;
  readonly ids: Ids;
  readonly now: () => number;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
} // prettier-ignore

export interface Work {
  readonly sources: Pick<PowerSources, "workflows">;
  close(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;
/** An entry that has just expired keeps its version for whoever still holds it. */
const KEPT_AFTER_EXPIRY_MS = 86_400_000;
const SWEPT_AT_ONCE = 1_000;

export async function openWork(p: WorkPowers): Promise<Work> {
  const { store, engine, ids, now, callerAgain, validate, instanceId } = p;
  const background = (work: Promise<unknown>): void => {
    work.catch((cause: unknown) => p.log.error({ err: cause }, "background work failed"));
  };
  const workflows = createWorkflows({ store, engine, callerAgain, validate, instanceId, ids, now, background }); // prettier-ignore
  const plans = createPlans({ plans: store.plans, ids, now });
  const left = await workflows.recover();
  if (left > 0) p.log.warn({ runs: left }, "closed workflow runs that a crash left open");
  const scheduler = createScheduler({ schedules: store.schedules, engine, callerAgain, now, report: (message, fields) => p.log.error(fields, message) }); // prettier-ignore
  scheduler.start();
  const sweep = setInterval(() => background(store.memory.sweep(now() - KEPT_AFTER_EXPIRY_MS, SWEPT_AT_ONCE)), SWEEP_EVERY_MS); // prettier-ignore
  sweep.unref();
  return {
    sources: { workflows: workflowsPower({ workflows, plans, now }) },
    async close() {
      clearInterval(sweep);
      await scheduler.close();
      await workflows.close();
    },
  };
}
