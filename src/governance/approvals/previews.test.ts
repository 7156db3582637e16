// What an approver is shown of a call that may have changed since, and of the calls that a rule would cover.
import { afterEach, describe, expect, test } from "vitest";
import {
  agent,
  type Desk,
  openDesk,
  otherPin,
  person,
  T0,
  writeTool,
} from "../../../test/fixtures/approvals.ts";
import type { Preview } from "../../contract/effect.ts";
import type { AppError } from "../../contract/errors.ts";

const desks: Desk[] = [];
async function open(...args: Parameters<typeof openDesk>): Promise<Desk> {
  const desk = await openDesk(...args);
  desks.push(desk);
  return desk;
}
afterEach(async () => {
  for (const desk of desks.splice(0)) await desk.close();
});

const { signal } = new AbortController();
const ada = person("ada");
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable("it was allowed"),
    (cause: unknown) => (cause as AppError).fault,
  );

describe("the effect of a waiting call", () => {
  /** Whatever is looked at shows this; how often it was looked at. */
  async function openShown() {
    const seen = { count: 0 };
    const desk = await open({
      previewOf: async () => {
        seen.count++;
        return { denied: null, effect: { kind: "none", reason: "looked at" } };
      },
    });
    const { row } = await desk.held();
    const preview = (more: object = {}) =>
      desk.parts.inbox.preview(ada, row.id, { signal, ...more });
    return { desk, row, preview, seen };
  }

  test("is looked at as long as all is as it was", async () => {
    const { preview, seen } = await openShown();
    expect(await preview()).toMatchObject({ denied: null, effect: { reason: "looked at" } });
    expect(seen.count).toBe(1);
  });

  test("that ran out is not looked at", async () => {
    const { desk, row, preview, seen } = await openShown();
    desk.clock = row.expiresAt;
    expect(await preview()).toMatchObject({
      denied: null,
      effect: { kind: "none", reason: "the approval is expired: nothing waits" },
    });
    expect(seen.count).toBe(0);
  });

  test("whose run is worked on elsewhere is left to that instance", async () => {
    const { desk, preview, seen } = await openShown();
    desk.owner = "elsewhere";
    expect(await preview()).toMatchObject({
      denied: null,
      effect: { kind: "none", reason: expect.stringContaining("another instance") as string },
    });
    expect(seen.count).toBe(0);
  });

  test("whose run has ended would be refused, and says why", async () => {
    const { desk, preview, seen } = await openShown();
    desk.owner = { over: "run run_1 has ended" };
    expect(await preview()).toMatchObject({
      denied: {
        stage: "approval",
        fault: {
          code: "FORBIDDEN",
          reason: "approval_changed",
          message: expect.stringContaining("it is over: run run_1 has ended") as string,
        },
      },
      effect: { kind: "none", reason: "the call would not run" },
    });
    expect(seen.count).toBe(0);
  });

  test("under another policy or with another tool would be refused, edited or not", async () => {
    const { desk, preview, seen } = await openShown();
    desk.policyVersion = "2";
    expect(await preview()).toMatchObject({
      edited: false,
      denied: { fault: { message: expect.stringMatching(/: policy$/) as string } },
    });
    const edit = { arguments: { path: "b.md", content: "hi" } };
    expect(await preview(edit)).toMatchObject({
      edited: true,
      denied: { fault: { message: expect.stringMatching(/: policy$/) as string } },
    });
    desk.policyVersion = "1";
    desk.tool = otherPin(writeTool);
    expect(await preview()).toMatchObject({
      denied: { fault: { message: expect.stringMatching(/: tool$/) as string } },
    });
    expect(seen.count).toBe(0);
  });

  test("is looked at for four people at once; a fifth comes back in a moment", async () => {
    const released = Promise.withResolvers<Preview>();
    let running = 0;
    const desk = await open({
      previewOf: async () => {
        running++;
        return released.promise;
      },
    });
    const { row } = await desk.held();
    const preview = () => desk.parts.inbox.preview(ada, row.id, { signal });
    const four = [preview(), preview(), preview(), preview()];
    await expect.poll(() => running).toBe(4);
    expect(await faultOf(preview())).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      reason: "concurrency",
      retryAfterSeconds: 2,
    });
    released.resolve({ denied: null, effect: { kind: "none", reason: "looked at" } });
    await Promise.all(four);
    // Their places are free again.
    expect(await preview()).toMatchObject({ effect: { reason: "looked at" } });
  });
});

