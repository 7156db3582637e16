// What nobody wants any more does not run, whatever was agreed to.
import { afterEach, describe, expect, test } from "vitest";
import { agent, type Desk, openDesk, person, T0 } from "../../../test/fixtures/approvals.ts";
import { testTool } from "../../../test/fixtures/gate.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import { createSeal, type WaitingCall, waitingCall } from "./seal.ts";

const desks: Desk[] = [];
async function open(...args: Parameters<typeof openDesk>): Promise<Desk> {
  const desk = await openDesk(...args);
  desks.push(desk);
  return desk;
}
afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.close();
});

const yes = (desk: Desk, id: string) =>
  desk.store.approvals.vote(id, { userId: "ada", decision: "approve", comment: null, at: T0 });
const stateOf = async (desk: Desk, id: string) => (await desk.store.approvals.get(id))?.state;

async function approved(desk: Desk) {
  const { call, row } = await desk.held();
  await yes(desk, row.id);
  return { call, row };
}

/** A question whose sealed call is not the one that its row tells of, agreed to. */
async function stored(desk: Desk, change: Partial<ApprovalRow>, waiting: WaitingCall) {
  const { row } = await desk.held();
  const id = "apr_other";
  const sealed = createSeal(desk.powers.serverSecret).close(id, waiting);
  await desk.store.approvals.request({ ...row, id, binding: "b", sealed, ...change });
  await yes(desk, id);
  return id;
}

describe("going on after a yes", () => {
  test("a call whose run is worked on elsewhere is left to that instance", async () => {
    const desk = await open();
    const { row } = await approved(desk);
    desk.owner = "elsewhere";
    expect(await desk.parts.approvals.reopen(row.id)).toBeNull();
    expect(await stateOf(desk, row.id)).toBe("approved");
    expect(desk.refused).toEqual([]);
  });

  test("a waiting call of an earlier release, which names no rights, is given up", async () => {
    const desk = await open();
    const { mandate: _mandate, ...waiting } = waitingCall(desk.call(), {});
    const id = await stored(desk, {}, waiting);
    expect(await desk.parts.approvals.reopen(id)).toBeNull();
    expect(await stateOf(desk, id)).toBe("cancelled");
    expect(desk.refused[0]?.fault.message).toContain("does not say with which rights");
  });

  test("a row that names another user or key than the sealed call is given up", async () => {
    for (const change of [{ requester: "eve" }, { keyId: "key_eve" }]) {
      const desk = await open();
      const id = await stored(desk, change, waitingCall(desk.call(), {}));
      expect(await desk.parts.approvals.reopen(id)).toBeNull();
      expect(desk.refused[0]?.fault.message).toContain("another caller's");
    }
  });

  test("a yes is not used once its caller is gone, or where another instance sees to it", async () => {
    const desk = await open();
    const { call, row } = await approved(desk);
    const use = () => desk.parts.approvals.use(call, { approvalId: row.id });
    desk.callerNow = null;
    expect(await use()).toMatchObject({
      ok: false,
      why: "changed",
      changed: [expect.stringContaining("not active any more")],
    });
    desk.callerNow = agent;
    desk.owner = "elsewhere";
    expect(await use()).toMatchObject({ ok: false, why: "changed", changed: ["instance"] });
    expect(desk.reported).toEqual(["an approved call is over", "an approved call is over"]);
    desk.owner = "here";
    expect(await use()).toEqual({ ok: true });
  });
});

describe("agreeing", () => {
  test("to a call of a tool that is gone ends it, and says why", async () => {
    const desk = await open();
    const { row } = await desk.held();
    desk.tool = testTool();
    await expect(desk.parts.inbox.approve(person("ada"), row.id, {})).rejects.toMatchObject({
      fault: {
        code: "CONFLICT",
        reason: "stale",
        message: expect.stringContaining("there is no tool file/scribble any more") as string,
      },
    });
    expect(await stateOf(desk, row.id)).toBe("cancelled");
    expect(desk.wentOn).toEqual([]);
  });
});

describe("closing what is over", () => {
  test("every open question of a run that has ended is closed, however many", async () => {
    const desk = await open({ maxPending: 200 });
    for (let i = 0; i < 100; i++) await desk.held({ path: `${i}`, content: "" });
    expect(await desk.parts.closeOver()).toBe(0);
    desk.owner = { over: "run run_1 has ended" };
    await yes(desk, (await desk.held({ path: "last", content: "" })).row.id);
    expect(await desk.parts.closeOver()).toBe(101);
    expect(desk.refused.length).toBe(101);
    expect(desk.refused[0]?.fault.message).toContain("run run_1 has ended");
    expect(await desk.parts.closeOver()).toBe(0);
  });

  test("one that is withdrawn meanwhile is left as it ended", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    const { open: listed } = desk.store.approvals;
    desk.store.approvals.open = async (...args) => {
      const rows = await listed(...args);
      await desk.parts.approvals.withdraw(agent, call.id);
      return rows;
    };
    desk.callerNow = null;
    expect(await desk.parts.closeOver()).toBe(0);
    expect(await stateOf(desk, row.id)).toBe("cancelled");
    expect(desk.refused).toMatchObject([{ fault: { code: "CANCELLED", reason: "user" } }]);
  });
});
