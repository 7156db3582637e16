import { afterEach, describe, expect, test } from "vitest";
import {
  agent,
  type Desk,
  openDesk,
  otherPin,
  person,
  writeTool,
} from "../../../test/fixtures/approvals.ts";
import { testCaller } from "../../../test/fixtures/gate.ts";
import type { JsonObject } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import { freezeTool } from "../../contract/tool.ts";
import { compileMatches, valueAt } from "./matches.ts";

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
const ada = person("ada");
const HOUR = 3_600;

async function granted(desk: Desk, args?: JsonObject): Promise<string> {
  const { row } = await desk.held(args);
  await desk.parts.inbox.approve(ada, row.id, {});
  return row.id;
}

describe("standing rules", () => {
  test("cover exactly the same call of the same user until they end", async () => {
    const desk = await open();
    const from = await granted(desk);
    const { draft, list } = desk.parts.inbox.rules;
    const { covers } = desk.parts.approvals;
    expect(await covers(desk.call())).toBeNull();
    const rule = await draft(ada, from, { expiresInSeconds: HOUR });
    expect(rule).toMatchObject({
      userId: "bot",
      toolName: "file/scribble",
      fromApproval: from,
      createdBy: "ada",
      matches: [{ pointer: "", equals: { path: "a.md", content: "hi" } }],
    });
    expect(rule.id).toMatch(/^rul_/);
    expect(await covers(desk.call())).toBe(rule.id);
    expect(covers(desk.call({ content: "hi", path: "a.md" }))).toBe(rule.id); // remembered: no promise
    expect(covers(desk.call({ path: "a.md", content: "ho" }))).toBeNull();
    expect(covers(desk.call(undefined, { caller: testCaller() }))).toBeNull();
    expect(covers(desk.call(undefined, { tool: otherPin(writeTool) }))).toBeNull();
    expect(covers(desk.call(undefined, { tool: null }))).toBeNull();
    expect(desk.noted.at(-1)).toMatchObject({ action: "approval.rule_created", userId: "ada" });
    expect((await list(ada)).map((row) => row.id)).toEqual([rule.id]);
    expect((await list(agent)).map((row) => row.id)).toEqual([rule.id]);
    expect(await list(person("eve"))).toEqual([]);
    desk.rules = { ...desk.rules, approvals: 2 };
    expect(covers(desk.call())).toBeNull();
    desk.rules = { ...desk.rules, approvals: 1 };
    desk.clock += HOUR * 1000;
    expect(covers(desk.call())).toBeNull();
  });

  test("are revoked before that is acknowledged, in one place", async () => {
    for (const shared of [false, true]) {
      const desk = await open({}, { shared });
      const { draft, revoke, list } = desk.parts.inbox.rules;
      const rule = await draft(ada, await granted(desk), { expiresInSeconds: HOUR });
      const { covers } = desk.parts.approvals;
      expect(await covers(desk.call())).toBe(rule.id);
      expect((await fault(revoke(person("eve"), rule.id))).code).toBe("NOT_FOUND");
      expect((await fault(revoke({ ...ada, tenantId: "other" }, rule.id))).code).toBe("NOT_FOUND");
      expect((await fault(revoke(ada, "rul_x"))).code).toBe("NOT_FOUND");
      expect(await revoke(ada, rule.id)).toMatchObject({ id: rule.id, revokedAt: desk.clock });
      expect(await covers(desk.call())).toBeNull();
      expect((await fault(revoke(ada, rule.id))).code).toBe("NOT_FOUND");
      expect(await list(ada)).toEqual([]);
      expect(desk.noted.at(-1)).toMatchObject({ action: "approval.rule_revoked", userId: "ada" });
    }
  });

  test("may be given up by whom they are for, and revoked by administrators", async () => {
    const desk = await open();
    const { draft, revoke } = desk.parts.inbox.rules;
    const from = await granted(desk);
    const first = await draft(ada, from, { expiresInSeconds: HOUR });
    await revoke(agent, first.id);
    const second = await draft(ada, from, { expiresInSeconds: HOUR });
    const admin = { ...person("root"), role: "admin" as const };
    await revoke(admin, second.id);
    expect(await desk.parts.inbox.rules.list(admin)).toEqual([]);
  });

  test("match by pointer: equal or glob", async () => {
    const desk = await open();
    const from = await granted(desk, { path: "notes/a.md", content: "hi" });
    const matches = [{ pointer: "/path", glob: "notes/*.md" }];
    const rule = await desk.parts.inbox.rules.draft(ada, from, { expiresInSeconds: HOUR, matches });
    const { covers } = desk.parts.approvals;
    const path = (text: string) => covers(desk.call({ path: text, content: "anything" }));
    expect(await path("notes/b.md")).toBe(rule.id);
    for (const other of [
      "notes/b.txt",
      "notes/x/b.md",
      "x/notes/b.md",
      "notes/../b.md",
      "notes/..",
      "",
    ])
      expect(path(other)).toBeNull();
    const any = await desk.parts.inbox.rules.draft(ada, from, {
      expiresInSeconds: HOUR,
      matches: [],
    });
    expect(await path("elsewhere")).toBe(any.id);
  });

  test("say what is wrong with a draft", async () => {
    const desk = await open();
    const from = await granted(desk, { path: "a.md", content: "hi", password: "hunter2" });
    const { draft } = desk.parts.inbox.rules;
    const errors = async (rule: Parameters<typeof draft>[2]) =>
      (await fault(draft(ada, from, rule))).errors?.map(
        ({ path, message }) => `${path} ${message}`,
      );
    const near = async (matches: Parameters<typeof draft>[2]["matches"]) =>
      errors({ expiresInSeconds: 60, ...(matches ? { matches } : {}) });
    for (const seconds of [0, 1.5, 30 * 86_400 + 1])
      expect(await errors({ expiresInSeconds: seconds, matches: [] })).toMatchObject(
        [/\/expiresInSeconds .*30 days/].map((text) => expect.stringMatching(text) as string),
      );
    expect(await near(undefined)).toEqual([
      "/matches the call's arguments hold secrets, which a rule must not",
    ]);
    expect(await near([{ pointer: "/password", glob: "*" }])).toEqual([
      "/matches/0 is masked, and a rule must not hold a secret",
    ]);
    expect(
      await near([
        { pointer: "path", equals: 1 },
        { pointer: "/path" },
        { pointer: "/path", equals: "a", glob: "a" },
      ]),
    ).toEqual([
      '/matches/0 expected a JSON pointer such as /path, got "path"',
      "/matches/1 expected either equals or glob",
      "/matches/2 expected either equals or glob",
    ]);
    expect(
      await near([
        { pointer: "/path", glob: "" },
        { pointer: "/path", equals: "b.md" },
        { pointer: "/nope", glob: "*" },
      ]),
    ).toEqual([
      "/matches/0 expected a glob of 1 to 500 characters",
      "/matches/1 does not fit the call it is drafted from",
      "/matches/2 does not fit the call it is drafted from",
    ]);
    expect(
      await near(Array.from({ length: 51 }, () => ({ pointer: "/path", equals: "a.md" }))),
    ).toEqual(["/matches expected at most 50"]);
    expect(await desk.parts.inbox.rules.list(ada)).toEqual([]);
  });

  test("a tool that can do anything is covered by equal arguments only", async () => {
    const desk = await open();
    desk.tool = freezeTool({ ...writeTool, effects: "system_dangerous" });
    const from = await granted(desk);
    const { draft } = desk.parts.inbox.rules;
    const more = { expiresInSeconds: HOUR };
    expect(
      (await fault(draft(ada, from, { ...more, matches: [] }))).errors?.[0]?.message,
    ).toContain("equal arguments only");
    expect(
      (await fault(draft(ada, from, { ...more, matches: [{ pointer: "/path", glob: "*.md" }] })))
        .errors?.[0]?.message,
    ).toContain("equal arguments only");
    expect(await draft(ada, from, more)).toMatchObject({ matches: [{ pointer: "" }] });
  });

  test("come from an approval that was granted, by somebody who may decide it, for one person's yes", async () => {
    const desk = await open();
    const { draft } = desk.parts.inbox.rules;
    const { row } = await desk.held();
    const rule = { expiresInSeconds: HOUR };
    expect(await fault(draft(ada, row.id, rule))).toMatchObject({
      code: "CONFLICT",
      reason: "stale",
    });
    expect(await fault(draft(agent, row.id, rule))).toMatchObject({
      code: "FORBIDDEN",
      reason: "own_approval",
    });
    expect(await fault(draft(person("eve"), row.id, rule))).toMatchObject({ code: "NOT_FOUND" });
    await desk.parts.inbox.decline(ada, row.id, {});
    expect((await fault(draft(ada, row.id, rule))).code).toBe("CONFLICT");
    desk.rules = { ...desk.rules, approvals: 2 };
    const two = await desk.held({ path: "2", content: "" });
    await desk.parts.inbox.approve(ada, two.row.id, {});
    await desk.parts.inbox.approve(person("bea"), two.row.id, {});
    expect(await fault(draft(ada, two.row.id, rule))).toMatchObject({
      code: "FORBIDDEN",
      reason: "permission_missing",
    });
  });

  test("there is an end to their number", async () => {
    const desk = await open();
    const from = await granted(desk);
    const rule = await desk.parts.inbox.rules.draft(ada, from, { expiresInSeconds: HOUR });
    desk.store.standingRules.active = async () => Array.from({ length: 1_000 }, () => rule);
    expect(
      await fault(desk.parts.inbox.rules.draft(ada, from, { expiresInSeconds: HOUR })),
    ).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
  });

  test("what was read before a change is not remembered after it", async () => {
    const desk = await open();
    const rule = await desk.parts.inbox.rules.draft(ada, await granted(desk), {
      expiresInSeconds: HOUR,
    });
    const early = desk.parts.approvals.covers(desk.call());
    await desk.parts.inbox.rules.revoke(ada, rule.id);
    await early;
    expect(await desk.parts.approvals.covers(desk.call())).toBeNull();
  });
});

test("pointers reach into objects and lists, and nothing inherited", () => {
  const args = { "a/b": { "c~": [1, { d: 2 }] }, s: "x" };
  expect(valueAt(args, "")).toBe(args);
  expect(valueAt(args, "/a~1b/c~0/1/d")).toBe(2);
  for (const none of ["/a", "/s/length", "/constructor", "/a~1b/c~0/2", "/s/0/1"])
    expect(valueAt(args, none)).toBeUndefined();
  expect(compileMatches([{ pointer: "/s", glob: "?" }])(args)).toBe(true);
  expect(compileMatches([{ pointer: "/a~1b", glob: "*" }])(args)).toBe(false);
  expect(compileMatches([{ pointer: "/s", glob: "*" }])({ s: "x/y" })).toBe(false);
  expect(compileMatches([{ pointer: "/n" }])({ n: null })).toBe(true);
});