describe("what a rule would cover", () => {
  async function openReach() {
    const desk = await open({ maxPending: 500 });
    const reachOf = (id: string, options: object = {}) =>
      desk.parts.inbox.previewRule(ada, id, { last: 500, ...options });
    return { desk, reachOf };
  }
  const note = (path: string) => ({ path, content: "hi" });

  test("goes through more records than one page, and shows the newest twenty", async () => {
    const { desk, reachOf } = await openReach();
    for (let n = 0; n < 60; n++) {
      desk.clock++;
      await desk.held(note(`${n}.md`));
    }
    const { row } = await desk.held(note("last.md"));
    const matches = [{ pointer: "/content", equals: "hi" }];
    const all = await reachOf(row.id, { matches });
    expect(all).toMatchObject({ tried: 61, covered: 61, unknown: 0 });
    expect(all.newest).toHaveLength(20);
    expect(await reachOf(row.id, { matches, last: 55 })).toMatchObject({ tried: 55, covered: 55 });
    expect(await reachOf(row.id, { matches, from: desk.clock })).toMatchObject({ covered: 2 });
    expect(await reachOf(row.id)).toMatchObject({ tried: 61, covered: 1 });
    const none = await reachOf(row.id, { matches, from: desk.clock + 1 });
    expect(none).toMatchObject({ tried: 0, oldest: null, newest: [] });
    // Every page is full, and the one after them is empty.
    for (let n = 0; n < 39; n++) await desk.held(note(`more-${n}.md`));
    expect(await reachOf(row.id, { matches })).toMatchObject({ tried: 100, oldest: T0 + 1 });
  });

  test("is no call of another definition of the tool, and none after content from outside", async () => {
    const { desk, reachOf } = await openReach();
    const taint = [
      { tool: "web/get", executionId: "exec_0", from: "example.org", reader: "chat" as const },
    ];
    const metadata = { taint: taint.map((one) => ({ ...one })) };
    const tainted = await desk.held(note("a.md"), { taint, metadata });
    expect(tainted.row.reasons).toContainEqual({
      reason: "tainted",
      message: "The agent has read content from example.org (web/get)",
      sources: [{ from: "example.org", tool: "web/get", reader: "chat" }],
    });
    desk.tool = otherPin(writeTool);
    await desk.held(note("a.md"));
    desk.tool = writeTool;
    const { row } = await desk.held(note("a.md"));
    expect(await reachOf(row.id)).toMatchObject({ tried: 3, covered: 1, unknown: 0 });
  });

  test("cannot be told of a call whose secret stands where the rule looks", async () => {
    const { desk, reachOf } = await openReach();
    await desk.held({ ...note("a.md"), password: "hunter2" });
    const { row } = await desk.held(note("a.md"));
    const exact = await reachOf(row.id);
    expect(exact).toMatchObject({ tried: 2, covered: 1, unknown: 1, broader: false });
    expect(exact.summary).toBe(
      "It covers exactly these arguments. Of the last 2 calls of bot to file/scribble it would have covered 1; unknown for 1.",
    );
    // Where it does not look, it does not matter.
    const matches = [{ pointer: "/path", equals: "a.md" }];
    expect(await reachOf(row.id, { matches })).toMatchObject({ covered: 2, unknown: 0 });
  });

  test.each([
    [[], "It is broader than this call: the arguments may be anything."],
    [
      [{ pointer: "/path", glob: "*.md" }],
      "it needs /path like *.md; content and any others may be anything.",
    ],
    [
      [
        { pointer: "/path", glob: "*.md" },
        { pointer: "/content", equals: "hi" },
      ],
      "it needs /path like *.md, /content as it is; any others may be anything.",
    ],
  ])("is told with its breadth: %j", async (matches, text) => {
    const { desk, reachOf } = await openReach();
    const { row } = await desk.held(note("a.md"));
    const { broader, summary } = await reachOf(row.id, { matches });
    expect(broader).toBe(true);
    expect(summary).toContain(text);
  });

  test("names arguments as they are called, also by what is inside them", async () => {
    const { desk, reachOf } = await openReach();
    const { row } = await desk.held({ "a/b~": "x", at: { name: "y" }, atlas: 1 });
    const matches = [
      { pointer: "/a~1b~0", equals: "x" },
      { pointer: "/at/name", equals: "y" },
    ];
    const { summary } = await reachOf(row.id, { matches });
    expect(summary).toContain("it needs /a~1b~0 as it is, /at/name as it is; atlas and any others");
  });

  test("must fit the call that it is drafted from", async () => {
    const { desk, reachOf } = await openReach();
    const { row } = await desk.held(note("a.md"));
    const matches = [{ pointer: "/path", equals: "b.md" }];
    expect(await faultOf(reachOf(row.id, { matches }))).toMatchObject({
      reason: "invalid_input",
      errors: [{ path: "/matches/0" }],
    });
  });

  test("is not told to whoever asked", async () => {
    const { desk } = await openReach();
    const { row } = await desk.held();
    const asked = desk.parts.inbox.previewRule(agent, row.id, { last: 1 });
    expect(await faultOf(asked)).toMatchObject({ code: "FORBIDDEN", reason: "own_approval" });
  });
});
