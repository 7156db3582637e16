// What no caller's request would do: end what ran out, go on with what a crash left approved, mend what it left half done.
import type { ApprovalHead } from "../../storage/store/store.ts";
import { endedFault, overFault, type Ending } from "./ending.ts";
import { UNHELD_AFTER_MS } from "./hold.ts";
import type { CheckResumption } from "./over.ts";
import type { ApprovalPowers } from "./powers.ts";

export interface Sweep {
  /** One round; answers how many approvals it ended or let go on. */
  sweep(): Promise<number>;
  /** Ends all whose caller, run, agent or parent has ended; answers how many. */
  closeOver(): Promise<number>;
  /** Lets an approved call go on, once at a time; nobody waits. A failure is reported and tried again by a later round. */
  carryOn(approvalId: string): void;
}

const BATCH = 100;
/** A yes is acted on at once; one this old was left behind. */
const STRANDED_AFTER_MS = 10_000;
/** The caller's own request may not be off the books yet when a quick yes comes. */
const TRIES = 5;
const TRY_AGAIN_MS = 50;

export function createSweep(p: ApprovalPowers, ending: Ending, fateOf: CheckResumption): Sweep {
  const { approvals, executions } = p.store;
  const underWay = new Set<string>();

  /** True when nothing is left to go on with. */
  const isDone = async (id: string): Promise<boolean> => {
    const row = await approvals.get(id);
    if (row?.state !== "approved") return true;
    const record = await executions.get(row.executionId);
    if (record === null || record.endTime === null) return false;
    // Judged anew and refused before its turn came: the yes must not be used later.
    await ending.drop(row);
    return true;
  };

  const tryOn = async (id: string): Promise<void> => {
    try {
      for (let attempt = 1; attempt <= TRIES; attempt++) {
        await p.resume(id);
        if (await isDone(id)) return;
        await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS * attempt));
      }
    } finally {
      underWay.delete(id);
    }
  };

  const carryOn = (id: string): void => {
    if (underWay.has(id)) return;
    underWay.add(id);
    tryOn(id).catch((cause: unknown) =>
      p.report("an approved call could not go on", { approvalId: id, err: cause }),
    );
  };

  const expire = (row: ApprovalHead): Promise<boolean> =>
    ending.end(
      row,
      row.state === "pending" && row.presentedAt === null ? "not_presented" : "expired",
    );

  /** Each by itself: one that cannot be ended must not keep the others. */
  const each = async (
    rows: readonly ApprovalHead[],
    work: (row: ApprovalHead) => Promise<boolean>,
  ): Promise<number> => {
    let done = 0;
    for (const row of rows) {
      try {
        if (await work(row)) done++;
      } catch (cause) {
        p.report("an approval could not be swept", { approvalId: row.id, err: cause });
      }
    }
    return done;
  };

  const closeIfOver = async ({ id }: ApprovalHead): Promise<boolean> => {
    const row = await approvals.get(id);
    if (row?.state !== "pending" && row?.state !== "approved") return false;
    const fate = await fateOf(row);
    return fate.state === "over" && ending.end(row, "cancelled", { fault: overFault(fate.why) });
  };

  return {
    carryOn,
    async closeOver() {
      let closed = 0;
      for (let after = "", more = true; more;) {
        const rows = await approvals.open(after, BATCH);
        closed += await each(rows, closeIfOver);
        more = rows.length === BATCH;
        after = rows.at(-1)?.id ?? "";
      }
      return closed;
    },
    async sweep() {
      const now = p.now();
      let done = await each(await approvals.overdue(now, BATCH), expire);
      done += await each(await approvals.unheld(now - UNHELD_AFTER_MS, BATCH), (row) =>
        ending.end(row, "cancelled"),
      );
      done += await each(await approvals.unended(now - UNHELD_AFTER_MS, BATCH), async (row) => {
        await p.refuse(row.executionId, endedFault(row.state as "declined", row));
        return true;
      });
      const stranded = await approvals.stranded(now - STRANDED_AFTER_MS, BATCH);
      for (const row of stranded) carryOn(row.id);
      return done + stranded.length;
    },
  };
}
