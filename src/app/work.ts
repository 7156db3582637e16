// Opens the services that work beyond a single call: workflow runs, their scheduler, plans, agents, questions.
import { createAgents, type AgentModel } from "../agents/agents.ts";
import { coordinate } from "../agents/coordinate.ts";
import { createDrafts, type Drafts } from "../agents/drafts/drafts.ts";
import { createTestBox, type TestBox, type TestBoxPowers } from "../agents/drafts/test-box.ts";
import { createQuestions, type Questions } from "../agents/questions.ts";
import {
  depthOf,
  type Call,
  type Caller,
  type JsonObject,
  type Mandate,
  type Outcome,
} from "../contract/call.ts";
import type { TaintSource } from "../contract/taint.ts";
import { agentsPower } from "../agents/power.ts";
import { workflowsPower } from "../agents/workflows/power.ts";
import type { ModelUse } from "../governance/limits/model-use.ts";
import type { EngineSettings } from "../core/run/powers/engine.ts";
import type { PowerSources } from "../core/run/powers/index.ts";
import type { Action, Store } from "../storage/store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Ids } from "../util/ids.ts";
import { createPlans } from "../agents/workflows/plans.ts";
import {
  createScheduleControl,
  type ScheduleControl,
} from "../agents/workflows/schedules/control.ts";
import { createScheduler } from "../agents/workflows/schedules/scheduler.ts";
import { createRunControl, type RunControl } from "../agents/workflows/control.ts";
import { recoverRuns } from "../agents/workflows/recover.ts";
import { createDriver } from "../agents/workflows/run/driver.ts";
import { RUN_ITEM, runItem } from "../agents/workflows/run/item.ts";
import { createNotices } from "../agents/workflows/run/notices.ts";
import { createWorkflows } from "../agents/workflows/workflows.ts";
import { createEmbeddedWork } from "../work/embedded.ts";
import type { Work as WorkPort } from "../work/work.ts";

/** Parts that only the composition root can provide. */
export interface WorkParts {
  readonly instanceId: string;
  /** The caller of stored work, with the rights they had then and still have; null when user or key is gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  /** Reports when the rights of a caller have changed, and (null) that they have ended. */
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Called when a run or an agent has ended: approvals that wait on its behalf are closed. */
  readonly onEnded: () => void;
  /** For a caller's own schema, which is not cached; null when the value fits. */
  readonly validate: (
    schema: JsonObject,
    value: unknown,
  ) => readonly { path: string; message: string }[] | null;
  /** Durable when it resolves. */
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  readonly use: ModelUse;
  /** The text without secrets. */
  readonly mask: (text: string) => string;
  /** Whether the text looks like a secret, or holds one that the server knows. */
  readonly holdsSecret: (text: string) => boolean;
  readonly isOutside: (path: string) => boolean;
  /** Instead of the configured one. */
  readonly model?: AgentModel;
}

