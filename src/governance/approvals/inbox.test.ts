import { afterEach, describe, expect, test } from "vitest";
import {
  agent,
  type Desk,
  openDesk,
  otherPin,
  person,
  writeTool,
} from "../../../test/fixtures/approvals.ts";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import { createMasker } from "../../util/secrets/masker.ts";
import { unmask } from "./unmask.ts";

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
const words = async (work: Promise<unknown>) => {
  const { code, reason } = await fault(work);
  return `${code} / ${reason}`;
};
const [ada, bea, cleo] = [person("ada"), person("bea"), person("cleo")];

describe("who may decide", () => {
  test("C39, T21: never the requester, never an agent's key, never somebody without the relation", async () => {
    const desk = await open();
    desk.approvers.add("bot");
    const { row } = await desk.held();
    const { approve, decline } = desk.parts.inbox;
    for (const caller of [agent, person("bot"), { ...agent, scopes: ["*"] }]) {
      expect(await words(approve(caller, row.id, {}))).toBe("FORBIDDEN / own_approval");
      expect(await words(decline(caller, row.id, {}))).toBe("FORBIDDEN / own_approval");
    }
    const agentOfAda = testCaller({ userId: "ada", scopes: ["agent:execute:dangerous"] });
    expect(await words(approve(agentOfAda, row.id, {}))).toBe("FORBIDDEN / scope_missing");
    expect(await words(approve({ ...ada, via: "anonymous" }, row.id, {}))).toBe(
      "FORBIDDEN / scope_missing",
    );
    expect(await words(approve(person("eve"), row.id, {}))).toBe("NOT_FOUND / unknown");
    expect(await words(approve({ ...ada, tenantId: "other" }, row.id, {}))).toBe(
      "NOT_FOUND / unknown",
    );
    expect(await words(approve(ada, "apr_x", {}))).toBe("NOT_FOUND / unknown");
    expect((await desk.store.approvals.get(row.id))?.state).toBe("pending");
    expect(desk.wentOn).toEqual([]);
    const key = testCaller({ userId: "ada", scopes: ["tool:approve"] });
    expect(await approve(key, row.id, {})).toMatchObject({ state: "approved" });
    expect(desk.wentOn).toEqual([row.id]);
  });

  test("an administrator in the console decides, also through a key with scope admin alone", async () => {
    const desk = await open();
    const { row } = await desk.held();
    const narrow = { ...ada, scopes: ["admin"] };
    expect(await words(desk.parts.inbox.approve(narrow, row.id, {}))).toBe(
      "FORBIDDEN / scope_missing",
    );
    const approved = await desk.parts.inbox.approve({ ...narrow, role: "admin" }, row.id, {});
    expect(approved).toMatchObject({ state: "approved" });
  });

  test("C52: whoever asked alone cannot agree to a tool that is gone: no rule lets them", async () => {
    const desk = await open();
    desk.approvers.clear();
    desk.approvers.add("bot");
    const { row } = await desk.held();
    const alone: Caller = {
      ...person("bot"),
      signIn: { id: "sgn_1", keyId: null, at: desk.clock },
    };
    expect(await desk.parts.inbox.show(alone, row.id)).toMatchObject({ mayDecide: true });
    desk.tool = testTool();
    expect(await desk.parts.inbox.show(alone, row.id)).toMatchObject({
      mayDecide: false,
      mayNot: expect.stringContaining("let another person decide") as string,
    });
  });

  test("T6: somebody else's approval does not exist, whoever asks", async () => {
    const desk = await open();
    const { row } = await desk.held();
    for (const caller of [person("eve"), { ...agent, userId: "other-bot" }]) {
      const missing = await fault(desk.parts.inbox.show(caller, "apr_missing"));
      const foreign = await fault(desk.parts.inbox.show(caller, row.id));
      expect(JSON.stringify(foreign)).toBe(JSON.stringify(missing).replace("apr_missing", row.id));
    }
  });

  test("an outage of the relation engine is no yes", async () => {
    const desk = await open({
      relations: { check: () => Promise.reject(new Error("down")), lookupSubjects: async () => [] },
    });
    const { row } = await desk.held();
    await expect(desk.parts.inbox.approve(ada, row.id, {})).rejects.toThrow("down");
    const conditional = await open({
      relations: { check: () => ({ has: "conditional" }), lookupSubjects: async () => [] },
    });
    const other = await conditional.held();
    expect(await words(conditional.parts.inbox.approve(ada, other.row.id, {}))).toBe(
      "NOT_FOUND / unknown",
    );
  });
});

