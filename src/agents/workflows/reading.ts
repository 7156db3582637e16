// Workflows, their runs and schedules for people: users see their own, administrators those of the tenant. What may be
// a secret is masked, as in the record.
import type { Caller, Json } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { userOf } from "../../core/record/history.ts";
import type {
  Page,
  RunEvent,
  RunRow,
  ScheduleRow,
  Store,
  WorkflowRow,
} from "../../storage/store/store.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import { shownInput } from "./shown-input.ts";

/** For administrators, the owner: a user, or `*` for all; absent: the caller. */
export interface WorkQuery extends Page {
  readonly userId?: string;
}

export interface WorkReading {
  listWorkflows(caller: Caller, query: WorkQuery): Promise<WorkflowRow[]>;
  listRuns(caller: Caller, workflowId: string, query: WorkQuery): Promise<RunRow[]>;
  /** Own, and to administrators anybody's of the tenant; NOT_FOUND otherwise. */
  getRun(caller: Caller, id: string): Promise<RunRow>;
  /** The history of a run that the caller may see. */
  listRunEvents(
    caller: Caller,
    id: string,
    page: { readonly after: number; readonly limit: number },
  ): Promise<RunEvent[]>;
  listSchedules(
    caller: Caller,
    query: WorkQuery & { readonly workflowId?: string },
  ): Promise<ScheduleRow[]>;
}

export function createWorkReading(
  { work, runEvents }: Pick<Store, "work" | "runEvents">,
  masker: Pick<Masker, "valueInSlices">,
): WorkReading {
  const scope = ({ role, tenantId, userId }: Caller) =>
    role === "admin" ? { tenantId } : { tenantId, userId };
  const whose = (caller: Caller, userId: string | undefined) => ({
    tenantId: caller.tenantId,
    ...userOf(caller, userId),
  });
  const masked = <T extends Json>(value: T) => masker.valueInSlices(value);
  const maskedRun = async (run: RunRow): Promise<RunRow> => ({
    ...run,
    input: await masked(run.input),
    output: await masked(run.output),
    error: run.error && { ...run.error, message: String(await masked(run.error.message)) },
  });
  const getRun: WorkReading["getRun"] = async (caller, id) => {
    const run = await work.run(scope(caller), id);
    if (run) return maskedRun(run);
    throw new AppError("NOT_FOUND", "unknown", `Run '${id}' not found`, {
      remedy: "list the runs of a workflow: GET /api/v1/workflows/{workflowId}/runs",
    });
  };
  return {
    async listWorkflows(caller, { userId, ...page }) {
      const rows = await work.workflows(whose(caller, userId), page);
      return Promise.all(
        rows.map(async (row) => ({
          ...row,
          steps: await Promise.all(
            row.steps.map(async (step) => ({
              ...step,
              input: await shownInput(step.input, masked),
            })),
          ),
        })),
      );
    },
    async listRuns(caller, workflowId, { userId, ...page }) {
      const rows = await work.runs({ ...whose(caller, userId), workflowId }, page);
      return Promise.all(rows.map(maskedRun));
    },
    getRun,
    async listRunEvents(caller, id, { after, limit }) {
      await getRun(caller, id);
      const events = await runEvents.page(id, after, limit);
      return Promise.all(
        events.map(async (event) => ({ ...event, body: await masked(event.body) })),
      );
    },
    async listSchedules(caller, { userId, workflowId, ...page }) {
      const filter = { ...whose(caller, userId), ...(workflowId !== undefined && { workflowId }) };
      const rows = await work.schedules(filter, page);
      return Promise.all(rows.map(async (row) => ({ ...row, input: await masked(row.input) })));
    },
  };
}
