// Who holds something open, with the real identity and a store that may stop answering.
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { mandateOf, type Caller } from "../../contract/call.ts";
import { createCallerWatch, type CallerWatch, type CallerWatchPowers } from "./caller-watch.ts";

let app: StartedApp;
let admin: Caller;
beforeAll(async () => {
  app = await startApp({ listen: false });
  admin = await app.callerOf(app.adminKey);
});
afterAll(() => app.close());

let clock = 0;
let reported: string[] = [];
const opened: CallerWatch[] = [];
const open = (statusOf: CallerWatchPowers["statusOf"]): CallerWatch => {
  clock = 0;
  reported = [];
  const report = (message: string) => void reported.push(message);
  const standing = createCallerWatch({ statusOf, mandateOf, now: () => clock, report });
  opened.push(standing);
  return standing;
};
afterEach(() => {
  for (const standing of opened.splice(0)) standing.close();
});

const newCaller = async (): Promise<Caller> => {
  const { directory } = app.doors;
  const { id } = await directory.createUser(admin, { name: "Ada", plan: "team" });
  return app.callerOf((await directory.createKey(admin, { userId: id, name: "test" })).secret);
};
const down = (): Promise<never> => Promise.reject(new Error("the store is out"));

test("hears a right that was taken, the end of its key, and nothing after that", async () => {
  const standing = open((mandate) => app.doors.identity.standOf(mandate));
  const caller = await newCaller();
  const told: (string | null)[] = [];
  standing.watch(caller, (now) => told.push(now && now.level));
  await app.doors.directory.updateUser(admin, caller.userId, { plan: "free" });
  standing.recheck();
  await expect.poll(() => told).toEqual(["execute_basic"]);
  standing.recheck();
  await app.doors.directory.revokeKey(admin, caller.keyId ?? "");
  standing.recheck();
  await expect.poll(() => told).toEqual(["execute_basic", null]);
  standing.recheck();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(told.length).toBe(2);
});

test("who cannot be looked up stands for five seconds, then is taken for gone", async () => {
  let asked = 0;
  const standing = open(() => (asked++, down()));
  const told: (Caller | null)[] = [];
  standing.watch(await newCaller(), (now) => told.push(now));
  await expect.poll(() => asked).toBe(1);
  clock = 5_000;
  await expect.poll(() => asked).toBeGreaterThan(1);
  expect([told, reported]).toEqual([[], []]);
  clock = 5_001;
  await expect.poll(() => told).toEqual([null]);
  expect(reported).toEqual([expect.stringContaining("could not be looked up")]);
});

test("a store that answers again within that time ends nothing", async () => {
  let isDown = true;
  let asked = 0;
  const standing = open((mandate) => {
    asked++;
    return isDown ? down() : app.doors.identity.standOf(mandate);
  });
  const told: (Caller | null)[] = [];
  standing.watch(await newCaller(), (now) => told.push(now));
  await expect.poll(() => asked).toBeGreaterThan(1);
  isDown = false;
  const before = asked;
  await expect.poll(() => asked).toBeGreaterThan(before);
  clock = 60_000;
  standing.recheck();
  await expect.poll(() => asked).toBeGreaterThan(before + 1);
  expect([told, reported]).toEqual([[], []]);
});

test("who stops watching while they are looked up hears nothing", async () => {
  const answers: (() => void)[] = [];
  const standing = open(() => new Promise((resolve) => answers.push(() => resolve(null))));
  const told: (Caller | null)[] = [];
  const unwatch = standing.watch(await newCaller(), (now) => told.push(now));
  unwatch();
  for (const answer of answers) answer();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([answers.length, told]).toEqual([1, []]);
});