describe("deciding", () => {
  test("one yes lets the call go on, audited step by step", async () => {
    const desk = await open();
    const { row } = await desk.held();
    const view = await desk.parts.inbox.approve(ada, row.id, { comment: "fine" });
    expect(view).toMatchObject({
      state: "approved",
      mayDecide: false,
      votes: [{ userId: "ada", decision: "approve", comment: "fine" }],
    });
    expect(view).not.toHaveProperty("sealed");
    expect(view).not.toHaveProperty("binding");
    expect(desk.wentOn).toEqual([row.id]);
    expect(desk.noted.map(({ action, userId }) => `${action} ${userId}`)).toEqual([
      "approval.requested bot",
      "approval.voted ada",
      "approval.approved ada",
    ]);
    expect(desk.told).toEqual(["requested pending", "decided approved"]);
    expect(await words(desk.parts.inbox.decline(bea, row.id, {}))).toBe("CONFLICT / stale");
  });

  test("R086: a no ends the call with the comment for the agent", async () => {
    const desk = await open();
    const { call, row } = await desk.held();
    const view = await desk.parts.inbox.decline(ada, row.id, { comment: "not on a Friday" });
    expect(view.state).toBe("declined");
    expect(desk.refused).toMatchObject([
      {
        executionId: call.id,
        fault: {
          code: "FORBIDDEN",
          reason: "approval_declined",
          message: "Approval denied by user: not on a Friday",
        },
      },
    ]);
    expect(desk.wentOn).toEqual([]);
    const plain = await desk.held({ path: "b", content: "b" });
    await desk.parts.inbox.decline(ada, plain.row.id, {});
    expect(desk.refused[1]?.fault.message).toBe("Approval denied by user");
    expect(await words(desk.parts.inbox.approve(bea, row.id, {}))).toBe("CONFLICT / stale");
    expect(await desk.store.approvals.get(row.id)).toMatchObject({ sealed: null });
  });

  test("2 of 3: different people, one no is a no", async () => {
    const desk = await open();
    desk.rules = { ...desk.rules, approvals: 2 };
    const { row } = await desk.held();
    const { approve, decline } = desk.parts.inbox;
    expect(await approve(ada, row.id, {})).toMatchObject({ state: "pending", needed: 2 });
    const again = await fault(approve(ada, row.id, {}));
    expect(again).toMatchObject({
      code: "CONFLICT",
      reason: "stale",
      message: expect.stringContaining("your vote already") as string,
    });
    expect(desk.wentOn).toEqual([]);
    expect(await approve(bea, row.id, {})).toMatchObject({ state: "approved" });
    expect(desk.wentOn).toEqual([row.id]);
    const other = await desk.held({ path: "b", content: "b" });
    await approve(ada, other.row.id, {});
    expect(await decline(cleo, other.row.id, {})).toMatchObject({ state: "declined" });
  });

  test("100 votes at once of 2 people make one approval", async () => {
    const desk = await open();
    desk.rules = { ...desk.rules, approvals: 2 };
    const { row } = await desk.held();
    const votes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) =>
        desk.parts.inbox.approve(i % 2 ? ada : bea, row.id, {}),
      ),
    );
    expect(votes.filter((vote) => vote.status === "fulfilled").length).toBe(2);
    expect(desk.wentOn).toEqual([row.id]);
  });

  test("what ran out cannot be decided, swept or not", async () => {
    const desk = await open();
    const { row } = await desk.held();
    desk.clock += 600_000;
    const late = await fault(desk.parts.inbox.approve(ada, row.id, {}));
    expect(late).toMatchObject({
      code: "CONFLICT",
      message: expect.stringContaining("ran out at 2026-11-01T00:10") as string,
    });
  });
});

