// What people do with approvals: read them, approve (perhaps with other arguments) or decline.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalInbox } from "./approval.ts";
import type { Deciders } from "./deciders.ts";
import { editOf } from "./edit.ts";
import { type Ending, endedFault, overFault } from "./ending.ts";
import { edited, stale } from "./inbox-faults.ts";
import { findPage } from "./inbox-list.ts";
import { type ListedApproval, readListed } from "./listed.ts";
import type { Readable } from "./readable.ts";
import type { CheckResumption } from "./resumption.ts";
import type { ApprovalPowers } from "./powers.ts";
import type { Seal } from "./seal.ts";
import { createViews } from "./views.ts";
import { createCastVote } from "./votes.ts";
import type { Waiting } from "./waiting.ts";

export interface InboxParts {
  readonly seal: Seal;
  readonly deciders: Deciders;
  readonly readable: Readable;
  readonly ending: Ending;
  readonly waiting: Waiting;
  readonly checkResumption: CheckResumption;
  /** Resumes the approved call in the background. */
  readonly carryOn: (approvalId: string) => void;
}

export function createInbox(p: ApprovalPowers, parts: InboxParts): ApprovalInbox {
  const { seal, deciders, readable, ending, waiting, checkResumption, carryOn } = parts;
  const { approvals } = p.store;
  const { headOf, viewOf } = createViews(seal, p.now);
  const castVote = createCastVote(p, seal);

  async function decidable(
    caller: Caller,
    id: string,
    readVersion: string | undefined,
  ): Promise<ApprovalRow> {
    const { row, refusal } = await readable(caller, id);
    if (refusal) throw refusal;
    if (row.state !== "pending" || row.expiresAt <= p.now()) throw stale(row);
    // A vote counts only for the arguments that its voter has read.
    if (readVersion !== undefined && readVersion !== seal.version(row.binding)) throw edited(row);
    return row;
  }

  /** A call that nobody waits for any more must not run: its approval ends here, and the approver learns why. */
  async function requireWanted(row: ApprovalRow): Promise<void> {
    const resumption = await checkResumption(row);
    const why =
      resumption.state === "over"
        ? resumption.why
        : p.registry.get(row.toolName) === null
          ? `there is no tool ${row.toolName} any more`
          : null;
    if (why === null) return;
    await ending.end(row, "cancelled", { fault: overFault(why) });
    throw new AppError("CONFLICT", "stale", `approval ${row.id} is over: ${why}`, {
      remedy: "nothing is left to decide; the requester may call again",
    });
  }

  async function markPresented(
    rows: readonly Pick<ApprovalRow, "id" | "state" | "presentedAt">[],
  ): Promise<void> {
    const unseen = rows.filter((row) => row.state === "pending" && row.presentedAt === null);
    const ids = unseen.map((row) => row.id);
    if (ids.length > 0) await approvals.presented(ids, p.now());
  }

  return {
    async list(caller, filter) {
      const { found, next } = await findPage(caller, filter, approvals, deciders);
      const rows = found.map(({ row }) => row);
      const listed = await readListed(rows, approvals, p.cutToSize);
      await markPresented(found.filter(({ refusal }) => refusal === null).map(({ row }) => row));
      const items = found.map(({ row, refusal }, at) => ({
        ...headOf(row, refusal),
        ...(listed[at] as ListedApproval),
      }));
      return { items, next };
    },

    async show(caller, id) {
      const { row, refusal } = await readable(caller, id);
      if (refusal === null) await markPresented([row]);
      const view = viewOf(row, refusal);
      const clientConnected = waiting.isAwaited(row.executionId);
      return clientConnected === null ? view : { ...view, clientConnected };
    },

    async approve(caller, id, { comment, arguments: wanted, version }) {
      const row = await decidable(caller, id, version);
      await requireWanted(row);
      const edit = wanted === undefined ? undefined : await editOf(row, wanted, seal, p);
      await markPresented([row]);
      const after = await castVote(caller, row, "approve", { comment, edit });
      if (after.state === "approved") {
        waiting.wake(after.executionId);
        p.notify("decided", after);
        carryOn(after.id);
      }
      return viewOf(after, null);
    },

    async decline(caller, id, { comment, version }) {
      const row = await decidable(caller, id, version);
      await markPresented([row]);
      const after = await castVote(caller, row, "decline", { comment });
      await ending.ended(after, endedFault("declined", after));
      return viewOf(after, null);
    },
  };
}
