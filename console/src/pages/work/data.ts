// What this page reads, and the workflow tools it calls: through the gate, like any call.
import { api, type Inputs, type Outputs } from "../../api/client.ts";
import { useData, usePages } from "../../api/query.ts";
import { notify } from "../../ui/toast.tsx";

export type Workflow = Outputs["work"]["listWorkflows"]["items"][number];
export type Run = Outputs["work"]["listRuns"]["items"][number];
export type WholeRun = Outputs["work"]["getRun"];
export type RunStep = Run["steps"][number];
export type Schedule = Outputs["work"]["listSchedules"]["items"][number];
export type RunEvent = Outputs["work"]["listRunEvents"]["items"][number];
export type ScheduleTime = Outputs["work"]["listScheduleTimes"]["items"][number];
export type Question = Outputs["questions"]["listQuestions"]["items"][number];
type Execution = Outputs["tools"]["executeTool"];

/** Whose: one's own, or for administrators everybody's. */
export type Of = "everyone" | undefined;
const whose = (of: Of) => (of === "everyone" ? { userId: "*" } : {});
/** Steps that begin without a call, e.g. waits, are not among the live events. */
const RUNS_REFRESH_MS = 4_000;
const EVENTS_AT_ONCE = 100;

export const useWorkflows = (of: Of) =>
  useData(["work", "workflows", of], (signal) =>
    api.work.listWorkflows.query({ ...whose(of), limit: 100 }, { signal }),
  );

export const useRuns = (workflowId: string, of: Of) =>
  useData(
    ["runs", "list", workflowId, of],
    (signal) => api.work.listRuns.query({ workflowId, ...whose(of), limit: 50 }, { signal }),
    { refetchMs: RUNS_REFRESH_MS },
  );

export const useRun = (runId: string) =>
  useData(["runs", "one", runId], (signal) => api.work.getRun.query({ runId }, { signal }), {
    refetchMs: RUNS_REFRESH_MS,
  });

/** What happened in a run, oldest first. */
export const useRunEvents = (runId: string) =>
  usePages(["runs", "events", runId], async ({ after = "0" }, signal) => {
    const { items } = await api.work.listRunEvents.query(
      { runId, after: Number(after), limit: EVENTS_AT_ONCE },
      { signal },
    );
    const last = items.length < EVENTS_AT_ONCE ? undefined : items.at(-1);
    return { items, next: last === undefined ? null : String(last.seq) };
  });

export const useSchedules = (of: Of, workflowId?: string) =>
  useData(["work", "schedules", of, workflowId], (signal) =>
    api.work.listSchedules.query(
      { ...whose(of), ...(workflowId === undefined ? {} : { workflowId }), limit: 100 },
      { signal },
    ),
  );

export const useScheduleTimes = (scheduleId: string) =>
  useData(["work", "times", scheduleId], (signal) =>
    api.work.listScheduleTimes.query({ scheduleId, limit: 50 }, { signal }),
  );

export const useQuestions = () =>
  useData(
    ["questions", "list"],
    (signal) => api.questions.listQuestions.query({ limit: 100 }, { signal }),
    { refetchMs: 15_000 },
  );

/** A step of a run asks in the run's name, an agent in that of its execution. */
export const isOfRun = ({ executionId }: Question): boolean => executionId.startsWith("run_");
export const askerOf = (question: Question): string =>
  `${isOfRun(question) ? "/work/runs" : "/executions"}/${question.executionId}`;

type Arguments = NonNullable<Inputs["tools"]["executeTool"]["arguments"]>;

/** Calls one of the workflow tools as the person who is signed in. */
export const callTool = (name: `workflow/${string}`, args: Arguments, wait = true) =>
  api.tools.executeTool.mutate({ name, arguments: args, wait });

/** Says what became of a call that changes something. */
export function tellCall(
  what: string,
  { status, executionId }: Pick<Execution, "status" | "executionId">,
): void {
  if (status === "pending")
    notify(`${what}: it waits for approval`, { detail: `Execution ${executionId}` });
  else notify(what);
}

export const isOpen = ({ status }: Pick<Run, "status">): boolean =>
  status === "running" || status === "pending" || status === "paused";

/** What a person can ask of a run that has not ended. */
export const askOfRun = {
  cancel: (runId: string) => api.work.cancelRun.mutate({ runId }),
  pause: (runId: string) => api.work.pauseRun.mutate({ runId }),
  resume: (runId: string) => api.work.resumeRun.mutate({ runId }),
} as const;
