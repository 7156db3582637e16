// The engine's side of an approval: a call asks, goes on after a yes, and uses the yes up.
import type { Call } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { Approvals } from "./approval.ts";
import { bindingOf, boundOf, differences, type Bound, type Narrowed } from "./binding.ts";
import type { Ending } from "./ending.ts";
import type { CheckResumption } from "./over.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, waitingCall } from "./seal.ts";
import { listedArguments } from "./listed.ts";
import { createKeyedQueue } from "./turns.ts";
import type { Waiting } from "./waiting.ts";

type Side = Pick<
  Approvals,
  "use" | "terms" | "request" | "reopen" | "settled" | "ofExecution" | "withdraw"
>;

/** A row whose execution got no record by then belongs to a process that died in between. */
export const UNHELD_AFTER_MS = 60_000;
/** Sealed calls of one requester that wait: together no larger than this. One alone is limited by the body's limit. */
const MAX_PENDING_BYTES = 16_777_216;

export function createHold(
  p: ApprovalPowers,
  parts: { seal: Seal; waiting: Waiting; ending: Ending; fateOf: CheckResumption },
): Side {
  const { seal, waiting, ending, fateOf } = parts;
  const { approvals, executions } = p.store;
  const oneByOne = createKeyedQueue();

  const newRow = async (
    call: Call,
    asks: Parameters<Approvals["request"]>[1],
  ): Promise<ApprovalRow> => {
    const tool = toolOf(call);
    const now = p.now();
    const rules = p.governance.approvalRules(tool);
    const bound = boundOf(call, p.policyVersion());
    const id = p.ids.handle("apr", now);
    return {
      id,
      executionId: call.id,
      ...rowOf(bound),
      binding: bindingOf(bound, call.arguments),
      arguments: await p.masker.valueInSlices(call.arguments),
      editedArguments: null,
      sealed: seal.close(id, waitingCall(call, call.arguments)),
      editedSealed: null,
      risk: tool.risk,
      reasons: asks.map(({ reason, message, rule }) => ({
        reason,
        message: p.masker.text(message),
        ...(rule === undefined ? {} : { rule }),
      })),
      state: "pending",
      needed: rules.approvals,
      votes: [],
      createdAt: now,
      expiresAt: now + rules.expiresInSeconds * 1000,
      presentedAt: null,
      decidedAt: null,
    };
  };

  const refuseFlood = async (row: ApprovalRow): Promise<void> => {
    const { tenantId, requester } = row;
    const { count, bytes } = await approvals.pendingOf(tenantId, requester);
    const isLarge = count > 0 && bytes + Buffer.byteLength(String(row.sealed)) > MAX_PENDING_BYTES;
    if (count < p.maxPending && !isLarge) return;
    // One more of the same asks nothing new.
    const open = await approvals.list(
      { tenantId, requester, state: "pending" },
      { limit: p.maxPending },
    );
    if (open.some((other) => other.binding === row.binding)) return;
    const waits =
      count < p.maxPending
        ? `calls waiting for approval that with this one are more than ${MAX_PENDING_BYTES} bytes`
        : `${p.maxPending} calls waiting for approval already`;
    throw new AppError("TOO_MANY_REQUESTS", "concurrency", `${requester} has ${waits}`, {
      remedy: "wait until some of them are decided, or withdraw them: ostiary runs cancel <id>",
      retryAfterSeconds: 30,
    });
  };

  const request = async (row: ApprovalRow): Promise<{ row: ApprovalRow; joined: boolean }> => {
    await refuseFlood(row);
    const { ended, ...found } = await approvals.request(row);
    for (const over of ended) await ending.ranOut(over);
    if (!found.joined || (await isHeld(found.row))) return found;
    // Nobody can follow an execution that has no record: a process died in between.
    await ending.end(found.row, "cancelled");
    return approvals.request(row);
  };

  const isHeld = async ({ createdAt, executionId }: ApprovalRow): Promise<boolean> =>
    createdAt > p.now() - UNHELD_AFTER_MS || (await executions.get(executionId)) !== null;

  /** What was to be gone on with cannot be: it ends here, and the execution with it. */
  const giveUp = async (row: ApprovalRow, message: string): Promise<null> => {
    const fault: Fault = {
      code: "FORBIDDEN",
      reason: "approval_changed",
      message,
      remedy: "call again: a new approval is asked for",
    };
    await ending.end(row, "cancelled", { fault });
    return null;
  };

  return {
    terms: (subject) => p.governance.approvalRules(toolOf(subject)),

    async request(call, asks) {
      const made = await newRow(call, asks);
      const answer = await oneByOne(`${made.tenantId}\n${made.requester}`, () => request(made));
      if (answer.joined) return answer;
      const {
        id,
        executionId,
        toolName,
        toolPin,
        policyVersion,
        risk,
        reasons,
        needed,
        expiresAt,
      } = answer.row;
      const body = {
        approvalId: id,
        executionId,
        toolName,
        toolPin,
        policyVersion,
        version: seal.version(answer.row.binding),
        risk,
        reasons,
        needed,
        expiresAt,
        ...listedArguments(answer.row.arguments, p.cutToSize),
      };
      try {
        await p.note("approval.requested", call.caller, body);
      } catch (cause) {
        // The caller is told that nothing waits, so nothing may: what cannot be ended now is swept later.
        await approvals.end(id, "pending", "cancelled", p.now()).catch(() => false);
        throw cause;
      }
      p.notify("requested", answer.row);
      return answer;
    },

    async reopen(approvalId) {
      const row = await approvals.get(approvalId);
      if (row?.state !== "approved") return null;
      const record = await executions.get(row.executionId);
      // Not on record yet: whoever holds it is about to write that, and it is tried again.
      if (record === null) return null;
      if (record.endTime !== null) {
        await ending.drop(row);
        return null;
      }
      if (row.expiresAt <= p.now()) {
        await ending.end(row, "expired");
        return null;
      }
      const fate = await fateOf(row);
      if (fate.state === "elsewhere") return null;
      if (fate.state === "over")
        return giveUp(row, `what it was approved for is over: ${fate.why}`);
      const {
        caller,
        waiting: { mandate: _mandate, ...waiting },
      } = fate;
      const known = p.registry.get(row.toolName);
      const tool = known && p.governance.asGoverned(known, waiting.arguments);
      // The time a person took is not the call's: its deadline and its duration begin now (C17).
      // A span of its own in the same trace: the one that asked has ended.
      const trace = { ...waiting.trace, spanId: p.ids.hex(8), parentSpanId: waiting.trace.spanId };
      return {
        ...waiting,
        id: row.executionId,
        action: "execute",
        caller,
        tool,
        grant: { approvalId },
        trace,
        startedAt: p.now(),
        onProgress: null,
        client: null,
      };
    },

    async use(subject, { approvalId }) {
      const row = await approvals.get(approvalId);
      const no = (why: "expired" | "used" | "not_approved") => ({
        ok: false as const,
        why,
        changed: [],
      });
      if (
        row === null ||
        row.tenantId !== subject.caller.tenantId ||
        row.executionId !== subject.id
      )
        return no("not_approved");
      if (row.state === "consumed") return no("used");
      if (row.state === "expired" || (row.state === "approved" && row.expiresAt <= p.now()))
        return no("expired");
      if (row.state !== "approved") return no("not_approved");
      const changed = differences(row, subject, p.policyVersion());
      if (changed.length > 0) {
        p.report("a call is not what was approved", {
          approvalId,
          executionId: row.executionId,
          changed,
        });
        return { ok: false, why: "changed", changed };
      }
      // Whoever asked may have ended since the call was opened again.
      const fate = await fateOf(row);
      if (fate.state !== "here") {
        p.report("an approved call is over", { approvalId, executionId: row.executionId, ...fate });
        return {
          ok: false,
          why: "changed",
          changed: [fate.state === "over" ? fate.why : "instance"],
        };
      }
      if (!(await approvals.consume(row.id, row.binding, p.now()))) return no("used");
      await p.note("approval.consumed", subject.caller, {
        approvalId,
        executionId: row.executionId,
        toolName: row.toolName,
        version: seal.version(row.binding),
      });
      return { ok: true };
    },

    settled: (executionId, waitMs, signal) =>
      waiting.until(
        executionId,
        async () => (await approvals.ofExecution(executionId))?.state !== "pending",
        waitMs,
        signal,
      ),

    async ofExecution(executionId) {
      const row = await approvals.ofExecution(executionId);
      if (row === null) return null;
      const tool = p.registry.get(row.toolName);
      const holdSeconds = tool ? p.governance.approvalRules(tool).holdSeconds : 0;
      return { id: row.id, state: row.state, expiresAt: row.expiresAt, holdSeconds };
    },

    async withdraw(caller, executionId) {
      const row = await approvals.ofExecution(executionId);
      if (
        row?.state !== "pending" ||
        row.requester !== caller.userId ||
        row.tenantId !== caller.tenantId
      )
        return false;
      return ending.end(row, "cancelled", { by: caller });
    },
  };
}

function rowOf({ narrowing: _narrowing, ...bound }: Narrowed): Bound {
  return bound;
}

function toolOf({ tool, requestedName }: Pick<Call, "tool" | "requestedName">) {
  if (tool) return tool;
  throw new AppError("NOT_FOUND", "unknown", `Tool '${requestedName}' not found`);
}
