import { afterEach, describe, expect, test } from "vitest";
import {
  agent,
  asks,
  type Desk,
  endEvent,
  openDesk,
  otherPin,
  person,
  T0,
  writeTool,
} from "../../../test/fixtures/approvals.ts";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import type { AppError } from "../../contract/errors.ts";
import { bindingOf, boundOf } from "./binding.ts";
import { createSeal, waitingCall } from "./seal.ts";

const desks: Desk[] = [];
async function open(...args: Parameters<typeof openDesk>): Promise<Desk> {
  const desk = await openDesk(...args);
  desks.push(desk);
  return desk;
}
afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.close();
});

const fault = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable("it was allowed"),
    (cause: unknown) => (cause as AppError).fault,
  );
const subjectOf = (call: ReturnType<Desk["call"]>, approvalId: string) => ({
  ...call,
  grant: { approvalId },
});
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

describe("the binding", () => {
  test("T18: is the same for equal calls and differs in every part", () => {
    const call = { caller: agent, tool: writeTool, arguments: { path: "a", content: "b" } };
    const of = (change: Partial<typeof call>, version = "1") => {
      const subject = { ...call, ...change };
      return bindingOf(boundOf(subject, version), subject.arguments);
    };
    const base = of({});
    expect(of({ arguments: { content: "b", path: "a" } })).toBe(base);
    const others = [
      of({ arguments: { path: "a", content: "c" } }),
      of({ tool: otherPin(writeTool) }),
      of({ tool: testTool() }),
      of({ caller: { ...agent, userId: "x" } }),
      of({ caller: { ...agent, keyId: "x" } }),
      of({ caller: { ...agent, capsuleId: "x" } }),
      of({ caller: { ...agent, tenantId: "x" } }),
      of({}, "2"),
    ];
    expect(new Set([base, ...others]).size).toBe(others.length + 1);
  });

  test("the waiting call is sealed to its approval and to this server", async () => {
    const desk = await open();
    const seal = createSeal("a");
    const waiting = waitingCall(desk.call(), { password: "hunter2" });
    const sealed = seal.close("apr_1", waiting);
    expect(sealed).not.toContain("hunter2");
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain("hunter2");
    expect(seal.open("apr_1", sealed)).toEqual(waiting);
    expect(() => seal.open("apr_2", sealed)).toThrow();
    expect(() => createSeal("b").open("apr_1", sealed)).toThrow();
    const touched = Buffer.from(sealed, "base64url");
    touched[40] = (touched[40] ?? 0) ^ 1;
    expect(() => seal.open("apr_1", touched.toString("base64url"))).toThrow();
    expect(() => seal.open("apr_1", "")).toThrow();
  });
});