describe("editing before approving", () => {
  test("both versions are kept, the edited one is what runs", async () => {
    const desk = await open();
    const { call, row } = await desk.held({ path: "a.md", content: "rm", password: "hunter2" });
    const edit = { path: "a.md", content: "ls", password: "[masked]" };
    const view = await desk.parts.inbox.approve(ada, row.id, { arguments: edit });
    expect(view).toMatchObject({
      state: "approved",
      arguments: { content: "rm" },
      editedArguments: { ...edit, password: view.arguments["password"] },
    });
    const again = await desk.parts.approvals.reopen(row.id);
    expect(again?.arguments).toEqual({ path: "a.md", content: "ls", password: "hunter2" });
    const grant = { approvalId: row.id };
    expect(await desk.parts.approvals.use(call, grant)).toMatchObject({ changed: ["arguments"] });
    expect(
      await desk.parts.approvals.use({ ...call, arguments: again?.arguments ?? {} }, grant),
    ).toEqual({ ok: true });
    expect(JSON.stringify(desk.noted)).not.toContain("hunter2");
    expect(desk.noted.find(({ action }) => action === "approval.voted")?.body).toMatchObject({
      editedArguments: { content: "ls" },
    });
  });

  test("edited arguments must fit the schema; a mask needs something behind it", async () => {
    const desk = await open();
    const { row } = await desk.held();
    const { approve } = desk.parts.inbox;
    const wrong = await fault(approve(ada, row.id, { arguments: { path: 1, content: "x" } }));
    expect(wrong).toMatchObject({
      code: "BAD_REQUEST",
      reason: "invalid_arguments",
      errors: [{ path: "/path" }],
    });
    const masked = await fault(
      approve(ada, row.id, { arguments: { path: "a.md", content: "x", password: "[masked]" } }),
    );
    expect(masked.errors).toMatchObject([{ path: "/password" }]);
    const root = await fault(approve(ada, row.id, { arguments: {} }));
    expect(root.message).toContain("/path");
    expect((await desk.store.approvals.get(row.id))?.votes).toEqual([]);
    desk.tool = otherPin(writeTool);
    expect(await words(approve(ada, row.id, { arguments: { path: "b", content: "x" } }))).toBe(
      "CONFLICT / stale",
    );
  });

  test("an edit that changes nothing is none", async () => {
    const desk = await open();
    const { row } = await desk.held();
    const view = await desk.parts.inbox.approve(ada, row.id, {
      arguments: { content: "hi", path: "a.md" },
    });
    expect(view).toMatchObject({ state: "approved", editedArguments: null });
  });

  test("earlier votes start over, and nobody agrees to what they did not read", async () => {
    const desk = await open();
    desk.rules = { ...desk.rules, approvals: 2 };
    const { row } = await desk.held();
    const { approve, decline, show } = desk.parts.inbox;
    const { version } = await show(cleo, row.id);
    await approve(ada, row.id, { version });
    const edited = await approve(bea, row.id, { version, arguments: { path: "b", content: "x" } });
    expect(edited).toMatchObject({ state: "pending", votes: [{ userId: "bea" }] });
    expect(edited.version).not.toBe(version);
    expect(await words(approve(cleo, row.id, { version }))).toBe("CONFLICT / stale");
    expect(await words(decline(cleo, row.id, { version }))).toBe("CONFLICT / stale");
    expect(await approve(ada, row.id, { version: edited.version })).toMatchObject({
      state: "approved",
    });
    expect((await desk.parts.approvals.reopen(row.id))?.arguments).toEqual({
      path: "b",
      content: "x",
    });
    // The caller's repeat still joins nothing: what was asked is decided.
    expect((await desk.held()).row.id).not.toBe(row.id);
  });

  test("an edit in the very moment of a vote is told", async () => {
    const desk = await open();
    desk.rules = { ...desk.rules, approvals: 2 };
    const { row } = await desk.held();
    const { vote } = desk.store.approvals;
    let first = true;
    desk.store.approvals.vote = async (...args) => {
      if (first) {
        first = false;
        await desk.parts.inbox.approve(bea, row.id, { arguments: { path: "b", content: "x" } });
      }
      return vote(...args);
    };
    const late = await fault(desk.parts.inbox.approve(ada, row.id, {}));
    expect(late.message).toContain("were changed meanwhile");
  });

  test("T18: a tag is put back only where the call had that very secret", () => {
    const masker = createMasker({ key: new Uint8Array(32) });
    const token = `ghp_${"a1B2".repeat(9)}`;
    const original = { password: "p1", other_password: "p2", command: `push --to x ${token}` };
    const shown = masker.value(original);
    const back = (edited: JsonObject) => unmask(edited, original, masker.value(original), masker);
    expect(back(shown)).toEqual({ arguments: original, faults: [] });
    const shorter = { ...shown, command: shown.command.replace("--to x ", "") };
    expect(back(shorter)).toEqual({
      arguments: { ...original, command: `push ${token}` },
      faults: [],
    });
    const moved = { ...shown, password: shown.other_password };
    expect(back(moved).faults).toMatchObject([{ path: "/password" }]);
    const invented = { ...shown, command: "push [masked:000000000000]" };
    expect(back(invented).faults).toMatchObject([{ path: "/command" }]);
    expect(back({ ...shown, retries: "say [masked] twice" }).faults).toMatchObject([
      { path: "/retries", message: expect.stringContaining("[masked]") as string },
    ]);
  });

  test("a caller's own words that read like a mask stay what they are", () => {
    const masker = createMasker({ key: new Uint8Array(32) });
    const original = { text: "why does it say [masked:0123456789ab] here?" };
    const edited = { text: "why does it say [masked:0123456789ab]?" };
    expect(unmask(edited, original, masker.value(original), masker)).toEqual({
      arguments: edited,
      faults: [],
    });
  });

  test("masks are put back where they stood, in lists and below", () => {
    const original = { list: [{ token: "t1" }, "b"], "a/b": { secret: { x: 1 } }, none: null };
    const shown = { list: [{ token: "[masked]" }, "c"], "a/b": { secret: "[masked]" }, none: 1 };
    const masker = createMasker({ key: new Uint8Array(32) });
    const back = (edited: JsonObject) => unmask(edited, original, masker.value(original), masker);
    expect(back(shown)).toEqual({
      arguments: { list: [{ token: "t1" }, "c"], "a/b": { secret: { x: 1 } }, none: 1 },
      faults: [],
    });
    expect(
      back({ "a/b": { c: "[masked]" }, none: "[masked]" }).faults.map(({ path }) => path),
    ).toEqual(["/a~1b/c", "/none"]);
    expect(back({ list: { x: "[masked]" }, none: { y: "[masked]" } }).faults.length).toBe(2);
  });
});

