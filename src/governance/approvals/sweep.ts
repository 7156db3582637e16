// Regular upkeep: ends approvals that ran out, resumes calls that a crash left approved, and ends half-written
// requests.
import type { ApprovalHead } from "../../storage/store/store.ts";
import { endedFault, overFault, type Ending } from "./ending.ts";
import { UNHELD_AFTER_MS } from "./request.ts";
import type { CheckResumption } from "./resumption.ts";
import type { ApprovalPowers } from "./powers.ts";

export interface Sweep {
  /** One round; returns how many approvals it ended or resumed. */
  sweep(): Promise<number>;
  /** Ends all whose caller, run, agent or parent has ended; returns how many. */
  closeOver(): Promise<number>;
  /** Resumes an approved call in the background, once at a time. A failure is reported; a later round tries again. */
  carryOn(approvalId: string): void;
}

const BATCH = 100;
/** An approved call is resumed at once; one this old was left by a crash. */
const STRANDED_AFTER_MS = 10_000;
/** When the approval comes quickly, the request that asked may still be active. */
const TRIES = 5;
const TRY_AGAIN_MS = 50;

export function createSweep(
  p: ApprovalPowers,
  ending: Ending,
  checkResumption: CheckResumption,
): Sweep {
  const { approvals } = p.store;
  const carryOn = createCarryOn(p, ending);

  const expire = (row: ApprovalHead): Promise<boolean> =>
    ending.end(
      row,
      row.state === "pending" && row.presentedAt === null ? "not_presented" : "expired",
    );

  const each = (rows: readonly ApprovalHead[], work: Work): Promise<number> =>
    sweepEach(rows, work, p.report);

  const closeIfOver = async ({ id }: ApprovalHead): Promise<boolean> => {
    const row = await approvals.get(id);
    if (row?.state !== "pending" && row?.state !== "approved") return false;
    const resumption = await checkResumption(row);
    if (resumption.state !== "over") return false;
    return ending.end(row, "cancelled", { fault: overFault(resumption.why) });
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

function createCarryOn(p: ApprovalPowers, ending: Ending): Sweep["carryOn"] {
  const { approvals, executions } = p.store;
  const underWay = new Set<string>();

  /** True when nothing is left to resume. */
  const isDone = async (id: string): Promise<boolean> => {
    const row = await approvals.get(id);
    if (row?.state !== "approved") return true;
    const record = await executions.get(row.executionId);
    if (record === null || record.endTime === null) return false;
    // The gate refused the resumed call: its approval must not be used later.
    await ending.drop(row);
    return true;
  };

  const tryResume = async (id: string): Promise<void> => {
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

  return (id) => {
    if (underWay.has(id)) return;
    underWay.add(id);
    tryResume(id).catch((cause: unknown) =>
      p.report("an approved call could not be resumed", { approvalId: id, err: cause }),
    );
  };
}

type Work = (row: ApprovalHead) => Promise<boolean>;

/** One by one: a failure of one must not stop the others. Returns how many were done. */
async function sweepEach(
  rows: readonly ApprovalHead[],
  work: Work,
  report: ApprovalPowers["report"],
): Promise<number> {
  let done = 0;
  for (const row of rows) {
    try {
      if (await work(row)) done++;
    } catch (cause) {
      report("an approval could not be swept", { approvalId: row.id, err: cause });
    }
  }
  return done;
}
