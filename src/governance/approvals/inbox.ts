// What people do with approvals: see them, agree (perhaps to other arguments), or say no.
import { narrowingOf, type Caller, type JsonObject, type Mandate } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ApprovalHead, ApprovalRow, ApprovalVote } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json.ts";
import type { ApprovalInbox, ApprovalView } from "./approval.ts";
import { bindingOf } from "./binding.ts";
import type { Deciders, Refusal } from "./deciders.ts";
import { type Ending, endedFault, overFault } from "./ending.ts";
import {
  listedEdit,
  type Listed,
  KEPT_BYTES,
  PAGE_BYTES,
  READ_BYTES,
  readListed,
} from "./listed.ts";
import type { CheckResumption } from "./over.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, sealedIn } from "./seal.ts";
import { unmask } from "./unmask.ts";
import type { Waiting } from "./waiting.ts";

export interface InboxParts {
  readonly seal: Seal;
  readonly deciders: Deciders;
  readonly ending: Ending;
  readonly waiting: Waiting;
  readonly checkResumption: CheckResumption;
  /** Lets the call go on; nobody waits for it here. */
  readonly carryOn: (approvalId: string) => void;
}

/** Rows read for one page before it is handed out as it is, with a cursor to go on from. */
const MAX_SCANNED = 1_000;
const BATCH = 100;

interface Edit {
  readonly arguments: JsonObject;
  readonly sealed: string;
  readonly binding: string;
}