describe("asking", () => {
  test("R087: the question is durable, audited and masked", async () => {
    const desk = await open();
    const { call, row } = await desk.held({ path: "a.md", content: "hi", password: "hunter2" });
    const stored = await desk.store.approvals.get(row.id);
    expect(stored).toMatchObject({
      executionId: call.id,
      requester: "bot",
      keyId: "key_bot",
      toolName: "file/scribble",
      arguments: {
        path: "a.md",
        content: "hi",
        password: expect.stringMatching(/^\[masked:\w{12}\]$/),
      },
      risk: "dangerous",
      reasons: asks,
      state: "pending",
      needed: 1,
      expiresAt: T0 + 600_000,
    });
    expect(row.id).toMatch(/^apr_[0-9a-z]{35}$/);
    expect(desk.noted.map((note) => note.action)).toEqual(["approval.requested"]);
    expect(JSON.stringify(desk.noted)).not.toContain("hunter2");
    expect(desk.told).toEqual(["requested pending"]);
    expect(await desk.parts.approvals.ofExecution(call.id)).toEqual({
      id: row.id,
      state: "pending",
      expiresAt: row.expiresAt,
      holdSeconds: 45,
    });
    expect(await desk.parts.approvals.ofExecution("exec_x")).toBeNull();
  });

  test("the same call of the same caller joins; another one asks anew", async () => {
    const desk = await open();
    const { row } = await desk.held();
    const again = await desk.parts.approvals.request(
      desk.call({ content: "hi", path: "a.md" }),
      asks,
      [],
    );
    expect(again).toMatchObject({ joined: true, row: { id: row.id } });
    expect((await desk.held({ path: "b.md", content: "hi" })).row.id).not.toBe(row.id);
    expect(desk.noted.length).toBe(2);
  });

  test("T19: a flood of 500 different calls leaves a few open, and none approved", async () => {
    const desk = await open();
    const asked = await Promise.allSettled(
      Array.from({ length: 500 }, (_, i) => desk.held({ path: `${i}.md`, content: "x" })),
    );
    const refused = asked.filter((one) => one.status === "rejected");
    expect(refused.length).toBe(497);
    expect((refused[0]?.reason as AppError).fault).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      reason: "concurrency",
      retryAfterSeconds: 30,
    });
    expect((await desk.store.approvals.pendingOf("local", "bot")).count).toBe(3);
    // One of those that wait may be joined all the same, and somebody else may ask.
    expect((await desk.held({ path: "0.md", content: "x" })).row.state).toBe("pending");
    expect((await desk.held({ path: "z", content: "x" }, { caller: testCaller() })).row.state).toBe(
      "pending",
    );
  });

  test("one that ran out is ended, not joined", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    desk.clock += 600_001;
    const again = await desk.held();
    expect(again.row.id).not.toBe(row.id);
    expect(desk.refused).toMatchObject([
      { executionId: call.id, fault: { reason: "approval_not_presented" } },
    ]);
    expect(desk.noted.map((note) => note.action)).toContain("approval.not_presented");
    await desk.parts.inbox.show(person("ada"), again.row.id);
    desk.clock += 600_001;
    await desk.held();
    expect(desk.noted.map((note) => note.action)).toContain("approval.expired");
  });

  test("what a crash left without a record is not joined", async () => {
    const desk = await open();
    const first = await desk.parts.approvals.request(desk.call(), asks, []);
    desk.clock += 60_001;
    const again = await desk.parts.approvals.request(desk.call(), asks, []);
    expect(again.joined).toBe(false);
    expect((await desk.store.approvals.get(first.row.id))?.state).toBe("cancelled");
  });

  test("what cannot be audited does not wait", async () => {
    const desk = await open({ note: () => Promise.reject(new Error("disk full")) });
    await expect(desk.held()).rejects.toThrow("disk full");
    expect((await desk.store.approvals.pendingOf("local", "bot")).count).toBe(0);
  });

  test("nor when it cannot even be ended: a later sweep does that", async () => {
    const desk = await open({ note: () => Promise.reject(new Error("disk full")) });
    desk.store.approvals.end = () => Promise.reject(new Error("disk full"));
    await expect(desk.held()).rejects.toThrow("disk full");
  });

  test("what a door is told: how many, how long, and nothing of a tool that is gone", async () => {
    const desk = await open();
    const call = desk.call();
    expect(desk.parts.approvals.terms(call, asks)).toEqual(desk.rules);
    await desk.parts.approvals.request(call, [{ reason: "tool_asks", message: "always" }], []);
    expect((await desk.store.approvals.ofExecution(call.id))?.reasons).toEqual([
      { reason: "tool_asks", message: "always" },
    ]);
    desk.tool = testTool();
    expect(await desk.parts.approvals.ofExecution(call.id)).toMatchObject({ holdSeconds: 0 });
  });

  test("who decides learns what the agent has read, also where that is not why they are asked", async () => {
    const desk = await open();
    const taint = [
      { tool: "web/get", executionId: "exec_1", from: "example.com", reader: "chat" as const },
    ];
    const call = desk.call({}, { taint });
    await desk.parts.approvals.request(call, asks, []);
    const { reasons = [] } = (await desk.store.approvals.ofExecution(call.id)) ?? {};
    expect(reasons).toEqual([
      ...asks,
      {
        reason: "tainted",
        message: expect.stringContaining("example.com") as string,
        sources: [{ from: "example.com", tool: "web/get", reader: "chat" }],
      },
    ]);
  });

  test("a name without a tool cannot ask", async () => {
    const desk = await open();
    const work = desk.parts.approvals.request(desk.call({}, { tool: null }), asks, []);
    expect((await fault(work)).code).toBe("NOT_FOUND");
  });

  test("the requester may withdraw it, nobody else", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    const { withdraw } = desk.parts.approvals;
    expect(await withdraw(person("ada"), call.id)).toBe(false);
    expect(await withdraw({ ...agent, tenantId: "other" }, call.id)).toBe(false);
    expect(await withdraw(agent, "exec_x")).toBe(false);
    expect(await withdraw(agent, call.id)).toBe(true);
    expect(await withdraw(agent, call.id)).toBe(false);
    expect(await desk.store.approvals.get(row.id)).toMatchObject({
      state: "cancelled",
      sealed: null,
    });
    expect(desk.refused).toMatchObject([
      { executionId: call.id, fault: { code: "CANCELLED", reason: "user" } },
    ]);
    expect(desk.noted.at(-1)).toMatchObject({ action: "approval.cancelled", userId: "bot" });
  });
});

