// A held call asks for approval: the request is durable, counted per requester, and joins one that waits already.
import type { Call } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { taintText, type Taint } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { Approvals } from "./approval.ts";
import { bindingOf, boundOf, type BoundCall, type Narrowed } from "./binding.ts";
import type { Ending } from "./ending.ts";
import { listedArguments } from "./listed.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, waitingCall } from "./seal.ts";
import { createKeyedQueue } from "./keyed-queue.ts";

/** A row whose execution has no record after this time belongs to a process that died in between. */
export const UNHELD_AFTER_MS = 60_000;
/** All waiting calls of one requester, sealed. A single call is limited by the size of a request body. */
const MAX_PENDING_BYTES = 16_777_216;

type Asks = Parameters<Approvals["request"]>[1];

export function createRequest(
  p: ApprovalPowers,
  { seal, ending }: { readonly seal: Seal; readonly ending: Ending },
): Approvals["request"] {
  const { approvals, executions } = p.store;
  const oneByOne = createKeyedQueue();

  async function newRow(call: Call, asks: Asks): Promise<ApprovalRow> {
    const tool = toolOf(call);
    const now = p.now();
    const rules = p.governance.approvalRules(tool);
    const { taint = [] } = call;
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
      reasons: withTaint(asks, taint).map(({ reason, message, rule }) => ({
        reason,
        message: p.masker.text(message),
        ...(rule === undefined ? {} : { rule }),
        ...(reason === "tainted" ? { sources: sourcesOf(taint, p.masker) } : {}),
      })),
      state: "pending",
      needed: rules.approvals,
      votes: [],
      createdAt: now,
      expiresAt: now + rules.expiresInSeconds * 1000,
      presentedAt: null,
      decidedAt: null,
    };
  }

  async function requireRoom(row: ApprovalRow): Promise<void> {
    const { tenantId, requester } = row;
    const { count, bytes } = await approvals.pendingOf(tenantId, requester);
    const isLarge = count > 0 && bytes + Buffer.byteLength(String(row.sealed)) > MAX_PENDING_BYTES;
    if (count < p.maxPending && !isLarge) return;
    // A repeat of a waiting call joins it and takes no room.
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
  }

  async function store(row: ApprovalRow): Promise<{ row: ApprovalRow; joined: boolean }> {
    await requireRoom(row);
    const { ended, ...found } = await approvals.request(row);
    for (const over of ended) await ending.ranOut(over);
    if (!found.joined || (await isHeld(found.row))) return found;
    // A process died before it recorded that execution, so nobody can follow it: ask anew.
    await ending.end(found.row, "cancelled");
    return approvals.request(row);
  }

  async function isHeld({ createdAt, executionId }: ApprovalRow): Promise<boolean> {
    return createdAt > p.now() - UNHELD_AFTER_MS || (await executions.get(executionId)) !== null;
  }

  return async (call, asks) => {
    const made = await newRow(call, asks);
    const stored = await oneByOne(`${made.tenantId}\n${made.requester}`, () => store(made));
    if (stored.joined) return stored;
    try {
      await p.note("approval.requested", call.caller, requestedBody(stored.row, seal, p));
    } catch (cause) {
      // The caller learns that nothing waits, so nothing may. If this fails too, a later sweep ends it.
      await approvals.end(stored.row.id, "pending", "cancelled", p.now()).catch(() => false);
      throw cause;
    }
    p.notify("requested", stored.row);
    return stored;
  };
}

/** The audit event of a new request. */
function requestedBody(row: ApprovalRow, seal: Seal, p: Pick<ApprovalPowers, "cutToSize">) {
  const { executionId, toolName, toolPin, policyVersion, risk, reasons, needed, expiresAt } = row;
  return {
    approvalId: row.id,
    executionId,
    toolName,
    toolPin,
    policyVersion,
    version: seal.version(row.binding),
    risk,
    reasons: reasons.map(({ sources: _sources, ...reason }) => reason),
    needed,
    expiresAt,
    ...listedArguments(row.arguments, p.cutToSize),
  };
}

/** The deciders are shown what the agent has read, also where that is not why they are asked. */
function withTaint(asks: Asks, taint: readonly Taint[]): Asks {
  const message = taintText(taint);
  if (message === null || asks.some(({ reason }) => reason === "tainted")) return asks;
  return [...asks, { reason: "tainted", message }];
}

const sourcesOf = (taint: readonly Taint[], masker: Pick<ApprovalPowers["masker"], "text">) =>
  taint.map(({ from, tool, reader }) => ({ from: masker.text(from), tool, reader }));

function rowOf({
  narrowing: _narrowing,
  tainted: _tainted,
  ownKey: _ownKey,
  ...bound
}: Narrowed): BoundCall {
  return bound;
}

export function toolOf({ tool, requestedName }: Pick<Call, "tool" | "requestedName">): Tool {
  if (tool) return tool;
  throw new AppError("NOT_FOUND", "unknown", `Tool '${requestedName}' not found`);
}
