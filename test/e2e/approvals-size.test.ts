// Calls with large arguments that wait for a person: lists show their beginnings, one approval is shown and run whole.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { canonicalJson } from "../../src/util/json/json.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, trpcClient, until } from "../fixtures/contract.ts";

const MB = 1_000_000;
const KEPT = 65_536;
const PAGE = 4_194_304;
const written: string[] = [];

const scribble = defineTool({
  name: "system/scribble",
  description: "Writes a text down and answers it. For tests only.",
  input: z.strictObject({ text: z.string().describe("Anything."), no: z.int().optional() }),
  output: z.strictObject({ text: z.string().describe("The same.") }),
  risk: "dangerous",
  effects: "system_write",
  needs: [],
  timeoutMs: 30_000,
  examples: [{ text: "hi" }],
  run({ text }) {
    written.push(text);
    return { text };
  },
});

let app: StartedApp;
let users = 0;
beforeAll(async () => {
  app = await startApp({
    tools: [scribble],
    flags: { "approvals.maxPendingPerCaller": "200", "rateLimit.enabled": "false" },
  });
});
afterAll(() => app.close());

const agent = (): Promise<string> =>
  newUser(app, `bot${++users}`, {
    level: "admin",
    capsuleId: "all",
    scopes: ["agent:execute:dangerous", "agent:execute:safe"],
  });
const call = (key: string, args: object) =>
  app.api("POST", "/executions", { key, body: { name: "system/scribble", arguments: args } });
async function held(key: string, args: object): Promise<{ id: string; executionId: string }> {
  const { status, body } = await call(key, args);
  expect([status, body.status]).toEqual([202, "pending"]);
  return { id: body.approval.id, executionId: body.executionId };
}
const decide = (verb: "approve" | "deny", id: string, body: object = {}) =>
  app.api("POST", `/approvals/${id}/${verb}`, { body });
const sha = (value: object): string =>
  createHash("sha256")
    .update(canonicalJson(value as never))
    .digest("hex");
const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

interface Page {
  items: { id: string; arguments: object; argumentsCut?: { size: number; sha256: string } }[];
  next: string | null;
}
/** All pages, each within its bounds. */
async function pages(key: string, which = "mine=true"): Promise<Page[]> {
  const found: Page[] = [];
  let after: string | null = null;
  do {
    const path: string = `/approvals?${which}&limit=100${after === null ? "" : `&after=${after}`}`;
    const { status, body } = await app.api("GET", path, { key });
    expect(status).toBe(200);
    expect(bytes(body)).toBeLessThan(PAGE + 300_000);
    found.push(body);
    after = body.next;
  } while (after !== null);
  return found;
}

test("B11: a list shows the beginning of large arguments, one approval all of them", async () => {
  const key = await agent();
  const args = { text: "a".repeat(MB) };
  const { id, executionId } = await held(key, args);
  const small = await held(key, { text: "small" });
  const cut = { size: bytes(args), sha256: sha(args) };
  const trpc = await trpcClient(app).approvals.listApprovals.query({ limit: 100 });
  const rest = (await app.api("GET", "/approvals?limit=100")).body as Page;
  for (const list of [rest, trpc as unknown as Page]) {
    const item = list.items.find((one) => one.id === id);
    expect(item?.argumentsCut).toEqual(cut);
    expect(JSON.stringify(item?.arguments)).toMatch(/^\{"text":"a{1000,}…"\}$/);
    expect(bytes(item?.arguments)).toBeLessThanOrEqual(KEPT);
    const other = list.items.find((one) => one.id === small.id);
    expect(other?.arguments).toEqual({ text: "small" });
    expect(other?.argumentsCut).toBeUndefined();
  }
  const one = (await app.api("GET", `/approvals/${id}`)).body;
  expect(one.arguments).toEqual(args);
  expect(one.argumentsCut).toBeUndefined();
  const events = (await app.api("GET", `/audit?execution=${executionId}`)).body;
  expect(bytes(events)).toBeLessThan(4 * KEPT);
  const log = (await app.api("GET", "/audit?action=approval.requested&limit=2")).body.events;
  const asked = log.find((event: { body: { approvalId: string } }) => event.body.approvalId === id);
  expect(asked.body.argumentsCut).toEqual(cut);
  expect(bytes(asked.body)).toBeLessThan(2 * KEPT);
  for (const open of [id, small.id]) await decide("deny", open);
});

