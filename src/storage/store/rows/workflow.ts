// Workflows, their runs with history, and schedules. Queries name tenant and user; rows of others are not returned.
import type { CallParent, Json, JsonObject, Mandate } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { TaintSource } from "../../../contract/taint.ts";
import type { Risk } from "../../../contract/tool.ts";

export interface Owner {
  readonly tenantId: string;
  readonly userId: string;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

export const TRIGGERS = ["manual", "scheduled", "webhook", "event"] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** What a step waits for instead of calling a tool. */
export type StepWait =
  | { readonly kind: "time"; readonly seconds?: number; readonly until?: string }
  | {
      readonly kind: "person";
      readonly question: string;
      readonly options?: readonly string[];
      readonly expiresSeconds: number;
    }
  | { readonly kind: "event"; readonly name: string; readonly timeoutSeconds: number };

interface StepBase {
  readonly id: string;
  readonly input: JsonObject;
  readonly if?: string;
  readonly continueOnError: boolean;
  readonly timeoutSeconds?: number;
  /** Steps that must have ended before; absent: the one written before it. */
  readonly needs?: readonly string[];
  /** The total number of attempts, and the pause in between. */
  readonly retry?: { readonly attempts: number; readonly delaySeconds: number };
  /** Once for each item of the list behind the reference. */
  readonly forEach?: {
    readonly items: string;
    readonly maxItems: number;
    readonly concurrency: number;
  };
}

/** Exactly one of: a tool, another workflow by its name, a wait. */
export type WorkflowStep = StepBase &
  (
    | { readonly tool: string; readonly workflow?: never; readonly wait?: never }
    | { readonly workflow: string; readonly tool?: never; readonly wait?: never }
    | { readonly wait: StepWait; readonly tool?: never; readonly workflow?: never }
  );

export interface WorkflowRow {
  readonly id: string;
  readonly version: number;
  readonly tenantId: string;
  readonly userId: string;
  readonly name: string;
  readonly description: string;
  readonly startedBy: Trigger;
  readonly steps: readonly WorkflowStep[];
  readonly inputSchema: JsonObject | null;
  readonly risk: Risk;
  readonly createdAt: number;
  /** The author with the rights of that time; null in rows of earlier releases, which do not run. */
  readonly author: Mandate | null;
}

export const RUN_STATUSES = [
  "running",
  "pending",
  "paused",
  "success",
  "failed",
  "cancelled",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export interface StepState {
  readonly id: string;
  readonly executionId: string | null;
  readonly status: RunStatus | "skipped" | "waiting";
  readonly ms: number;
  readonly error?: Fault;
  readonly pendingApproval?: { readonly id: string; readonly expiresAt: string };
  /** Content from outside that the step brought in. */
  readonly sources?: readonly TaintSource[];
  /** From 1; absent in rows of earlier releases. */
  readonly attempt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Of a loop, by item. */
  readonly executionIds?: readonly (string | null)[];
  /** When a wait or the pause before another attempt is over. */
  readonly wakeAt?: number;
  /** Of waits and sub-workflows; that of a tool is in its execution's record. */
  readonly output?: Json;
  readonly childRunId?: string;
  readonly questionId?: string;
  /** The event it waits for, while it waits. */
  readonly eventName?: string;
}

/** What a person asked a run to do. */
export type RunWish = "pause" | "cancel";

export interface RunRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly executionId: string;
  /** The instance that drives it, or did so last. */
  readonly instanceId: string;
  readonly status: RunStatus;
  readonly input: JsonObject;
  readonly steps: readonly StepState[];
  readonly output: Json;
  readonly error: Fault | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** Grows with each claim: an instance with an older fence can no longer write. */
  readonly fence: number;
  /** The rights of the run; null in rows of earlier releases, which cannot continue. */
  readonly mandate: Mandate | null;
  /** The call it came from, for the calls of its steps. */
  readonly parent: CallParent | null;
  readonly parentRunId: string | null;
  readonly wanted: RunWish | null;
  readonly wantedBy: string | null;
  /** Unique where it is set: the due time of a schedule, so that this never starts two. */
  readonly startKey: string | null;
}

/** What a run's driver writes. */
export type RunChange = Pick<RunRow, "status" | "steps" | "output" | "error" | "endedAt">;

/** One entry of a run's history. */
export interface RunEvent {
  readonly seq: number;
  readonly at: number;
  /** E.g. `step.started`. */
  readonly kind: string;
  readonly body: JsonObject;
}
export type NewRunEvent = Omit<RunEvent, "seq">;

/** How due times are handled that were missed while no instance ran. */
export const CATCH_UPS = ["skip", "once", "all"] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

/** How a due time is handled while the run of an earlier one is under way. */
export const OVERLAPS = ["skip", "queue", "allow"] as const;
export type Overlap = (typeof OVERLAPS)[number];

export interface ScheduleRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  /** The key that created the schedule: its runs have the same rights, and none once the key is revoked. */
  readonly keyId: string | null;
  readonly workflowId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly input: JsonObject;
  readonly nextAt: number;
  readonly lastAt: number | null;
  readonly lastExecutionId: string | null;
  readonly lastError: string | null;
  readonly createdAt: number;
  /** The rights of the caller that scheduled it; null in rows of earlier releases, which do not run. */
  readonly mandate: Mandate | null;
  /** What was scheduled: this version, with this pin. */
  readonly version: number | null;
  readonly pin: string | null;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
}

/** `due`: not started yet. `begun`: its call has the stored execution id. The others are final. */
export type DueState = "due" | "begun" | "started" | "skipped" | "failed";

