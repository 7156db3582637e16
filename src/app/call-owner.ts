// Finds the owner of a waiting call: a run, an agent, a program or another call. Once the owner has ended, the call
// must not continue. If an agent or a call works on another instance, only that instance may resume it; a run takes the
// outcome from the record on any instance.
import { depthOf, type Call } from "../contract/call.ts";
import type { RunRow, Store } from "../storage/store/store.ts";

/** here: may resume it; elsewhere: its own instance does; over: why it can never be resumed. */
export type CallOwner = "here" | "elsewhere" | { readonly over: string };

export type OwnerOf = (
  who: { readonly tenantId: string; readonly userId: string },
  call: Pick<Call, "entry" | "metadata">,
) => Promise<CallOwner>;

export function ownerFinder(
  store: Pick<Store, "runs" | "agents" | "executions" | "turns" | "programs">,
  instanceId: string,
): OwnerOf {
  const at = (instance: string): CallOwner => (instance === instanceId ? "here" : "elsewhere");
  /** The instance that works on the turn gets the outcome from the record. */
  const turnOf: OwnerOf = async (who, { metadata }) => {
    const turnId = metadata?.["turnId"];
    const turn = typeof turnId === "string" ? await store.turns.get(who, turnId) : null;
    if (!turn) return { over: "the conversation it belongs to is gone" };
    return turn.endedAt === null
      ? "here"
      : { over: `the turn ${turn.id} that asked has ended (${turn.status})` };
  };
  const runOf = (who: Parameters<OwnerOf>[0], runId: unknown, parentId: string) =>
    typeof runId === "string" ? store.runs.get(who, runId) : store.runs.ofExecution(who, parentId);
  /** Checks the run and all its parent runs. */
  const ofRun = async (who: Parameters<OwnerOf>[0], run: RunRow): Promise<CallOwner> => {
    if (run.endedAt !== null)
      return { over: `the workflow run ${run.id} it belongs to has ended (${run.status})` };
    const above = run.parentRunId === null ? null : await store.runs.get(who, run.parentRunId);
    return above ? ofRun(who, above) : "here";
  };
  const ownerOf: OwnerOf = async (who, call) => {
    if (call.entry === "chat") return turnOf(who, call);
    // Only inner calls have an owner: what a client claims in its metadata does not count.
    if (depthOf(call) === 0) return "here";
    const { parentExecutionId, agentId, runId } = call.metadata ?? {};
    const parentId = typeof parentExecutionId === "string" ? parentExecutionId : "";
    const run = call.entry === "workflow" ? await runOf(who, runId, parentId) : null;
    if (run) return ofRun(who, run);
    if (call.entry === "agent" && typeof agentId === "string") {
      const agent = await store.agents.get(who, agentId);
      if (!agent) return { over: `the agent ${agentId} that asked is gone` };
      return agent.endedAt === null
        ? at(agent.instanceId)
        : { over: `the agent ${agentId} that asked has ended (${agent.status})` };
    }
    const parent = await store.executions.get(parentId);
    const program = call.entry === "tool" ? await store.programs.get(who, parentId) : null;
    if (program?.endedAt != null)
      return { over: `the program ${program.id} it belongs to has ended` };
    if (program && parent) {
      // It takes the outcome from the record, on any instance.
      const above = await ownerOf(who, parent as Pick<Call, "entry" | "metadata">);
      return typeof above === "object" ? above : "here";
    }
    if (!parent) return { over: "the call it belongs to is gone" };
    if (parent.endTime === null) return at(parent.instanceId);
    // The parent answered that this call waits, so its own caller may still come for the result.
    const hasAnswered = parent.status === "success" || parent.errorReason === "approval_required";
    if (!hasAnswered)
      return { over: `the call ${parent.id} it belongs to has ended (${parent.status})` };
    return ownerOf(who, parent as Pick<Call, "entry" | "metadata">);
  };
  return ownerOf;
}
