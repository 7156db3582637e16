// The rights with which the next step of a run is called: those of that moment, never more than when the run began.
import type { Caller } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { RunRow, WorkflowRow } from "../../../storage/store/store.ts";
import { runAs } from "../lookup.ts";
import { gone, RightsEnded } from "./faults.ts";
import type { DriverPowers } from "./context.ts";

export function callerOfRun(
  run: RunRow,
  workflow: WorkflowRow,
  { callerAgain }: Pick<DriverPowers, "callerAgain">,
): () => Promise<Caller> {
  return async () => {
    const owner = run.mandate && (await callerAgain(run.mandate));
    if (!owner) throw new RightsEnded(gone(run));
    try {
      // The author of the definition may have lost rights since, too.
      return await runAs(owner, workflow, callerAgain);
    } catch (cause) {
      if (cause instanceof AppError && cause.fault.reason === "definition_orphaned")
        throw new RightsEnded(cause.fault);
      throw cause;
    }
  };
}
