// Workflows of a caller: stored in versions, run step by step on any instance, by hand, by the clock or by events.
import { createHash } from "node:crypto";
import { mandateOf, type Call, type Caller, type JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import {
  AlreadyExists,
  type CatchUp,
  type Overlap,
  type RunRow,
  type Store,
  type WorkflowRow,
} from "../../storage/store/store.ts";
import type { Explained } from "../../contract/powers.ts";
import type { Tool } from "../../contract/tool.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { nextTimes } from "./cron.ts";
import { checkDefinition, type Checked, type Draft } from "./definition.ts";
import { dryRun, type DryStep } from "./dry-run.ts";
import { findWorkflow, notFound, requireInput, runAs } from "./lookup.ts";
import { runBefore, stepsTaken, type Rerun } from "./rerun.ts";
import type { DriverPowers, StepEngine } from "./run/context.ts";
import { recoverRuns } from "./recover.ts";
import { scheduleItem } from "./schedules/item.ts";
import { startRun } from "./start-run.ts";

export interface WorkflowEngine extends StepEngine {
  explain(
    caller: Caller,
    request: { name: string; arguments?: JsonObject },
  ): Promise<Explained | null>;
  discover(caller: Caller): Promise<readonly Tool[]>;
}

export interface WorkflowsPowers extends Pick<
  DriverPowers,
  "callerAgain" | "work" | "notices" | "instanceId" | "ids" | "now" | "background"
> {
  readonly store: Pick<Store, "workflows" | "runs" | "runEvents" | "schedules" | "shared">;
  readonly engine: () => WorkflowEngine;
  /** The instance that drives the run checks it again. */
  readonly wake: (runId: string) => Promise<void>;
  /** Null when the value fits the schema. */
  readonly validate: (
    schema: JsonObject,
    value: JsonObject,
  ) => readonly { path: string; message: string }[] | null;
}

export interface Workflows {
  create(
    caller: Caller,
    draft: Draft,
  ): Promise<Pick<WorkflowRow, "id" | "version" | "risk"> & Pick<Checked, "warnings">>;
  /** Resolves when it has ended, waits for a person, or `waitMs` are over; in the last case it continues by itself. */
  execute(
    call: Call,
    signal: AbortSignal,
    request: { workflowId: string; input: JsonObject; version?: number; rerun?: Rerun },
    waitMs: number,
  ): Promise<RunRow>;
  dryRun(
    caller: Caller,
    request: { workflowId: string; input: JsonObject; version?: number },
  ): Promise<DryStep[]>;
  schedule(
    caller: Caller,
    request: {
      workflowId: string;
      cron: string;
      timezone: string;
      enabled: boolean;
      input: JsonObject;
      catchUp: CatchUp;
      overlap: Overlap;
    },
  ): Promise<{ id: string; next: number[] }>;
  status(caller: Caller, which: { executionId: string } | { runId: string }): Promise<RunRow>;
  list(
    caller: Caller,
    search: string,
    page: { limit: number; offset: number },
  ): ReturnType<Store["workflows"]["list"]>;
  /** Continues the runs that a crash of this instance left open; returns how many could not and were closed. */
  recover(): Promise<number>;
}

const SHOWN_TIMES = 3;

export function createWorkflows(p: WorkflowsPowers): Workflows {
  const find = (caller: Caller, idOrName: string, version?: number): Promise<WorkflowRow> =>
    findWorkflow(p.store.workflows, caller, idOrName, version ?? null);

  return {
    async create(caller, draft) {
      const checked = await checkDefinition(draft, {
        visible: await p.engine().discover(caller),
        named: (name) => p.store.workflows.named(caller, name),
      });
      const former = await p.store.workflows.named(caller, draft.name);
      const { tenantId, userId } = caller;
      const row: WorkflowRow = {
        id: former?.id ?? p.ids.handle("wfl", p.now()),
        version: (former?.version ?? 0) + 1,
        tenantId,
        userId,
        name: draft.name,
        description: draft.description,
        startedBy: draft.trigger,
        steps: checked.steps,
        inputSchema: draft.inputSchema ?? null,
        risk: checked.risk,
        createdAt: p.now(),
        author: mandateOf(caller),
      };
      try {
        await p.store.workflows.create(row);
      } catch (cause) {
        if (!(cause instanceof AlreadyExists)) throw cause;
        throw new AppError(
          "CONFLICT",
          "stale",
          `somebody else changed the workflow ${JSON.stringify(draft.name)} in the same moment`,
          { remedy: "look at it with workflow/list, then try again" },
        );
      }
      return { id: row.id, version: row.version, risk: row.risk, warnings: checked.warnings };
    },

    async execute(call, signal, { workflowId, input, version, rerun }, waitMs) {
      if (signal.aborted)
        throw new AppError("CANCELLED", "user", "the call was cancelled before the run began");
      const former = rerun && (await runBefore(call.caller, rerun, p.store));
      const workflow = former
        ? await find(call.caller, former.workflowId, former.version)
        : await find(call.caller, workflowId, version);
      requireInput(workflow, input, p.validate);
      const caller = await runAs(call.caller, workflow, p.callerAgain);
      const taken = former && rerun ? { taken: stepsTaken(workflow, former, rerun) } : {};
      return startRun(call, { workflow, input, caller, ...taken }, { signal, waitMs }, p);
    },

    async dryRun(caller, { workflowId, input, version }) {
      const workflow = await find(caller, workflowId, version);
      requireInput(workflow, input, p.validate);
      const as = await runAs(caller, workflow, p.callerAgain);
      return dryRun(workflow, input, (request) => p.engine().explain(as, request));
    },

    async schedule(caller, { workflowId, cron, timezone, enabled, input, catchUp, overlap }) {
      const workflow = await find(caller, workflowId);
      requireInput(workflow, input, p.validate);
      const next = nextTimes(cron, timezone, p.now(), SHOWN_TIMES);
      const { tenantId, userId, keyId } = caller;
      const saved = await p.store.schedules.save({
        id: p.ids.handle("sch", p.now()),
        tenantId,
        userId,
        keyId,
        workflowId: workflow.id,
        cron: cron.trim(),
        timezone,
        enabled,
        input,
        nextAt: next[0] ?? 0,
        lastAt: null,
        lastExecutionId: null,
        lastError: null,
        createdAt: p.now(),
        mandate: mandateOf(caller),
        version: workflow.version,
        pin: pinOf(workflow),
        catchUp,
        overlap,
      });
      await p.work.add(scheduleItem(saved.id));
      return { id: saved.id, next };
    },

    async status(caller, which) {
      const run =
        "runId" in which
          ? await p.store.runs.get(caller, which.runId)
          : await p.store.runs.ofExecution(caller, which.executionId);
      if (run) return run;
      throw notFound(
        "runId" in which
          ? `run ${JSON.stringify(which.runId)}`
          : `run of the execution ${JSON.stringify(which.executionId)}`,
      );
    },

    list: (caller, search, page) => p.store.workflows.list(caller, search, page),

    recover: () => recoverRuns(p),
  };
}

/** Equal texts: the same definition by the same author. */
export function pinOf({ id, version, steps, inputSchema, author }: WorkflowRow): string {
  const text = canonicalJson(
    JSON.parse(JSON.stringify({ id, version, steps, inputSchema, author })) as JsonObject,
  );
  return createHash("sha256").update(text).digest("hex");
}