export function createInbox(p: ApprovalPowers, parts: InboxParts): ApprovalInbox {
  const { seal, deciders, ending, waiting, checkResumption: fateOf, carryOn } = parts;
  const { approvals } = p.store;

  /** The row and whether this caller may decide it; NOT_FOUND for whoever has nothing to do with it. */
  const seen = async (
    caller: Caller,
    id: string,
  ): Promise<{ row: ApprovalRow; refusal: Refusal | null }> => {
    const row = await approvals.get(id);
    if (row?.tenantId !== caller.tenantId) throw notFound(id);
    const refusal = await deciders.refusal(caller, row);
    // Whoever could decide with another credential is told so; to anybody else it does not exist (T6).
    if (refusal?.fault.reason === "permission_missing") throw notFound(id);
    return { row, refusal };
  };

  const kept = (comment: string | undefined): string | null =>
    comment === undefined ? null : p.masker.text(comment);

  const present = async (
    rows: readonly Pick<ApprovalRow, "id" | "state" | "presentedAt">[],
  ): Promise<void> => {
    const unseen = rows.filter((row) => row.state === "pending" && row.presentedAt === null);
    if (unseen.length > 0)
      await approvals.presented(
        unseen.map((row) => row.id),
        p.now(),
      );
  };

  const decidable = async (
    caller: Caller,
    id: string,
    seenVersion: string | undefined,
  ): Promise<ApprovalRow> => {
    const { row, refusal } = await seen(caller, id);
    if (refusal) throw refusal;
    if (row.state !== "pending" || row.expiresAt <= p.now()) throw stale(row);
    // A yes or no is to what its voter read, not to what somebody made of it meanwhile.
    if (seenVersion !== undefined && seenVersion !== seal.version(row.binding)) throw edited(row);
    return row;
  };

  /** A yes to what has ended would run it for nobody: it ends instead, and whoever agreed is told why. */
  const requireWanted = async (row: ApprovalRow): Promise<void> => {
    const fate = await fateOf(row);
    const why =
      fate.state === "over"
        ? fate.why
        : p.registry.get(row.toolName) === null
          ? `there is no tool ${row.toolName} any more`
          : null;
    if (why === null) return;
    await ending.end(row, "cancelled", { fault: overFault(why) });
    throw new AppError("CONFLICT", "stale", `approval ${row.id} is over: ${why}`, {
      remedy: "nothing is left to decide; whoever asked may call again",
    });
  };

  const editOf = async (row: ApprovalRow, wanted: JsonObject): Promise<Edit | undefined> => {
    const call = seal.open(row.id, sealedIn(row));
    const { arguments: args, faults } = unmask(
      wanted,
      call.arguments,
      await p.masker.valueInTurns(call.arguments),
      p.masker,
    );
    if (canonicalJson(args) === canonicalJson(call.arguments)) return undefined;
    const tool = p.registry.get(row.toolName);
    if (tool?.pin !== row.toolPin)
      throw new AppError(
        "CONFLICT",
        "stale",
        `${row.toolName} is no longer the tool that was asked for`,
        { remedy: "deny it; the caller may ask again" },
      );
    const errors = faults.length > 0 ? faults : p.validate(tool, args);
    if (errors)
      throw new AppError(
        "BAD_REQUEST",
        "invalid_arguments",
        `Input validation failed: ${errors[0]?.path}: ${errors[0]?.message}`,
        { errors, remedy: `ostiary tools show ${row.toolName} prints the schema` },
      );
    return {
      arguments: await p.masker.valueInTurns(args),
      sealed: seal.close(row.id, { ...call, arguments: args }),
      // What has no mandate is over, and was ended before.
      binding: bindingOf({ ...row, narrowing: narrowingOf(call.mandate as Mandate) }, args),
    };
  };

  const vote = async (
    caller: Caller,
    row: ApprovalRow,
    one: ApprovalVote,
    edit?: Edit,
  ): Promise<ApprovalRow> => {
    const own = caller.userId === row.requester ? { ...one, self: true as const } : one;
    const after = await approvals.vote(row.id, own, edit, row.binding);
    if (after === null) {
      const now = (await approvals.get(row.id)) as ApprovalRow; // rows are never deleted
      throw now.state === "pending" && now.binding !== row.binding
        ? edited(now)
        : stale(now, caller);
    }
    const { id: approvalId, executionId, toolName, requester } = row;
    const { decision, comment } = one;
    const how = {
      ...(isSelfApproval(row, one) ? { selfApproved: true } : {}),
      through: throughOf(caller),
    };
    const body = { approvalId, executionId, toolName, requester, decision, comment, ...how };
    await p.note(
      "approval.voted",
      caller,
      edit
        ? {
            ...body,
            ...listedEdit(edit.arguments, p.cutToSize),
            version: seal.version(edit.binding),
          }
        : body,
    );
    if (after.state === "approved" || after.state === "declined") {
      await p.note(`approval.${after.state}`, caller, {
        approvalId,
        executionId,
        toolName,
        requester,
        votes: after.votes.map(({ userId }) => userId),
        needed: after.needed,
        ...how,
      });
    }
    return after;
  };

  const viewOf = (row: ApprovalRow, refusal: Refusal | null): ApprovalView => {
    const {
      sealed: _sealed,
      editedSealed: _edited,
      arguments: args,
      editedArguments: edited,
      ...head
    } = row;
    return { ...headOf({ ...head, bytes: 0 }, refusal), arguments: args, editedArguments: edited };
  };
  const headOf = (
    row: ApprovalHead,
    refusal: Refusal | null,
  ): Omit<ApprovalView, "arguments" | "editedArguments"> => {
    const { binding, bytes: _bytes, ...rest } = row;
    const selfApproved = row.votes.some((one) => isSelfApproval(row, one));
    const shown = { ...rest, version: seal.version(binding), selfApproved };
    if (refusal) return { ...shown, mayDecide: false, mayNot: whyNot(refusal) };
    return row.state === "pending" && row.expiresAt > p.now()
      ? { ...shown, mayDecide: true }
      : { ...shown, mayDecide: false, mayNot: `it is ${row.state} already` };
  };

  return {
    async list(caller, { state, mine, limit, after }) {
      const onlyMine = mine === true || !deciders.isPerson(caller);
      const filter = {
        tenantId: caller.tenantId,
        ...(onlyMine ? { requester: caller.userId } : {}),
        ...(state === undefined ? {} : { state }),
      };
      let last: Omit<ApprovalHead, "bytes"> | null =
        after === undefined ? null : await approvals.get(after);
      if (after !== undefined && last?.tenantId !== caller.tenantId) throw badCursor();
      const found: { row: ApprovalHead; refusal: Refusal | null }[] = [];
      const size = { read: 0, shown: 0 };
      const isFull = () =>
        found.length === limit || size.read >= READ_BYTES || size.shown >= PAGE_BYTES;
      const byTool = new Map<string, Refusal | null>();
      let more = true;
      for (let scanned = 0; more && !isFull() && scanned < MAX_SCANNED;) {
        const page = await approvals.list(filter, {
          limit: BATCH,
          ...(last ? { after: { createdAt: last.createdAt, id: last.id } } : {}),
        });
        more = page.length === BATCH;
        for (const row of page) {
          if (isFull()) {
            more = true;
            break;
          }
          last = row;
          scanned++;
          const own = row.requester === caller.userId;
          const known = own ? undefined : byTool.get(row.toolName);
          const refusal = known === undefined ? await deciders.refusal(caller, row) : known;
          if (!own) byTool.set(row.toolName, refusal);
          if (!own && refusal !== null) continue;
          found.push({ row, refusal });
          size.read += row.bytes;
          size.shown += Math.min(row.bytes, 2 * KEPT_BYTES);
        }
      }
      const shown = await readListed(
        found.map(({ row }) => row),
        approvals,
        p.cutToSize,
      );
      await present(found.filter(({ refusal }) => refusal === null).map(({ row }) => row));
      const items = found.map(({ row, refusal }, at) => ({
        ...headOf(row, refusal),
        ...(shown[at] as Listed),
      }));
      return { items, next: more && last ? last.id : null };
    },

    async show(caller, id) {
      const { row, refusal } = await seen(caller, id);
      if (refusal === null) await present([row]);
      return viewOf(row, refusal);
    },

    async approve(caller, id, { comment, arguments: wanted, version }) {
      const row = await decidable(caller, id, version);
      await requireWanted(row);
      const edit = wanted === undefined ? undefined : await editOf(row, wanted);
      await present([row]);
      const one = {
        userId: caller.userId,
        decision: "approve",
        comment: kept(comment),
        at: p.now(),
      } as const;
      const after = await vote(caller, row, one, edit);
      if (after.state === "approved") {
        waiting.wake(after.executionId);
        p.notify("decided", after);
        carryOn(after.id);
      }
      return viewOf(after, null);
    },

    async decline(caller, id, { comment, version }) {
      const row = await decidable(caller, id, version);
      await present([row]);
      const one = {
        userId: caller.userId,
        decision: "decline",
        comment: kept(comment),
        at: p.now(),
      } as const;
      const after = await vote(caller, row, one);
      await ending.ended(after, endedFault("declined", after));
      return viewOf(after, null);
    },
  };
}