export interface WorkPowers extends WorkParts {
  /** Content from outside that an outcome brings along. */
  readonly brings: (outcome: Outcome) => readonly TaintSource[];
  readonly store: Store;
  readonly engine: () => EngineSettings;
  readonly registry: Pick<Registry, "get" | "all" | "register" | "put">;
  /** Programs in the sandbox: drafted tools are tested there. */
  readonly process: TestBoxPowers["process"];
  /** The model that answers in a tenant, if there is one at the moment. */
  readonly configured: (tenantId: string) => Promise<AgentModel | null>;
  readonly ids: Ids;
  readonly now: () => number;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export interface Work {
  readonly sources: Pick<PowerSources, "workflows" | "agents">;
  readonly questions: Questions;
  readonly drafts: Drafts;
  readonly box: TestBox;
  readonly runs: RunControl;
  /** Background work of other kinds. */
  readonly items: Pick<WorkPort, "add" | "wake" | "serve">;
  readonly schedules: ScheduleControl;
  /** Call it for each call that has ended: where it is a step that waited for a person, its run continues. */
  callEnded(call: Call, outcome: Outcome): void;
  /** Call it when a person has decided about the waiting call, or no longer can. */
  approvalDecided(executionId: string): void;
  /** For an instance that is gone: closes its agents, continues its runs. Returns how many agents. */
  recoverLost(gone: { readonly id: string; readonly begunUntil: number }): Promise<number>;
  /** From now on takes work; call it once what a crash left open is closed. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;
/** An expired entry keeps its version this long, for clients that still hold it. */
const KEPT_AFTER_EXPIRY_MS = 86_400_000;
const SWEPT_AT_ONCE = 1_000;

export async function openWork(p: WorkPowers): Promise<Work> {
  const { store, engine, ids, now, callerAgain, watch, onEnded, validate, instanceId } = p;
  const background = (work: Promise<unknown>): void => {
    work.catch((cause: unknown) => p.log.error({ err: cause }, "background work failed"));
  };
  const work = createEmbeddedWork({
    items: store.workItems,
    instanceId,
    now,
    report: (message, fields) => p.log.error(fields, message),
  });
  const notices = createNotices();
  const wakeRun = (runId: string): Promise<void> => {
    notices.nudge(runId);
    return work.wake(runItem(runId));
  };
  const shared = { store, engine, callerAgain, work, notices, instanceId, ids, now, background };
  const workflows = createWorkflows({ ...shared, validate, wake: wakeRun });
  const plans = createPlans({ plans: store.plans, ids, now });
  const agents = createAgents({
    agents: store.agents,
    engine,
    callerAgain,
    watch,
    onEnded,
    model: async (tenantId) => p.model ?? p.configured(tenantId),
    use: p.use,
    note: p.note,
    mask: p.mask,
    isOutside: p.isOutside,
    instanceId,
    ids,
    now,
    background,
  });
  const questions = createQuestions({
    questions: store.questions,
    executions: store.executions,
    runs: store.runs,
    wakeRun,
    shared: store.shared,
    ids,
    now,
    note: (action, who, { id, executionId, userId, state, expiresAt }) =>
      p.note(action, who, { questionId: id, executionId, requester: userId, state, expiresAt }),
  });
  const { mask } = p;
  const box = createTestBox({ process: p.process, mask, ids, now });
  const drafts = createDrafts({
    registry: p.registry,
    toolDrafts: store.toolDrafts,
    box,
    holdsSecret: p.holdsSecret,
    note: p.note,
    ids,
    now,
  });
  const advance = createDriver({
    ...shared,
    watch,
    onEnded,
    onStatus: ({ id, tenantId, userId, workflowId, executionId, status }) =>
      background(
        p.note(
          "workflow.run",
          { tenantId, userId },
          { runId: id, workflowId, executionId, requester: userId, status },
        ),
      ),
    tool: (name) => p.registry.get(name),
    ask: (question) => questions.askForRun(question),
    brings: p.brings,
  });
  const leftAgents = await agents.recover();
  if (leftAgents > 0) p.log.warn({ agents: leftAgents }, "closed agents that a crash left open");
  const scheduler = createScheduler({
    store,
    work,
    engine,
    callerAgain,
    ids,
    now,
    report: (message, fields) => p.log.error(fields, message),
  });
  const sweep = setInterval(
    () => background(store.memory.sweep(now() - KEPT_AFTER_EXPIRY_MS, SWEPT_AT_ONCE)),
    SWEEP_EVERY_MS,
  );
  sweep.unref();
  return {
    sources: {
      workflows: workflowsPower({ workflows, plans, now }),
      agents: agentsPower({
        agents,
        questions,
        drafts,
        now,
        coordinate: (call, signal, request) =>
          coordinate(call, signal, request, { agents, ids, now }),
      }),
    },
    questions,
    drafts,
    box,
    items: work,
    schedules: createScheduleControl({ store, work, note: p.note, now }),
    runs: createRunControl({ store, wake: wakeRun, now }),
    callEnded(call, { endedAt }) {
      const runId = call.grant !== null && endedAt !== null ? runOf(call) : null;
      if (runId !== null) background(wakeRun(runId));
    },
    approvalDecided(executionId) {
      background(
        store.executions.get(executionId).then((record) => {
          const runId = record && runOf(record as Pick<Call, "entry" | "metadata">);
          return runId === null ? undefined : wakeRun(runId);
        }),
      );
    },
    async recoverLost(gone) {
      await recoverRuns({ store, work, instanceId: gone.id, now });
      return agents.recover(gone);
    },
    async start() {
      const left = await workflows.recover();
      if (left > 0) p.log.warn({ runs: left }, "closed workflow runs that could not go on");
      work.serve(RUN_ITEM, advance);
      await scheduler.start();
    },
    async close() {
      clearInterval(sweep);
      scheduler.close();
      await work.close();
      await agents.close();
    },
  };
}

/** The run whose step the call is; what a client claims in its metadata does not count. */
function runOf(call: Pick<Call, "entry" | "metadata">): string | null {
  const runId = call.entry === "workflow" && depthOf(call) > 0 ? call.metadata?.["runId"] : null;
  return typeof runId === "string" ? runId : null;
}