describe("using a yes", () => {
  const approved = async (desk: Desk, args?: Parameters<Desk["held"]>[0]) => {
    const { call, row } = await desk.held(args);
    await desk.parts.inbox.approve(person("ada"), row.id, {});
    return { call, row };
  };

  test("T18: of 1,000 at once exactly one passes", async () => {
    const desk = await open();
    const { call, row } = await approved(desk);
    const subject = subjectOf(call, row.id);
    const uses = await Promise.all(
      Array.from({ length: 1_000 }, () => desk.parts.approvals.use(subject, subject.grant)),
    );
    expect(uses.filter((use) => use.ok).length).toBe(1);
    expect(uses.filter((use) => !use.ok).every((use) => !use.ok && use.why === "used")).toBe(true);
    expect(await desk.store.approvals.get(row.id)).toMatchObject({
      state: "consumed",
      sealed: null,
    });
    expect(desk.noted.filter((note) => note.action === "approval.consumed").length).toBe(1);
    expect(await desk.parts.approvals.use(subject, subject.grant)).toMatchObject({ why: "used" });
  });

  test("T18: whatever changed since is named, and nothing is used up", async () => {
    const desk = await open();
    const { call, row } = await approved(desk);
    const { use } = desk.parts.approvals;
    const changed = async (change: object) => {
      const answer = await use({ ...subjectOf(call, row.id), ...change }, { approvalId: row.id });
      return answer.ok ? "used" : answer.changed;
    };
    expect(await changed({ arguments: { path: "a.md", content: "HI" } })).toEqual(["arguments"]);
    expect(await changed({ tool: otherPin(writeTool) })).toEqual(["tool"]);
    expect(await changed({ tool: null })).toEqual(["tool"]);
    expect(await changed({ caller: { ...agent, userId: "eve" } })).toEqual(["caller"]);
    expect(await changed({ caller: { ...agent, keyId: "key_2" } })).toEqual(["caller"]);
    expect(await changed({ caller: { ...agent, capsuleId: "all" } })).toEqual(["caller"]);
    desk.policyVersion = "2";
    expect(await changed({})).toEqual(["policy"]);
    expect(desk.reported.length).toBe(7);
    desk.policyVersion = "1";
    expect(await changed({})).toBe("used");
  });

  test("no approval of another call, another tenant, another state", async () => {
    const desk = await open();
    const { call, row } = await approved(desk);
    const { use } = desk.parts.approvals;
    const grant = { approvalId: row.id };
    const no = { ok: false, why: "not_approved" };
    expect(await use({ ...call, id: "exec_other" }, grant)).toMatchObject(no);
    expect(await use({ ...call, caller: { ...agent, tenantId: "other" } }, grant)).toMatchObject(
      no,
    );
    expect(await use(call, { approvalId: "apr_x" })).toMatchObject(no);
    const pending = await desk.held({ path: "p", content: "p" });
    expect(await use(pending.call, { approvalId: pending.row.id })).toMatchObject(no);
    desk.clock = row.expiresAt;
    expect(await use(call, grant)).toMatchObject({ why: "expired" });
    await desk.parts.sweep();
    expect(await use(call, grant)).toMatchObject({ why: "expired" });
  });

  test("it cannot be used unrecorded", async () => {
    const desk = await open();
    const { call, row } = await approved(desk);
    Object.assign(desk.powers, { note: () => Promise.reject(new Error("disk full")) });
    await expect(desk.parts.approvals.use(call, { approvalId: row.id })).rejects.toThrow(
      "disk full",
    );
  });

  test("the call is opened again as it was, by its caller as they are today", async () => {
    const desk = await open();
    const args = { path: "a.md", content: "hi", password: "hunter2" };
    const { call, row } = await approved(desk, args);
    desk.callerNow = { ...agent, level: "admin" };
    const again = await desk.parts.approvals.reopen(row.id);
    expect(again).toMatchObject({
      id: call.id,
      arguments: args,
      caller: { level: "admin" },
      tool: { name: "file/scribble" },
      grant: { approvalId: row.id },
      sessionId: "s1",
      startedAt: expect.any(Number) as number,
    });
  });

  test("there is nothing to open while it is pending, or not on record yet", async () => {
    const desk = await open();
    const { row } = await desk.parts.approvals.request(desk.call(), asks, []);
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
    expect(await desk.parts.approvals.reopen("apr_x")).toBeNull();
    await desk.store.approvals.vote(row.id, {
      userId: "ada",
      decision: "approve",
      comment: null,
      at: T0,
    });
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
    expect((await desk.store.approvals.get(row.id))?.state).toBe("approved");
  });

  test.each([
    ["the user or key is gone", (desk: Desk) => void (desk.callerNow = null), "approval_changed"],
    ["it ran out", (desk: Desk) => void (desk.clock += 600_000), "approval_expired"],
  ])("the execution ends when %s", async (_why, change, reason) => {
    const desk = await open();
    const { call, row } = await approved(desk);
    change(desk);
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
    expect(desk.refused).toMatchObject([{ executionId: call.id, fault: { reason } }]);
    expect(await desk.store.approvals.get(row.id)).toMatchObject({ sealed: null });
  });

  test("a seal that cannot be opened ends it", async () => {
    const desk = await open();
    const row = {
      ...(await desk.held()).row,
      id: "apr_other",
      executionId: "exec_1",
      binding: "b",
    };
    await desk.store.approvals.request(row);
    await desk.store.approvals.vote("apr_other", {
      userId: "ada",
      decision: "approve",
      comment: null,
      at: T0,
    });
    expect(await desk.parts.approvals.reopen("apr_other")).toBeNull();
    expect(desk.reported).toEqual(["a waiting call cannot be read"]);
    expect(desk.refused[0]?.fault.reason).toBe("approval_changed");
  });
});