/** One time at which a schedule was due: it exists once, also when the instance that handles it dies. */
export interface DueTime {
  readonly scheduleId: string;
  readonly dueAt: number;
  readonly state: DueState;
  /** Chosen before the call. */
  readonly executionId: string | null;
  /** Why it was left out or failed. */
  readonly note: string | null;
  readonly endedAt: number | null;
}

/** All users of the tenant, or one of them. */
export interface WorkFilter {
  readonly tenantId: string;
  readonly userId?: string;
}

/** What administrators and owners read; nothing is changed. */
export interface WorkReads {
  /** Newest versions, newest first. */
  workflows(filter: WorkFilter, page: Page): Promise<WorkflowRow[]>;
  /** Newest first; of one workflow, in one status, after one of the page before. */
  runs(
    filter: WorkFilter & {
      readonly workflowId?: string;
      readonly status?: RunStatus;
      readonly before?: Pick<RunRow, "startedAt" | "id">;
    },
    page: Page,
  ): Promise<RunRow[]>;
  run(filter: WorkFilter, id: string): Promise<RunRow | null>;
  /** By when they are due next. */
  schedules(
    filter: WorkFilter & { readonly workflowId?: string },
    page: Page,
  ): Promise<ScheduleRow[]>;
  schedule(filter: WorkFilter, id: string): Promise<ScheduleRow | null>;
  /** Newest first. */
  dueTimes(scheduleId: string, page: Page): Promise<DueTime[]>;
}

export interface WorkflowStore {
  readonly work: WorkReads;

  readonly workflows: {
    /** Throws AlreadyExists("workflow") where the version is taken. */
    create(row: WorkflowRow): Promise<void>;
    /** The version, or (null) the newest. */
    get(owner: Owner, id: string, version: number | null): Promise<WorkflowRow | null>;
    named(owner: Owner, name: string): Promise<WorkflowRow | null>;
    /** Newest versions, newest first, each with its last run; `search` is part of name or description. */
    list(
      owner: Owner,
      search: string,
      page: Page,
    ): Promise<{
      rows: (WorkflowRow & {
        scheduled: boolean;
        lastRun: Pick<RunRow, "id" | "status" | "startedAt"> | null;
      })[];
      total: number;
    }>;
  };

  readonly runs: {
    /** Throws AlreadyExists("run") where the id or the start key is taken. */
    create(row: RunRow): Promise<void>;
    get(owner: Owner, id: string): Promise<RunRow | null>;
    ofExecution(owner: Owner, executionId: string): Promise<RunRow | null>;
    withStartKey(startKey: string): Promise<RunRow | null>;
    /**
     * With the entries of its history, in one step. False, and nothing is written, when it has ended already (an end is
     * final) or another instance claimed it since.
     */
    update(
      id: string,
      fence: number,
      change: RunChange,
      events?: readonly NewRunEvent[],
    ): Promise<boolean>;
    /** Takes it over: its fence grows. Null when there is none, or it has ended. */
    claim(id: string, instanceId: string): Promise<RunRow | null>;
    /** Stores a person's request, or (null) removes it; false when the run has ended. A request to cancel stays. */
    ask(id: string, wanted: RunWish | null, by: string): Promise<boolean>;
    /** Open runs of the owner with a step that waits for the event. */
    waitingFor(owner: Owner, eventName: string): Promise<string[]>;
    /** Runs an instance has not ended, or (null) of any that began before `startedBefore`. */
    open(filter: { instanceId: string } | { startedBefore: number }): Promise<RunRow[]>;
    /** How many of the owner's are open. */
    openOf(owner: Owner): Promise<number>;
  };

  /** The history of runs: entries are added, never changed. */
  readonly runEvents: {
    add(runId: string, events: readonly NewRunEvent[]): Promise<void>;
    /** Oldest first, after a number. */
    page(runId: string, after: number, limit: number): Promise<RunEvent[]>;
  };

  readonly schedules: {
    /** One per owner, workflow, cron and timezone: an existing one is changed and keeps its id. */
    save(row: ScheduleRow): Promise<ScheduleRow>;
    get(owner: Owner, id: string): Promise<ScheduleRow | null>;
    /** Of any owner: for the scheduler only. */
    find(id: string): Promise<ScheduleRow | null>;
    /** Ids of those that are switched on. */
    enabled(): Promise<string[]>;
    /**
     * Writes due times that are not there yet and moves the schedule on from `from`, in one step. False when it was
     * moved, changed or switched off since: nothing is written.
     */
    advance(
      id: string,
      from: number,
      nextAt: number,
      due: readonly Pick<DueTime, "dueAt" | "state" | "note">[],
      now: number,
    ): Promise<boolean>;
    change(
      id: string,
      change: Partial<
        Pick<
          ScheduleRow,
          "enabled" | "nextAt" | "catchUp" | "overlap" | "lastAt" | "lastExecutionId" | "lastError"
        >
      >,
    ): Promise<ScheduleRow | null>;
    /** With its due times; runs that it started stay. */
    remove(id: string): Promise<boolean>;
  };

  readonly dueTimes: {
    get(scheduleId: string, dueAt: number): Promise<DueTime | null>;
    /** Those without an end, oldest first. */
    open(scheduleId: string): Promise<DueTime[]>;
    /** Only from the state it had: of all instances that try, one succeeds. */
    move(
      at: Pick<DueTime, "scheduleId" | "dueAt">,
      from: Pick<DueTime, "state" | "executionId">,
      to: Pick<DueTime, "state" | "executionId" | "note" | "endedAt">,
    ): Promise<boolean>;
    /** The newest that was started before this one. */
    startedBefore(scheduleId: string, dueAt: number): Promise<DueTime | null>;
    /** Removes those that ended earlier; returns how many. */
    sweep(endedBefore: number, limit: number): Promise<number>;
  };
}
