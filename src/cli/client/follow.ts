// Waits for an execution by asking for its record; an interrupt ends the waiting, never the execution.
import { setTimeout as sleep } from "node:timers/promises";
import type { Verdict } from "../../contract/call.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "./client.ts";
import { openProgress } from "../output/progress.ts";

/** What the commands read of an execution's record. */
export interface Execution {
  id: string;
  toolName: string;
  userId: string;
  status: string;
  startTime: string;
  endTime?: string;
  executionTime?: number;
  runningTime?: number;
  result?: unknown;
  error?: string;
  errorCode?: string;
  errorReason?: string;
  remedy?: string;
  cancelReason?: string;
  gates?: readonly Verdict[];
  approval?: ApprovalNotice;
}

/** The approval an execution waits, or waited, for. */
export interface ApprovalNotice {
  id: string;
  state: string;
  expiresAt: string;
  url: string;
  decidedBy?: string[];
  decidedAt?: string;
  comment?: string;
  selfApproved?: true;
}

const FIRST_WAIT_MS = 10;
const LONGEST_WAIT_MS = 500;

/** The finished record, or null when the user stopped waiting. */
export async function follow(cli: Cli, api: Api, id: string): Promise<Execution | null> {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const progress = openProgress(cli, id);
  let status = "running";
  try {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      const { body } = await api.request<{ execution: Execution }>("GET", `executions/${id}`, {
        signal: stop.signal,
      });
      if (body.execution.endTime !== undefined) return body.execution;
      ({ status } = body.execution);
      // That the call waits for a person was printed before.
      if (body.execution.approval?.state !== "pending") progress.show(status);
      await sleep(wait, undefined, { signal: stop.signal });
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
    if (cli.flags.json) cli.term.printJson({ success: true, executionId: id, status });
    cli.term.warn(`${id} continues; cancel it with: ostiary runs cancel ${id}`);
    return null;
  } finally {
    progress.end();
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}