describe("waiting", () => {
  test("a waiter is woken by the decision, and leaves nothing behind", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    const waits = Array.from({ length: 3 }, () => desk.parts.approvals.settled(call.id, 60_000));
    await tick();
    await desk.parts.inbox.decline(person("ada"), row.id, {});
    await Promise.all(waits);
    await desk.parts.approvals.settled(call.id, 60_000);
  });

  test("time and signal end the waiting", async () => {
    const desk = await open();
    const { call } = await desk.held();
    const began = performance.now();
    await desk.parts.approvals.settled(call.id, 30);
    expect(performance.now() - began).toBeGreaterThan(25);
    const stop = new AbortController();
    const wait = desk.parts.approvals.settled(call.id, 60_000, stop.signal);
    await tick();
    stop.abort();
    await wait;
    await desk.parts.approvals.settled(call.id, 60_000, stop.signal);
  });

  test("where others write too, a lost notice costs a second", async () => {
    const lost = {
      publish: () => Promise.reject(new Error("gone")),
      subscribe: () => () => undefined,
      take: () => Promise.reject(new Error("gone")),
    };
    const desk = await open({ state: lost }, { shared: true });
    const { call, row } = await desk.held();
    const wait = desk.parts.approvals.settled(call.id, 60_000);
    await tick();
    await desk.store.approvals.end(row.id, "pending", "cancelled", T0);
    await wait;
    await desk
      .held({ path: "b", content: "b" })
      .then(({ row: other }) => desk.parts.inbox.decline(person("ada"), other.id, {}));
    await tick();
    expect(desk.reported).toEqual(["notice of an approval was lost"]);
  });
});

