// Workflows of a caller: stored in versions, run in this process, by hand or by the clock.
import { createHash } from "node:crypto";
import {
  mandateOf,
  type Call,
  type Caller,
  type JsonObject,
  type Mandate,
} from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import {
  AlreadyExists,
  type RunRow,
  type Store,
  type WorkflowRow,
} from "../../storage/store/store.ts";
import type { Explained } from "../../contract/powers.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Ids } from "../../util/ids.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { nextTimes } from "./cron.ts";
import { checkDefinition, type Checked, type Draft } from "./definition.ts";
import { dryRun, type DryStep } from "./dry-run.ts";
import { findWorkflow, notFound, requireInput, runAs } from "./lookup.ts";
import type { RunPowers } from "./run.ts";
import { recoverRuns, startRun, type OpenRuns } from "./start-run.ts";

export interface WorkflowEngine extends ReturnType<RunPowers["engine"]> {
  explain(
    caller: Caller,
    request: { name: string; arguments?: JsonObject },
  ): Promise<Explained | null>;
  discover(caller: Caller): Promise<readonly Tool[]>;
}

export interface WorkflowsPowers {
  readonly store: Pick<Store, "workflows" | "runs" | "schedules">;
  readonly engine: () => WorkflowEngine;
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  /** Reports (null) that the rights of the caller have ended; the returned function stops watching. */
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Called for each run that has ended, once that is written. */
  readonly onEnded: () => void;
  /** Null when the value fits the schema. */
  readonly validate: (
    schema: JsonObject,
    value: JsonObject,
  ) => readonly { path: string; message: string }[] | null;
  /** Content from outside that an outcome brings along. */
  readonly brings: RunPowers["brings"];
  readonly instanceId: string;
  readonly ids: Ids;
  readonly now: () => number;
  /** The one place for work nobody waits for. */
  readonly background: (work: Promise<unknown>) => void;
}

export interface Workflows {
  create(
    caller: Caller,
    draft: Draft,
  ): Promise<Pick<WorkflowRow, "id" | "version" | "risk"> & Pick<Checked, "warnings">>;
  /** Answers when it has ended, waits for a person, or `waitMs` are over; then it goes on by itself. */
  execute(
    call: Call,
    signal: AbortSignal,
    request: { workflowId: string; input: JsonObject; version?: number },
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
    },
  ): Promise<{ id: string; next: number[] }>;
  status(caller: Caller, which: { executionId: string } | { runId: string }): Promise<RunRow>;
  list(
    caller: Caller,
    search: string,
    page: { limit: number; offset: number },
  ): ReturnType<Store["workflows"]["list"]>;
  /** Runs a crash left open: nobody knows how far they came. */
  recover(): Promise<number>;
  /** Cancels what runs and waits until that is recorded. */
  close(): Promise<void>;
}

const SHOWN_TIMES = 3;

export function createWorkflows(p: WorkflowsPowers): Workflows {
  const open: OpenRuns = new Map();
  const find = (caller: Caller, idOrName: string, version?: number): Promise<WorkflowRow> =>
    findWorkflow(p.store.workflows, caller, idOrName, version ?? null);

  return {
    async create(caller, draft) {
      const checked = await checkDefinition(draft, await p.engine().discover(caller));
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

    async execute(call, signal, { workflowId, input, version }, waitMs) {
      if (signal.aborted)
        throw new AppError("CANCELLED", "user", "the call was cancelled before the run began");
      const workflow = await find(call.caller, workflowId, version);
      requireInput(workflow, input, p.validate);
      const caller = await runAs(call.caller, workflow, p.callerAgain);
      return startRun(call, { workflow, input, caller }, { signal, waitMs }, open, p);
    },

    async dryRun(caller, { workflowId, input, version }) {
      const workflow = await find(caller, workflowId, version);
      requireInput(workflow, input, p.validate);
      return dryRun(workflow, input, await runAs(caller, workflow, p.callerAgain), p.engine());
    },

    async schedule(caller, { workflowId, cron, timezone, enabled, input }) {
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
      });
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

    recover: () => recoverRuns(open, p),

    async close() {
      for (const { controller } of open.values()) controller.abort("shutdown");
      await Promise.allSettled([...open.values()].map(({ ended }) => ended));
    },
  };
}

/** Equal texts: the same definition by the same author. */
export function pinOf({ id, version, steps, inputSchema, author }: WorkflowRow): string {
  const text = canonicalJson(
    JSON.parse(JSON.stringify({ id, version, steps, inputSchema, author })) as JsonObject,
  );
  return createHash("sha256").update(text).digest("hex");
}
