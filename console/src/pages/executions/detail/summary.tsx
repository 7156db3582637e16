import { visibleText } from "../../../ui/code.tsx";
import { duration, useNow } from "../../../ui/time.tsx";
import { decisiveStage, type Execution } from "../row.ts";

/** What happened, in one sentence. */
export function Summary({ execution }: { readonly execution: Execution }) {
  const now = useNow(1_000);
  return <>{visibleText(sentenceOf(execution, now))}</>;
}

function sentenceOf(execution: Execution, now: number): string {
  const { userId, status, executionTime, error, errorCode, cancelReason, attempt } = execution;
  const took = duration(executionTime ?? Math.max(0, now - Date.parse(execution.startTime)));
  const who = `${userId} called ${execution.toolName}`;
  const why = error === undefined ? "" : `: ${error}`;
  if (status === "success")
    return `${who}. It succeeded after ${took}${(attempt ?? 1) > 1 ? ` and ${attempt} attempts` : ""}.`;
  if (status === "running") return `${who}. It has been running for ${took}.`;
  if (status === "pending") return `${who}. It waits for a person to agree.`;
  if (status === "cancelled")
    return cancelReason === "timeout"
      ? `${who}. It was stopped after ${took}, as its time was up.`
      : `${who}. It was cancelled after ${took}${cancelReason === "shutdown" ? ", as the server was shut down" : ""}.`;
  const stage = decisiveStage(execution);
  if (stage !== undefined) return `${who}. Stage ${stage} refused it${why}`;
  if (errorCode === "OUTCOME_UNKNOWN") return `${who}. It is not known whether it finished${why}`;
  return `${who}. It failed after ${took}${why}`;
}
