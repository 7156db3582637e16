// Approvals and standing rules: part of the store's suite.
import { describe, expect, test } from "vitest";
import { atOnce, ended, event, HOUR, startBody, T0 } from "./samples.suite.ts";
import {
  AlreadyExists,
  type ApprovalHead,
  type ApprovalRow,
  type ApprovalVote,
  type StandingRuleRow,
  type Store,
} from "../store.ts";

const EXPIRES = T0 + HOUR;

const approval = (id: string, more: Partial<ApprovalRow> = {}): ApprovalRow => ({
  id,
  tenantId: "local",
  executionId: `exec_${id}`,
  requester: "ann",
  keyId: null,
  capsuleId: "starter",
  toolName: "file/write",
  toolPin: "pin",
  policyVersion: "7",
  binding: `b_${id}`,
  arguments: { path: "/a", n: [1, null] },
  editedArguments: null,
  sealed: "sealed",
  editedSealed: null,
  risk: "dangerous",
  reasons: [{ reason: "mode", message: "guarded", rule: "tools.yaml:4" }],
  state: "pending",
  needed: 1,
  votes: [],
  createdAt: T0,
  expiresAt: EXPIRES,
  presentedAt: null,
  decidedAt: null,
  ...more,
});

const vote = (
  userId: string,
  decision: ApprovalVote["decision"] = "approve",
  at = T0 + 1,
): ApprovalVote => ({ userId, decision, comment: null, at });
const ids = (rows: readonly (ApprovalRow | ApprovalHead)[]) => rows.map((row) => row.id);

