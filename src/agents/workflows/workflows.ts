// Workflows of a caller: kept in versions, run in this process, by hand or by the clock.
import { createHash } from "node:crypto";
import {
  limitWithin,
  mandateOf,
  narrowed,
  type Call,
  type Caller,
  type CallParent,
  type JsonObject,
  type Mandate,
} from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
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
import { drive, type RunPowers } from "./run.ts";
import { NothingThere, referencesIn, render } from "./template.ts";

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
  /** Ends when whoever it runs for stands no more; the answer stops watching. */
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Told of each run that has ended, once that is written. */
  readonly onEnded: () => void;
  /** Null when the value fits the schema. */
  readonly validate: (
    schema: JsonObject,
    value: JsonObject,
  ) => readonly { path: string; message: string }[] | null;
  readonly instanceId: string;
  readonly ids: Ids;
  readonly now: () => number;
  /** The one place for work nobody waits for. */
  readonly background: (work: Promise<unknown>) => void;
}

/** A run as its owner is told. */
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

export interface DryStep {
  readonly id: string;
  readonly tool: string;
  readonly verdict: Explained["verdict"] | "depends";
  readonly summary: string;
}

const MAX_OPEN_PER_CALLER = 20;
const SHOWN_TIMES = 3;

export function createWorkflows(p: WorkflowsPowers): Workflows {
  const open = new Map<
    string,
    { owner: string; controller: AbortController; ended: Promise<RunRow> }
  >();
  const runPowers: RunPowers = {
    runs: p.store.runs,
    engine: p.engine,
    now: p.now,
    callerAgain: (caller) => p.callerAgain(mandateOf(caller)),
  };

  /** Whoever runs it, with no more than its author had and has: a definition must not borrow somebody else's rights. */
  async function runAs(caller: Caller, workflow: WorkflowRow): Promise<Caller> {
    const author = workflow.author && (await p.callerAgain(workflow.author));
    if (author) return narrowed(caller, mandateOf(author));
    const why = workflow.author
      ? "the user or key that defined it is not active any more"
      : "it does not say who defined it (it is of an earlier release)";
    throw new AppError(
      "FORBIDDEN",
      "definition_orphaned",
      `version ${workflow.version} of the workflow ${JSON.stringify(workflow.name)} does not run: ${why}`,
      { remedy: "read it, then define it again: workflow/create with the same name" },
    );
  }

  async function find(
    caller: Caller,
    idOrName: string,
    version: number | null = null,
  ): Promise<WorkflowRow> {
    const byId = await p.store.workflows.get(caller, idOrName, version);
    if (byId) return byId;
    const named = await p.store.workflows.named(caller, idOrName);
    const found =
      named && (version === null ? named : await p.store.workflows.get(caller, named.id, version));
    if (found) return found;
    throw notFound(
      `workflow ${JSON.stringify(idOrName)}${version === null ? "" : ` with version ${version}`}`,
    );
  }

  function requireInput({ inputSchema }: WorkflowRow, input: JsonObject): void {
    const faults = inputSchema === null ? null : p.validate(inputSchema, input);
    if (faults === null) return;
    const errors = faults.map(({ path, message }) => ({ path: `/input${path}`, message }));
    throw new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      `the input does not fit the workflow: ${errors.map((one) => `${one.path} ${one.message}`).join("; ")}`,
      { errors, remedy: "send an input that fits the workflow's inputSchema" },
    );
  }

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
      const workflow = await find(call.caller, workflowId, version ?? null);
      requireInput(workflow, input);
      const caller = await runAs(call.caller, workflow);
      const owner = JSON.stringify([caller.tenantId, caller.userId]);
      if ([...open.values()].filter((one) => one.owner === owner).length >= MAX_OPEN_PER_CALLER)
        throw tooMany();
      const row: RunRow = {
        id: p.ids.handle("run", p.now()),
        tenantId: caller.tenantId,
        userId: caller.userId,
        workflowId: workflow.id,
        version: workflow.version,
        executionId: call.id,
        instanceId: p.instanceId,
        status: "running",
        input,
        steps: workflow.steps.map(({ id }) => ({
          id,
          executionId: null,
          status: "waiting",
          ms: 0,
        })),
        output: null,
        error: null,
        startedAt: p.now(),
        endedAt: null,
      };
      await p.store.runs.create(row);
      let latest = row;
      /** It waits for a person, or nobody waits for it any more. */
      const held = Promise.withResolvers<void>();
      const controller = new AbortController();
      const changed = (run: RunRow): void => {
        latest = run;
        if (run.status === "pending") held.resolve();
      };
      const parent: CallParent = {
        id: call.id,
        entry: call.entry,
        sessionId: call.sessionId,
        ip: call.ip,
        trace: call.trace,
        metadata: call.metadata,
      };
      const unwatch = p.watch(caller, (now) =>
        now === null ? controller.abort("revoked") : undefined,
      );
      const ended = drive(
        row,
        {
          workflow,
          parent,
          caller,
          signal: controller.signal,
          outerLimit: limitWithin(call),
          changed,
        },
        runPowers,
      ).finally(() => {
        unwatch();
        open.delete(row.id);
        p.onEnded();
      });
      open.set(row.id, { owner, controller, ended });
      p.background(ended);
      // Whoever cancels the call while it waits cancels the run; once it was answered, the run stands alone.
      const onAbort = (): void => {
        controller.abort(signal.reason);
        held.resolve();
      };
      signal.addEventListener("abort", onAbort, { once: true });
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
      try {
        await Promise.race([ended, held.promise, late]);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      }
      return latest;
    },

    async dryRun(caller, { workflowId, input, version }) {
      const workflow = await find(caller, workflowId, version ?? null);
      requireInput(workflow, input);
      const as = await runAs(caller, workflow);
      const steps: DryStep[] = [];
      for (const step of workflow.steps) {
        const open = referencesIn(step.input).some(
          (one) => typeof one !== "string" && one.from === "step",
        );
        const args = open ? step.input : rendered(step.input, input);
        const explained = await p.engine().explain(as, { name: step.tool, arguments: args });
        steps.push({ id: step.id, tool: step.tool, ...verdictOf(explained, open) });
      }
      return steps;
    },

    async schedule(caller, { workflowId, cron, timezone, enabled, input }) {
      const workflow = await find(caller, workflowId);
      requireInput(workflow, input);
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

    async recover() {
      const left = await p.store.runs.open({ instanceId: p.instanceId });
      for (const run of left.filter(({ id }) => !open.has(id))) {
        const steps = run.steps.map((step) =>
          step.status === "running" || step.status === "pending"
            ? { ...step, status: "failed" as const, error: CRASHED }
            : step.status === "waiting"
              ? { ...step, status: "skipped" as const }
              : step,
        );
        await p.store.runs.update(run.id, {
          ...run,
          status: "failed",
          steps,
          error: CRASHED,
          endedAt: p.now(),
        });
      }
      return left.length;
    },

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

const CRASHED: Fault = {
  code: "OUTCOME_UNKNOWN",
  reason: "crashed",
  message: "the server stopped while it ran; it is not known how far it came",
  remedy: "look at the executions of its steps before you run it again",
};

function rendered(value: JsonObject, input: JsonObject): JsonObject {
  try {
    return render(value, { input, outputs: new Map() }) as JsonObject;
  } catch (cause) {
    if (cause instanceof NothingThere) return value;
    throw cause;
  }
}

/** Arguments that an earlier step will fill cannot be judged yet. */
function verdictOf(
  explained: Explained | null,
  open: boolean,
): Pick<DryStep, "verdict" | "summary"> {
  if (explained === null)
    return { verdict: "deny", summary: "there is no such tool for you any more" };
  const refusing = explained.gates.filter(({ verdict }) => verdict !== "allow");
  const unsure =
    open &&
    refusing.length > 0 &&
    refusing.every(({ stage }) => stage === "input" || stage === "arguments");
  return unsure
    ? {
        verdict: "depends",
        summary: "its arguments come from an earlier step and are judged when it runs",
      }
    : { verdict: explained.verdict, summary: explained.summary };
}

function notFound(what: string): AppError {
  return new AppError("NOT_FOUND", "workflow_not_found", `${what} not found`, {
    remedy: "list your workflows with workflow/list",
  });
}

function tooMany(): AppError {
  return new AppError(
    "TOO_MANY_REQUESTS",
    "concurrency",
    `${MAX_OPEN_PER_CALLER} of your workflow runs are under way`,
    { remedy: "wait for one of them to end", retryAfterSeconds: 5 },
  );
}