/** Whoever asked agreed themselves, which only somebody alone may. */
const isSelfApproval = (row: Pick<ApprovalRow, "requester">, one: ApprovalVote): boolean =>
  one.decision === "approve" && one.userId === row.requester;

/** By what a person decided: for the record. */
const throughOf = ({ via, keyId, signIn }: Caller): JsonObject => ({
  via,
  ...(keyId === null ? {} : { keyId }),
  ...(signIn
    ? { signInId: signIn.id, ...(signIn.keyId === null ? {} : { keyId: signIn.keyId }) }
    : {}),
});

const whyNot = ({ message, fault }: Refusal): string =>
  [message, fault.remedy].filter(Boolean).join("; ");

const notFound = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Approval '${id}' not found`, {
    remedy: "list those you may decide: ostiary approvals list",
  });

function stale({ id, state, expiresAt, votes }: ApprovalRow, caller?: Caller): AppError {
  const voted = state === "pending" && votes.some((vote) => vote.userId === caller?.userId);
  const what = voted
    ? "has your vote already"
    : state === "pending"
      ? `ran out at ${new Date(expiresAt).toISOString()}`
      : `is ${state} already`;
  return new AppError("CONFLICT", "stale", `approval ${id} ${what}`, {
    remedy: voted ? "wait for the others" : "nothing is left to decide",
  });
}

const edited = ({ id }: ApprovalRow): AppError =>
  new AppError("CONFLICT", "stale", `somebody changed the arguments of ${id} meanwhile`, {
    remedy: "read it again, then decide",
  });

const badCursor = (): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", "after: not a cursor of this list", {
    remedy: "pass `next` of the page before",
    errors: [{ path: "/after", message: "not a cursor of this list" }],
  });
