// What the figures are told of approvals and of the box.
import { describe, expect, test } from "vitest";
import type { ApprovalRow, ApprovalVote } from "../storage/store/store.ts";
import type { SandboxStatus } from "../reach/sandbox/sandbox.ts";
import { countDecision, gaugeSources } from "./gauges.ts";

const vote = (userId: string, decision: ApprovalVote["decision"]): ApprovalVote => ({
  userId,
  decision,
  comment: null,
  at: 5_000,
});

describe("how long a question was open", () => {
  const waitedOf = (row: Partial<ApprovalRow>): number[] => {
    const waited: number[] = [];
    const asked = {
      createdAt: 1_000,
      decidedAt: 5_000,
      needed: 2,
      votes: [],
      state: "expired",
      ...row,
    } as unknown as ApprovalRow;
    countDecision({ decided: (ms) => waited.push(ms) }, asked);
    return waited;
  };
  const both = [vote("ada", "approve"), vote("bob", "approve")];

  test("counts a yes, a no, and time that ran out", () => {
    expect(waitedOf({ state: "approved", votes: both })).toEqual([4_000]);
    expect(waitedOf({ state: "declined", votes: [vote("ada", "decline")] })).toEqual([4_000]);
    expect(waitedOf({ state: "expired", votes: [vote("ada", "approve")] })).toEqual([4_000]);
    expect(waitedOf({ state: "not_presented" })).toEqual([4_000]);
  });

  test("counts a yes that was never used only once, and nothing that is still open", () => {
    expect(waitedOf({ state: "expired", votes: both })).toEqual([]);
    expect(waitedOf({ state: "cancelled", votes: both })).toEqual([]);
    expect(waitedOf({ decidedAt: null })).toEqual([]);
  });
});

describe("the box", () => {
  const readyOf = async (probed: Promise<SandboxStatus>): Promise<(boolean | null)[]> => {
    const sources = gaugeSources({
      active: () => 0,
      mode: () => "NORMAL",
      outboxPending: () => 0,
      upstreams: () => [],
      tools: () => [],
      slots: { running: 0, queued: 0 },
      maxRunning: 1,
      approvals: { pending: () => Promise.resolve(0) },
      sandbox: { probed },
    });
    const first = sources.sandboxReady();
    await probed.catch(() => undefined);
    return [first, sources.sandboxReady()];
  };

  test("is left out until it was tried; what cannot even be tried is missing", async () => {
    const status = { ready: true } as SandboxStatus;
    expect(await readyOf(Promise.resolve(status))).toEqual([null, true]);
    expect(await readyOf(Promise.resolve({ ...status, ready: false }))).toEqual([null, false]);
    expect(await readyOf(Promise.reject(new Error("no such module")))).toEqual([null, false]);
  });
});