describe("seeing", () => {
  test("lists hold one's own and what one may decide; being listed counts as presented", async () => {
    const desk = await open();
    const mine = await desk.held({ path: "1", content: "" });
    desk.clock += 1;
    const other = await desk.held(
      { path: "2", content: "" },
      { caller: testCaller({ userId: "bot2" }) },
    );
    const { list, show } = desk.parts.inbox;
    const own = await list(agent, { limit: 10 });
    expect(own.items.map((item) => [item.id, item.mayDecide, item.mayNot])).toEqual([
      [mine.row.id, false, "the requester cannot approve it; let another person decide"],
    ]);
    expect((await desk.store.approvals.get(mine.row.id))?.presentedAt).toBeNull();
    const inbox = await list(ada, { limit: 10, state: "pending" });
    expect(inbox.items.map((item) => [item.id, item.mayDecide])).toEqual([
      [other.row.id, true],
      [mine.row.id, true],
    ]);
    expect(inbox.next).toBeNull();
    expect((await desk.store.approvals.get(mine.row.id))?.presentedAt).toBe(desk.clock);
    expect((await list(ada, { limit: 10, mine: true })).items).toEqual([]);
    expect((await list(person("eve"), { limit: 10 })).items).toEqual([]);
    expect((await list(ada, { limit: 10, state: "approved" })).items).toEqual([]);
    expect(await show(agent, mine.row.id)).toMatchObject({ mayDecide: false });
    await desk.parts.inbox.decline(ada, mine.row.id, {});
    expect(await show(bea, mine.row.id)).toMatchObject({
      mayDecide: false,
      mayNot: "it is declined already",
    });
  });

  test("pages go on where they ended", async () => {
    const desk = await open({ maxPending: 200 });
    desk.approvers.delete("ada");
    for (let i = 0; i < 120; i++) {
      desk.clock += 1;
      await desk.held(
        { path: `${i}`, content: "" },
        i % 2 ? {} : { caller: testCaller({ userId: "bot2" }) },
      );
    }
    const { list } = desk.parts.inbox;
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await list(bea, { limit: 50, ...(after === undefined ? {} : { after }) });
      seen.push(...page.items.map((item) => item.arguments["path"] as string));
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => String(119 - i)));
    const mine = await list(agent, { limit: 60 });
    expect([mine.items.length, mine.next]).toEqual([60, null]);
    expect(await words(list(bea, { limit: 1, after: "apr_x" }))).toBe(
      "BAD_REQUEST / invalid_input",
    );
  });
});