export function approvalsSuite(store: () => Store, another: () => Promise<Store>): void {
  const both = async (): Promise<[Store, Store]> => [store(), await another()];
  const request = (id: string, more: Partial<ApprovalRow> = {}) =>
    store().approvals.request(approval(id, more));
  const state = async (id: string) => (await store().approvals.get(id))?.state;

  describe("approvals", () => {
    test("what is asked comes back, alone and in lists, newest first", async () => {
      const { approvals } = store();
      expect(await request("a")).toEqual({ row: approval("a"), joined: false, ended: [] });
      await request("b", { createdAt: T0 + 1 });
      await request("c", { requester: "bob", createdAt: T0 + 1 });
      await request("d", { tenantId: "other" });
      expect(await approvals.get("a")).toEqual(approval("a"));
      expect(await approvals.get("x")).toBeNull();
      expect(await approvals.ofExecution("exec_b")).toMatchObject({ id: "b" });
      expect(await approvals.ofExecution("exec_x")).toBeNull();
      const all = { tenantId: "local" };
      expect(ids(await approvals.list(all, { limit: 9 }))).toEqual(["c", "b", "a"]);
      expect(
        ids(await approvals.list(all, { limit: 9, after: { createdAt: T0 + 1, id: "c" } })),
      ).toEqual(["b", "a"]);
      expect(ids(await approvals.list({ ...all, requester: "ann" }, { limit: 1 }))).toEqual(["b"]);
      expect(ids(await approvals.list({ ...all, state: "approved" }, { limit: 9 }))).toEqual([]);
      expect(await approvals.pendingOf("local", "ann")).toMatchObject({ count: 2 });
      expect(await approvals.pendingOf("local", "eve")).toEqual({ count: 0, bytes: 0 });
      expect(await approvals.pending()).toBe(4);
    });

    test("when questions of a range of time were decided, newest first", async () => {
      await request("a");
      await request("b", { createdAt: T0 + 10, toolName: "file/read" });
      await request("c", { createdAt: T0 + 20, requester: "bob" });
      await request("d", { tenantId: "other", createdAt: T0 + 20 });
      await store().approvals.vote("b", vote("boss", "approve", T0 + 15));
      const waits = (more: object) =>
        store().approvals.waits({ tenantId: "local", from: T0 + 1, to: T0 + 20, ...more }, 9);
      const b = { createdAt: T0 + 10, decidedAt: T0 + 15, state: "approved" };
      const c = { createdAt: T0 + 20, decidedAt: null, state: "pending" };
      expect(await waits({})).toEqual([c, b]);
      expect(await waits({ requester: "ann" })).toEqual([b]);
      expect(await waits({ toolName: "file/write" })).toEqual([c]);
      expect(await waits({ to: T0 + 19 })).toEqual([b]);
      expect(await waits({ from: T0 })).toHaveLength(3);
    });

    test("the same question of the same caller joins the one that is pending, also from 50 at once", async () => {
      const stores = await both();
      const answers = await atOnce(50, stores, (s, i) =>
        s.approvals.request(approval(`a${i}`, { binding: "same" })),
      );
      expect(answers.filter((a) => !a.joined).length).toBe(1);
      expect(new Set(answers.map((a) => a.row.id)).size).toBe(1);
      expect((await request("bob", { binding: "same", requester: "bob" })).joined).toBe(false);
      const first = answers[0]?.row.id ?? "";
      await store().approvals.vote(first, vote("boss", "decline"));
      expect(await request("again", { binding: "same" })).toMatchObject({
        joined: false,
        row: { id: "again" },
      });
      await expect(request("again", { binding: "else" })).rejects.toEqual(
        new AlreadyExists("approval"),
      );
    });

    test("one whose time is over is ended, not joined", async () => {
      await request("a", { binding: "same" });
      await request("seen", { binding: "same2", presentedAt: T0 });
      const late = { createdAt: EXPIRES, expiresAt: EXPIRES + HOUR };
      const next = await request("b", { ...late, binding: "same" });
      expect(next).toMatchObject({
        joined: false,
        row: { id: "b" },
        ended: [{ id: "a", state: "not_presented", sealed: null, decidedAt: EXPIRES }],
      });
      expect(await request("c", { ...late, binding: "same2" })).toMatchObject({
        ended: [{ id: "seen", state: "expired" }],
      });
      expect(await state("a")).toBe("not_presented");
    });

    test("presented once, while it is pending", async () => {
      await request("a");
      await request("b");
      await store().approvals.vote("b", vote("boss"));
      await store().approvals.presented(["a", "b", "x"], T0 + 1);
      await store().approvals.presented(["a"], T0 + 2);
      await store().approvals.presented([], T0 + 2);
      expect((await store().approvals.get("a"))?.presentedAt).toBe(T0 + 1);
      expect((await store().approvals.get("b"))?.presentedAt).toBeNull();
    });

    test("the n-th yes approves, the call stays sealed until it is used", async () => {
      const { approvals } = store();
      await request("a", { needed: 2 });
      const one = { ...vote("boss"), comment: "fine" };
      expect(await approvals.vote("a", one)).toEqual(approval("a", { needed: 2, votes: [one] }));
      const both = await approvals.vote("a", vote("chief", "approve", T0 + 2));
      expect(both).toMatchObject({
        state: "approved",
        decidedAt: T0 + 2,
        sealed: "sealed",
        votes: [one, { userId: "chief" }],
      });
      expect(await approvals.vote("a", vote("third"))).toBeNull();
    });

    test("one no declines and drops the sealed call", async () => {
      await request("a", { needed: 2 });
      await store().approvals.vote("a", vote("boss"));
      expect(await store().approvals.vote("a", vote("chief", "decline"))).toMatchObject({
        state: "declined",
        sealed: null,
        decidedAt: T0 + 1,
      });
    });

    test("T21: the requester, a second vote, an unknown or expired one change nothing", async () => {
      const { approvals } = store();
      await request("a", { needed: 3 });
      const voted = await approvals.vote("a", vote("boss"));
      expect(await approvals.vote("a", vote("ann"))).toBeNull();
      expect(await approvals.vote("a", vote("boss", "decline"))).toBeNull();
      expect(await approvals.vote("a", vote("late", "approve", EXPIRES))).toBeNull();
      expect(await approvals.vote("x", vote("boss"))).toBeNull();
      const edit = { arguments: {}, sealed: "s", binding: "b" };
      expect(await approvals.vote("a", vote("ann"), edit)).toBeNull();
      expect(await approvals.get("a")).toEqual(voted);
    });

    test("C52: the requester's own vote counts when it says so, and only where one person is enough", async () => {
      const { approvals } = store();
      await request("alone", {});
      await request("two", { needed: 2 });
      const own = { ...vote("ann"), self: true as const };
      expect(await approvals.vote("two", own)).toBeNull();
      expect(await approvals.vote("alone", { ...vote("boss"), self: true as const })).toBeNull();
      expect(await approvals.vote("alone", own)).toMatchObject({
        state: "approved",
        votes: [{ userId: "ann", decision: "approve" }],
      });
    });

    test("an edit replaces the call, and earlier votes start over", async () => {
      const { approvals } = store();
      await request("a", { needed: 2 });
      await request("b", { needed: 2 });
      await approvals.vote("a", vote("boss"));
      const edit = { arguments: { path: "/b" }, sealed: "sealed 2", binding: "b_b" };
      expect(await approvals.vote("a", vote("chief"), edit)).toMatchObject({
        state: "pending",
        editedArguments: { path: "/b" },
        editedSealed: "sealed 2",
        binding: "b_b",
        sealed: "sealed",
        arguments: { path: "/a" },
        votes: [{ userId: "chief" }],
      });
      // Asking again for what was asked first finds it still.
      expect(await request("again", { binding: "b_a" })).toMatchObject({
        joined: true,
        row: { id: "a" },
      });
      expect((await approvals.vote("a", vote("boss")))?.state).toBe("approved");
      expect(await approvals.consume("a", "b_a", T0 + 2)).toBe(false);
      expect(await approvals.consume("a", "b_b", T0 + 2)).toBe(true);
      expect(await approvals.get("a")).toMatchObject({
        state: "consumed",
        sealed: null,
        editedSealed: null,
      });
    });

    test("T18: a vote for what was seen does not count once somebody edited it", async () => {
      const { approvals } = store();
      await request("a", { needed: 2 });
      const edit = { arguments: {}, sealed: "s", binding: "edited" };
      expect(await approvals.vote("a", vote("boss"), edit, "b_a")).toMatchObject({
        binding: "edited",
      });
      expect(await approvals.vote("a", vote("chief"), undefined, "b_a")).toBeNull();
      expect(await approvals.vote("a", vote("chief"), undefined, "edited")).toMatchObject({
        state: "approved",
      });
    });

    test("many vote at once: each counted once, and never more than needed", async () => {
      const stores = await both();
      await request("a", { needed: 5 });
      const answers = await atOnce(40, stores, (s, i) =>
        s.approvals.vote("a", vote(`boss${i % 20}`)),
      );
      const counted = answers.filter((a) => a !== null);
      expect(counted.length).toBe(5);
      expect(counted.filter((a) => a.state === "approved").length).toBe(1);
      expect((await store().approvals.get("a"))?.votes.length).toBe(5);
    });

    test("T18: of 1,000 that use it at once exactly one does", { timeout: 60_000 }, async () => {
      const stores = await both();
      await request("a");
      expect(await store().approvals.consume("a", "b_a", T0)).toBe(false);
      await store().approvals.vote("a", vote("boss"));
      expect(await store().approvals.consume("a", "b_a", EXPIRES)).toBe(false);
      const used = await atOnce(1000, stores, (s) => s.approvals.consume("a", "b_a", T0 + 2));
      expect(used.filter(Boolean).length).toBe(1);
      expect(await state("a")).toBe("consumed");
    });

    test("ended once, from where it was; a vote that crosses it is counted or refused", async () => {
      const stores = await both();
      await request("a");
      expect(await store().approvals.end("a", "approved", "expired", T0)).toBe(false);
      expect(await store().approvals.end("a", "pending", "cancelled", T0 + 3)).toBe(true);
      expect(await store().approvals.end("a", "pending", "cancelled", T0 + 4)).toBe(false);
      expect(await store().approvals.get("a")).toMatchObject({
        state: "cancelled",
        sealed: null,
        decidedAt: T0 + 3,
      });
      for (let i = 0; i < 20; i++) {
        await request(`r${i}`);
        const [voted, ended] = await Promise.all([
          stores[0].approvals.vote(`r${i}`, vote("boss")),
          stores[1].approvals.end(`r${i}`, "pending", "cancelled", T0),
        ]);
        expect(voted === null).toBe(ended);
        expect((await store().approvals.get(`r${i}`))?.votes.length).toBe(ended ? 0 : 1);
      }
    });

    test("overdue ones, and approved ones that nobody went on with", async () => {
      const { approvals } = store();
      await request("a", { expiresAt: T0 + 10 });
      await request("b", { expiresAt: T0 + 20 });
      await request("c", { expiresAt: T0 + 5 });
      await request("d", { expiresAt: T0 + 30 });
      await approvals.vote("b", vote("boss", "approve", T0 + 3));
      await approvals.vote("d", vote("boss", "approve", T0 + 2));
      await approvals.end("c", "pending", "expired", T0 + 5);
      expect(ids(await approvals.overdue(T0 + 20, 9))).toEqual(["a", "b"]);
      expect(ids(await approvals.overdue(T0 + 20, 1))).toEqual(["a"]);
      expect(ids(await approvals.stranded(T0 + 4, 9))).toEqual(["d", "b"]);
      expect(ids(await approvals.stranded(T0 + 3, 9))).toEqual(["d"]);
      await approvals.consume("d", "b_d", T0 + 4);
      expect(ids(await approvals.stranded(T0 + 4, 9))).toEqual(["b"]);
    });
  });

  test("approvals whose execution was never recorded, or still waits though they are over", async () => {
    const { approvals, log } = store();
    for (const id of ["a", "b", "c"]) await request(id);
    for (const id of ["exec_b", "exec_c"]) {
      const body = { ...startBody({ id }), status: "pending", approvalId: id };
      await log.append(event({ id }, "tool.execution.held", body));
    }
    expect(ids(await approvals.unheld(T0 + 1, 9))).toEqual(["a"]);
    expect(ids(await approvals.unheld(T0, 9))).toEqual([]);
    await approvals.end("b", "pending", "cancelled", T0 + 5);
    expect(ids(await approvals.unended(T0 + 6, 9))).toEqual(["b"]);
    expect(ids(await approvals.unended(T0 + 5, 9))).toEqual([]);
    await log.append(ended({ id: "exec_b", status: "cancelled" }));
    expect(ids(await approvals.unended(T0 + 6, 9))).toEqual([]);
  });

  test("standing rules: active until they expire or are revoked, once", async () => {
    const { standingRules } = store();
    const rule: StandingRuleRow = {
      id: "r1",
      tenantId: "local",
      userId: "ann",
      toolName: "file/write",
      toolPin: "pin",
      matches: [
        { pointer: "/path", glob: "/tmp/**" },
        { pointer: "/n", equals: [1, null] },
      ],
      fromApproval: "a",
      createdBy: "boss",
      createdAt: T0,
      expiresAt: T0 + 10,
      revokedAt: null,
    };
    await standingRules.create(rule);
    await expect(standingRules.create(rule)).rejects.toThrow(AlreadyExists);
    await standingRules.create({ ...rule, id: "r2", tenantId: "other" });
    expect(await standingRules.active("local", T0 + 9)).toEqual([rule]);
    expect(await standingRules.active("local", T0 + 10)).toEqual([]);
    expect(await standingRules.revoke("r1", T0 + 1)).toBe(true);
    expect(await standingRules.revoke("r1", T0 + 2)).toBe(false);
    expect(await standingRules.get("r1")).toEqual({ ...rule, revokedAt: T0 + 1 });
    expect(await standingRules.get("r9")).toBeNull();
    expect(await standingRules.active("local", T0)).toEqual([]);
  });
}
