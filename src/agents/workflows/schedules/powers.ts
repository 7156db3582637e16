import type { Caller, CallRequest, Mandate, Outcome } from "../../../contract/call.ts";
import type { Store } from "../../../storage/store/store.ts";
import type { Ids } from "../../../util/ids.ts";
import type { Work } from "../../../work/work.ts";

/** What the scheduler needs. */
export interface SchedulerPowers {
  readonly store: Pick<Store, "schedules" | "dueTimes" | "workflows" | "runs"> & {
    readonly executions: Pick<Store["executions"], "get">;
  };
  readonly work: Pick<Work, "add" | "serve">;
  readonly engine: () => { execute(caller: Caller, request: CallRequest): Promise<Outcome> };
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  readonly ids: Ids;
  readonly now: () => number;
  readonly report: (message: string, fields: object) => void;
}
