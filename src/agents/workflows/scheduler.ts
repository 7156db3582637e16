// Runs workflows by the clock. Each due row is leased by one instance, moved on before it runs, and run as its owner:
// a crash leaves one time out and never runs it twice. Times missed while nothing ran are made up once.
import type { Caller, CallRequest, Mandate, Outcome } from "../../contract/call.ts";
import type { ScheduleRow, Store } from "../../storage/store/store.ts";
import { nextTimes } from "./cron.ts";
import { pinOf } from "./workflows.ts";

export interface SchedulerPowers {
  readonly schedules: Store["schedules"];
  readonly workflows: Pick<Store["workflows"], "get">;
  readonly engine: () => { execute(caller: Caller, request: CallRequest): Promise<Outcome> };
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  readonly now: () => number;
  readonly report: (message: string, fields: object) => void;
}

export interface Scheduler {
  /** Looks once; resolves when everything it started has answered. */
  tick(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 2_000;
/** Longer than any call may take: a schedule does not overtake itself. */
const LEASE_MS = 330_000;
const AT_ONCE = 20;

export function createScheduler(p: SchedulerPowers): Scheduler {
  const controller = new AbortController();
  const running = new Set<Promise<void>>();
  let looking = false;
  let timer: NodeJS.Timeout | undefined;

  async function fire(row: ScheduleRow): Promise<void> {
    const at = p.now();
    let change = {
      lastExecutionId: null as string | null,
      lastError: null as string | null,
      enabled: true,
    };
    try {
      await p.schedules.advance(row.id, {
        nextAt: nextTimes(row.cron, row.timezone, at, 1)[0] ?? at,
        lastAt: at,
      });
      const off = (why: string): void =>
        void (change = { ...change, lastError: `switched off: ${why}`, enabled: false });
      if (row.mandate === null)
        return off(
          "it was made by an earlier release and does not say with which rights; schedule it again",
        );
      const caller = await p.callerAgain(row.mandate);
      if (caller === null || caller.tenantId !== row.tenantId)
        return off("its user or key is not active any more");
      const newest = await p.workflows.get(row, row.workflowId, null);
      if (newest === null) return off("its workflow is gone");
      if (newest.version !== row.version || pinOf(newest) !== row.pin)
        return off(
          `its workflow was defined anew since (version ${newest.version}); read it, then schedule it again`,
        );
      const outcome = await p.engine().execute(caller, {
        name: "workflow/execute",
        // Exactly this version, whatever is defined in the same moment.
        arguments: { workflowId: row.workflowId, version: newest.version, input: row.input },
        entry: "schedule",
        context: { metadata: { scheduleId: row.id } },
        signal: controller.signal,
      });
      const waits = outcome.status === "pending" ? "it waits for a person's yes" : null;
      change = {
        ...change,
        lastExecutionId: outcome.executionId,
        lastError: outcome.error ? `${outcome.error.reason}: ${outcome.error.message}` : waits,
      };
    } catch (cause) {
      p.report("a scheduled workflow could not be run", { err: cause, scheduleId: row.id });
      change = { ...change, lastError: "it could not be run; the server's log says why" };
    } finally {
      await p.schedules
        .ended(row.id, change)
        .catch((cause: unknown) =>
          p.report("a schedule could not be written", { err: cause, scheduleId: row.id }),
        );
    }
  }

  async function tick(): Promise<void> {
    if (looking || controller.signal.aborted) return;
    looking = true;
    let mine: Promise<void>[];
    try {
      const due = await p.schedules.lease(p.now(), p.now() + LEASE_MS, AT_ONCE);
      mine = due.map((row) => {
        const work = fire(row).finally(() => running.delete(work));
        running.add(work);
        return work;
      });
    } finally {
      looking = false;
    }
    await Promise.all(mine);
  }

  return {
    tick,
    start() {
      timer = setInterval(
        () =>
          void tick().catch((cause: unknown) =>
            p.report("schedules could not be read", { err: cause }),
          ),
        LOOK_EVERY_MS,
      );
      timer.unref();
    },
    async close() {
      clearInterval(timer);
      controller.abort("shutdown");
      await Promise.allSettled(running);
    },
  };
}
