// What helps an approver decide: what the call would do, what was approved before, what a rule would cover.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Denial } from "../../contract/effect.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPreviews, PreviewedApproval } from "./approval.ts";
import { differences } from "./binding.ts";
import type { Deciders } from "./deciders.ts";
import { editOf } from "./edit.ts";
import { edited } from "./inbox-faults.ts";
import type { ApprovalPowers } from "./powers.ts";
import { isHidden, type Readable } from "./readable.ts";
import type { CheckResumption } from "./resumption.ts";
import { createRuleReach } from "./rule-reach.ts";
import type { Seal } from "./seal.ts";
import { callAgain } from "./waiting-call.ts";

export interface PreviewParts {
  readonly seal: Seal;
  readonly deciders: Deciders;
  readonly readable: Readable;
  readonly checkResumption: CheckResumption;
}

const PER_MINUTE = 60;
const MINUTE_MS = 60_000;
/** On this instance. */
const AT_ONCE = 4;

export function createPreviews(p: ApprovalPowers, parts: PreviewParts): ApprovalPreviews {
  const { seal, deciders, readable } = parts;
  let running = 0;

  const requireRoom = async ({ tenantId, userId }: Caller): Promise<void> => {
    const key = `previews:${tenantId}/${userId}`;
    const taken = await p.state.take([{ key, limit: PER_MINUTE, windowMs: MINUTE_MS }]);
    if (taken.ok) return;
    const waitMs = Math.max(...taken.windows.map(({ resetMs }) => resetMs));
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    throw new AppError(
      "TOO_MANY_REQUESTS",
      "rate_user",
      `${userId} may ask for ${PER_MINUTE} previews a minute`,
      { remedy: `retry after ${seconds} s`, retryAfterSeconds: seconds },
    );
  };

  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= AT_ONCE)
      throw new AppError("TOO_MANY_REQUESTS", "concurrency", `${AT_ONCE} previews are being made`, {
        remedy: "retry in a moment",
        retryAfterSeconds: 2,
      });
    running++;
    try {
      return await work();
    } finally {
      running--;
    }
  };

  return {
    async preview(caller, id, options) {
      const { row, refusal } = await readable(caller, id);
      // Through it the requester could read what their call may not read yet.
      if (refusal) throw refusal;
      const { version } = options;
      if (version !== undefined && version !== seal.version(row.binding)) throw edited(row);
      await requireRoom(caller);
      return alone(() => previewRow(row, options, p, parts));
    },

    async similar(caller, id) {
      const { row } = await readable(caller, id);
      const { tenantId, toolName, requester } = row;
      for (const whose of [{ requester }, {}]) {
        const heads = await p.store.approvals.list(
          { tenantId, toolName, granted: true, ...whose },
          { limit: 2 },
        );
        const head = heads.find((one) => one.id !== row.id);
        if (head && !isHidden(await deciders.refusal(caller, head)))
          return { asked: row, similar: await p.store.approvals.get(head.id) };
      }
      return { asked: row, similar: null };
    },

    previewRule: createRuleReach(p, { ...parts, requireRoom }),
  };
}

async function previewRow(
  row: ApprovalRow,
  options: Parameters<ApprovalPreviews["preview"]>[2],
  p: ApprovalPowers,
  { seal, checkResumption }: PreviewParts,
): Promise<PreviewedApproval> {
  const { arguments: wanted, signal } = options;
  const head = {
    approvalId: row.id,
    toolName: row.toolName,
    version: seal.version(row.binding),
    edited: false,
    at: p.now(),
  };
  const none = (reason: string, denied: Denial | null = null): PreviewedApproval => ({
    ...head,
    denied,
    effect: { kind: "none", reason },
  });
  if (row.sealed === null || row.expiresAt <= p.now())
    return none(`the approval is ${row.sealed === null ? row.state : "expired"}: nothing waits`);
  const resumption = await checkResumption(row);
  if (resumption.state === "elsewhere")
    return none("the agent that asked works on another instance of the server: ask that one");
  if (resumption.state === "over")
    return none("the call would not run", changed(`it is over: ${resumption.why}`));
  const edit = wanted === undefined ? undefined : await editOf(row, wanted, seal, p);
  const waiting = edit ? seal.open(row.id, edit.sealed) : resumption.waiting;
  const call = callAgain(row, { ...resumption, waiting }, p);
  const isEdited = edit !== undefined;
  const bound = edit ? { ...row, binding: edit.binding } : row;
  const now = differences(bound, call, p.policyVersion());
  if (now.length > 0)
    return { ...none("the call would not run", changed(now.join(", "))), edited: isEdited };
  const found = await p.previewOf({ ...call, signal });
  return { ...head, edited: isEdited, ...found };
}

const changed = (what: string): Denial => ({
  stage: "approval",
  fault: {
    code: "FORBIDDEN",
    reason: "approval_changed",
    message: `what is to be approved has changed since: ${what}`,
    remedy: "deny it; the caller may ask again",
  },
});
