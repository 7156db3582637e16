// The call that waits, opened again: by its caller as they are today, with the grant it would run under.
import type { Call } from "../../contract/call.ts";
import { taintIn } from "../../contract/taint.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";
import type { Resumption } from "./resumption.ts";

type Powers = Pick<ApprovalPowers, "registry" | "governance" | "ids" | "now">;

export function callAgain(
  row: Pick<ApprovalRow, "id" | "executionId" | "toolName">,
  { caller, waiting: sealed }: Pick<Resumption & { state: "here" }, "caller" | "waiting">,
  p: Powers,
): Omit<Call, "signal"> {
  const { mandate: _mandate, ...waiting } = sealed;
  const known = p.registry.get(row.toolName);
  // A span of its own in the same trace: the span that asked has ended.
  const trace = { ...waiting.trace, spanId: p.ids.hex(8), parentSpanId: waiting.trace.spanId };
  const taint = taintIn(waiting.metadata);
  return {
    ...waiting,
    ...(taint.length > 0 ? { taint } : {}),
    id: row.executionId,
    action: "execute",
    caller,
    tool: known && p.governance.asGoverned(known, waiting.arguments),
    grant: { approvalId: row.id },
    trace,
    // The time a person took is not the call's: its deadline and its duration begin now.
    startedAt: p.now(),
    onProgress: null,
    client: null,
  };
}