describe("sweeping", () => {
  test("C39: what ran out ends as expired when somebody saw it, else as not presented", async () => {
    const desk = await open();
    const seen = await desk.held({ path: "1", content: "" });
    const unseen = await desk.held({ path: "2", content: "" });
    await desk.parts.inbox.show(person("ada"), seen.row.id);
    expect(await desk.parts.sweep()).toBe(0);
    desk.clock += 600_000;
    const rounds = await Promise.all([desk.parts.sweep(), desk.parts.sweep()]);
    expect(rounds[0] + rounds[1]).toBe(2);
    expect((await desk.store.approvals.get(seen.row.id))?.state).toBe("expired");
    expect((await desk.store.approvals.get(unseen.row.id))?.state).toBe("not_presented");
    expect(desk.refused.map(({ fault: { reason } }) => reason).sort()).toEqual([
      "approval_expired",
      "approval_not_presented",
    ]);
  });

  test("an approved call that nobody went on with is taken up", async () => {
    const desk = await open();
    const { row } = await desk.held();
    await desk.store.approvals.vote(row.id, {
      userId: "ada",
      decision: "approve",
      comment: null,
      at: T0,
    });
    await desk.parts.sweep();
    expect(desk.wentOn).toEqual([]);
    desk.clock += 10_001;
    expect(await desk.parts.sweep()).toBe(1);
    await expect.poll(() => desk.wentOn).toContain(row.id);
  });

  test("a yes that came before the record is tried again; one that was refused is dropped", async () => {
    const desk = await open(
      {},
      {
        goOn: async (self, id) => {
          if (self.wentOn.length < 3) return;
          const row = await self.store.approvals.get(id);
          await self.store.log.append(endEvent(row?.executionId ?? "", T0));
        },
      },
    );
    const { row } = await desk.held();
    await desk.parts.inbox.approve(person("ada"), row.id, {});
    await expect
      .poll(async () => (await desk.store.approvals.get(row.id))?.state)
      .toBe("cancelled");
    expect(desk.wentOn.length).toBe(3);
    expect(desk.refused).toEqual([]);
    // Whoever opens it now finds it over.
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
  });

  test("an engine that cannot go on is reported, and the yes stays", async () => {
    const desk = await open({}, { goOn: () => Promise.reject(new Error("draining")) });
    const { row } = await desk.held();
    await desk.parts.inbox.approve(person("ada"), row.id, {});
    await expect.poll(() => desk.reported).toEqual(["an approved call could not be resumed"]);
    expect((await desk.store.approvals.get(row.id))?.state).toBe("approved");
  });

  test("the same yes goes on once at a time", async () => {
    let go: () => void = () => undefined;
    const desk = await open({}, { goOn: () => new Promise((resolve) => (go = resolve)) });
    const { row } = await desk.held();
    await desk.parts.inbox.approve(person("ada"), row.id, {});
    desk.clock += 10_001;
    await desk.parts.sweep();
    expect(desk.wentOn).toEqual([row.id]);
    await desk.store.approvals.end(row.id, "approved", "cancelled", desk.clock);
    go();
  });

  test("an ended execution drops its yes when it is opened again", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    await desk.store.approvals.vote(row.id, {
      userId: "ada",
      decision: "approve",
      comment: null,
      at: T0,
    });
    await desk.store.log.append(endEvent(call.id, T0));
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
    expect((await desk.store.approvals.get(row.id))?.state).toBe("cancelled");
  });

  test("half-done work of a crash is mended", async () => {
    const desk = await open();
    const unheld = await desk.parts.approvals.request(
      desk.call({ path: "1", content: "" }),
      asks,
      [],
    );
    const unended = await desk.held({ path: "2", content: "" });
    await desk.store.approvals.vote(unended.row.id, {
      userId: "ada",
      decision: "decline",
      comment: "no!",
      at: T0,
    });
    expect(await desk.parts.sweep()).toBe(0);
    desk.clock += 60_001;
    expect(await desk.parts.sweep()).toBe(2);
    expect((await desk.store.approvals.get(unheld.row.id))?.state).toBe("cancelled");
    expect(desk.refused).toContainEqual({
      executionId: unended.call.id,
      fault: expect.objectContaining({ message: "Approval denied by user: no!" }) as object,
    });
    expect(await desk.parts.sweep()).toBe(0);
  });

  test("one that cannot be ended does not keep the others", async () => {
    let calls = 0;
    const desk = await open({
      refuse: () => (calls++ === 0 ? Promise.reject(new Error("disk")) : Promise.resolve()),
    });
    await desk.held({ path: "1", content: "" });
    await desk.held({ path: "2", content: "" });
    desk.clock += 600_000;
    expect(await desk.parts.sweep()).toBe(1);
    expect(desk.reported).toEqual(["an approval could not be swept"]);
    expect(calls).toBe(2);
  });
});