test("B11: a page ends where it gets too large, and goes on", async () => {
  const ids: string[] = [];
  // Whoever tries too many dangerous calls is slowed down: several share the work.
  for (let no = 0, key = ""; no < 80; no++) {
    if (no % 4 === 0) key = await agent();
    ids.push((await held(key, { text: "b".repeat(60_000), no })).id);
  }
  const found = await pages(app.adminKey, "state=pending");
  expect(found.length).toBeGreaterThan(1);
  expect(found.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(ids.toReversed());
  // Nothing of these is cut: they are small enough one by one.
  expect(found.flatMap(({ items }) => items).every((item) => item.argumentsCut === undefined)).toBe(
    true,
  );
  for (const id of ids) await decide("deny", id);
}, 60_000);

test("B11: what waits for one caller is limited in bytes; the others and the decided ones do not count", async () => {
  const [key, other] = [await agent(), await agent()];
  const large = (no: number) => ({ text: "c".repeat(3 * MB), no });
  const ids: string[] = [];
  let refused: Awaited<ReturnType<typeof call>> | null = null;
  for (let no = 0; no < 8 && refused === null; no++) {
    const answer = await call(key, large(no));
    if (answer.status === 202) ids.push(answer.body.approval.id);
    else refused = answer;
  }
  expect(ids.length).toBeGreaterThanOrEqual(3);
  expect(refused).toMatchObject({
    status: 429,
    body: { code: "TOO_MANY_REQUESTS", reason: "concurrency" },
  });
  expect(refused?.body.detail).toContain("16777216 bytes");
  // The same call again joins the one that waits; small ones and those of others are held as before.
  expect((await call(key, large(0))).body.approval.id).toBe(ids[0]);
  const more = [await held(key, { text: "small" }), await held(other, large(0))];
  expect((await pages(key)).flatMap(({ items }) => items)).toHaveLength(ids.length + 1);
  await decide("deny", ids.shift() as string);
  ids.push((await held(key, large(99))).id);
  for (const id of [...ids, ...more.map((one) => one.id)]) await decide("deny", id);
}, 60_000);

test("B11: a held call with large arguments runs whole after the yes, and its result is fetched whole", async () => {
  const key = await agent();
  const text = `${"d".repeat(MB)} the end`;
  const { id, executionId } = await held(key, { text });
  expect((await decide("approve", id)).status).toBe(200);
  const execution = async () =>
    (await app.api("GET", `/executions/${executionId}`, { key })).body.execution;
  await until(async () => (await execution()).endTime !== undefined, 30_000);
  expect(written.at(-1)).toBe(text);
  const record = await execution();
  expect(record.status).toBe("success");
  expect(record.result).toEqual({ text });
  expect(record.resultCut).toBeUndefined();
  expect(record.argumentsCut.size).toBe(bytes({ text }));
}, 60_000);

test("B11: other large arguments of an approver run whole, and leave their beginning in lists and log", async () => {
  const key = await agent();
  const { id, executionId } = await held(key, { text: "short" });
  const edited = { text: `${"e".repeat(MB)} edited` };
  const voted = await decide("approve", id, { arguments: edited });
  expect([voted.status, voted.body.editedArguments]).toEqual([200, edited]);
  await until(async () => written.at(-1) === edited.text, 30_000);
  const [item] = (await app.api("GET", "/approvals?mine=true", { key })).body.items;
  expect(item.editedArgumentsCut).toEqual({ size: bytes(edited), sha256: sha(edited) });
  expect(bytes(item)).toBeLessThan(2 * KEPT);
  const [event] = (await app.api("GET", "/audit?action=approval.voted&limit=1")).body.events;
  expect(event.body).toMatchObject({ executionId, editedArgumentsCut: { size: bytes(edited) } });
  expect(bytes(event)).toBeLessThan(2 * KEPT);
}, 60_000);
