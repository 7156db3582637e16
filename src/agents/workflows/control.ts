// Requests to runs that are under way: cancel, pause, resume, and the events that they wait for.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { RunRow, Store } from "../../storage/store/store.ts";
import { hasEnded } from "./run/graph.ts";

export interface RunControl {
  /** Own ones, and to administrators anybody's of the tenant. */
  cancel(caller: Caller, runId: string): Promise<RunRow>;
  pause(caller: Caller, runId: string): Promise<RunRow>;
  resume(caller: Caller, runId: string): Promise<RunRow>;
  /** The caller's own run; NOT_FOUND for those of others. */
  ofOwn(caller: Caller, runId: string): Promise<RunRow>;
  /** The own workflow of that name, if events start it. */
  startedBy(caller: Caller, eventName: string): Promise<string | null>;
  /** To one run; CONFLICT where no step of it waits for the event. */
  send(caller: Caller, runId: string, event: RunEventIn): Promise<readonly string[]>;
  /** To all own runs that wait for it; answers their ids. */
  sendToAll(caller: Caller, event: RunEventIn): Promise<readonly string[]>;
}

export interface RunEventIn {
  readonly name: string;
  readonly payload: JsonObject;
}

export interface RunControlPowers {
  readonly store: Pick<Store, "runs" | "runEvents" | "work" | "workflows">;
  /** The instance that drives the run checks it again. */
  readonly wake: (runId: string) => Promise<void>;
  readonly now: () => number;
}

export function createRunControl(p: RunControlPowers): RunControl {
  type Asking = Pick<Caller, "role" | "tenantId" | "userId">;
  const find = async ({ role, tenantId, userId }: Asking, id: string): Promise<RunRow> => {
    const run = await p.store.work.run(role === "admin" ? { tenantId } : { tenantId, userId }, id);
    if (run) return run;
    throw new AppError("NOT_FOUND", "unknown", `Run '${id}' not found`, {
      remedy: "list the runs of a workflow: GET /api/v1/workflows/{workflowId}/runs",
    });
  };
  const ask = async (caller: Caller, id: string, wanted: RunRow["wanted"]): Promise<RunRow> => {
    const run = await find(caller, id);
    if (run.endedAt !== null || !(await p.store.runs.ask(id, wanted, caller.userId)))
      throw over(await find(caller, id));
    await p.store.runEvents.add(id, [
      { at: p.now(), kind: `asked.${wanted ?? "resume"}`, body: { by: caller.userId } },
    ]);
    await p.wake(id);
    return find(caller, id);
  };
  const deliver = async (run: RunRow, { name, payload }: RunEventIn, by: string) => {
    const steps = run.steps.filter((step) => !hasEnded(step) && step.eventName === name);
    if (run.endedAt !== null || steps.length === 0) return false;
    const body = { name, payload, by, steps: steps.map(({ id }) => id) };
    await p.store.runEvents.add(run.id, [{ at: p.now(), kind: "event.received", body }]);
    await p.wake(run.id);
    return true;
  };
  return {
    cancel: (caller, id) => ask(caller, id, "cancel"),
    pause: (caller, id) => ask(caller, id, "pause"),
    resume: (caller, id) => ask(caller, id, null),
    ofOwn: ({ tenantId, userId }, id) => find({ role: "user", tenantId, userId }, id),
    async startedBy(caller, eventName) {
      const found = await p.store.workflows.named(caller, eventName);
      return found?.startedBy === "event" ? found.id : null;
    },
    async send(caller, id, event) {
      const run = await find(caller, id);
      if (run.endedAt !== null) throw over(run);
      if (await deliver(run, event, caller.userId)) return [id];
      throw new AppError(
        "CONFLICT",
        "not_waiting",
        `no step of the run ${id} waits for the event ${JSON.stringify(event.name)} now`,
        { remedy: "look at the run: its steps name the events that they wait for" },
      );
    },
    async sendToAll(caller, event) {
      const got: string[] = [];
      for (const id of await p.store.runs.waitingFor(caller, event.name)) {
        const run = await p.store.runs.get(caller, id);
        if (run && (await deliver(run, event, caller.userId))) got.push(id);
      }
      return got;
    },
  };
}

const over = ({ id, status }: RunRow): AppError =>
  new AppError("CONFLICT", "not_running", `the run ${id} has ended (${status})`, {
    remedy: "run it again, or from one of its steps: POST /api/v1/workflow-runs/{runId}/rerun",
  });
