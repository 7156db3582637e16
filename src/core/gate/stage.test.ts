import { MessageChannel } from "node:worker_threads";
import { expect, test, vi } from "vitest";
import { testPowers, testSubject } from "../../../test/fixtures/gate.ts";
import {
  decide,
  EXECUTE,
  faultOfVerdict,
  judge,
  newTrail,
  undo,
  VISIBLE,
  type Stage,
} from "./index.ts";
import { allow, deny, type Decision } from "./stage.ts";

const stage = (decideIt: Stage["decide"]): Stage => ({
  name: "probe",
  engine: "test",
  hides: false,
  decide: decideIt,
});
const UNAVAILABLE = {
  stage: "probe",
  verdict: "deny",
  code: "UNAVAILABLE",
  reason: "engine_unavailable",
  engine: "test",
};

test("R088 C10: the order of the stages", () => {
  expect(VISIBLE.map(({ name }) => name)).toEqual([
    "registry",
    "capsule",
    "relationship",
    "policy",
  ]);
  expect(EXECUTE.map(({ name }) => name)).toEqual([
    "registry",
    "capsule",
    "relationship",
    "policy",
    "allowlist",
    "level",
    "mode",
    "input",
    "arguments",
    "rate",
    "budget",
    "approval",
  ]);
  expect(EXECUTE.slice(0, VISIBLE.length)).toEqual(VISIBLE);
  expect(EXECUTE.filter(({ hides }) => hides)).toEqual(VISIBLE);
});

test("a stage that throws denies, at once or later", async () => {
  const thrower = stage(() => {
    throw new Error("secret detail");
  });
  const rejecter = stage(() => Promise.reject(new Error("secret detail")));
  for (const broken of [thrower, rejecter]) {
    const verdict = await judge(broken, testSubject(), testPowers(), newTrail());
    expect(verdict).toMatchObject(UNAVAILABLE);
    expect(JSON.stringify(verdict)).not.toContain("secret detail");
  }
});

test("a stage that is too slow denies within its limit", async () => {
  vi.useFakeTimers();
  try {
    const judged = judge(
      stage(() => new Promise(() => undefined)),
      testSubject(),
      testPowers(),
      newTrail(),
    );
    await vi.advanceTimersByTimeAsync(501);
    expect(await judged).toMatchObject(UNAVAILABLE);
  } finally {
    vi.useRealTimers();
  }
});

test("a busy process does not take itself for a slow engine: what has arrived is read first", async () => {
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise<Decision>((resolve) =>
    port1.once("message", () => resolve(allow())),
  );
  const judged = judge(
    { ...stage(() => answered), limitMs: 5 },
    testSubject(),
    testPowers(),
    newTrail(),
  );
  port2.postMessage("yes");
  const until = performance.now() + 30;
  while (performance.now() < until);
  expect(await judged).toMatchObject({ verdict: "allow" });
  port1.close();
});

test("verdicts carry the stage and the time taken", async () => {
  const verdict = await judge(
    stage(() => Promise.resolve(allow())),
    testSubject(),
    testPowers(),
    newTrail(),
  );
  expect(verdict).toEqual({ stage: "probe", verdict: "allow", ms: expect.any(Number) as number });
});

test("stages are asked in order and the first refusal ends the questions", async () => {
  const asked: string[] = [];
  const named = (name: string, answer: ReturnType<typeof allow>): Stage => ({
    name,
    engine: name,
    hides: false,
    decide() {
      asked.push(name);
      return answer;
    },
  });
  const stages = [
    named("a", allow()),
    named("b", deny("FORBIDDEN", "policy_denied", { message: "no", remedy: "ask" })),
    named("c", allow()),
  ];
  const trail = newTrail();
  const stop = await decide(stages, testSubject(), testPowers(), trail);
  expect(stop && faultOfVerdict(stop)).toEqual({
    code: "FORBIDDEN",
    reason: "policy_denied",
    message: "no",
    remedy: "ask",
  });
  expect(asked).toEqual(["a", "b"]);
  expect(trail.gates.map((gate) => gate.verdict)).toEqual(["allow", "deny"]);
});

test("C23: after a hiding no only an outage of another hiding engine changes the answer", async () => {
  const hiding = (answer: ReturnType<typeof allow>): Stage => ({
    ...stage(() => answer),
    hides: true,
  });
  const no = deny("NOT_FOUND", "unknown", { message: "not found" });
  const out = deny("UNAVAILABLE", "engine_unavailable", { message: "out" });
  const ask = async (...stages: Stage[]) =>
    (await decide(stages, testSubject(), testPowers(), newTrail()))?.code;
  const never = stage(() => {
    throw new Error("must not be asked");
  });
  expect(await ask(hiding(no), hiding(allow()), never)).toBe("NOT_FOUND");
  expect(await ask(hiding(no), hiding(no), never)).toBe("NOT_FOUND");
  expect(await ask(hiding(no), hiding(out), never)).toBe("UNAVAILABLE");
  expect(await ask(hiding(allow()), hiding(allow()))).toBeUndefined();
});

test("a hold stops the call: nobody runs what a person has not let through", async () => {
  const held = stage(() => ({
    kind: "hold",
    reason: "approval_not_presented",
    message: "waiting",
  }));
  const never = stage(() => {
    throw new Error("must not be asked");
  });
  const trail = newTrail();
  const stop = await decide([held, never], testSubject(), testPowers(), trail);
  expect(stop).toMatchObject({ verdict: "hold" });
  expect(stop && faultOfVerdict(stop)).toEqual({
    code: "FORBIDDEN",
    reason: "approval_not_presented",
    message: "waiting",
  });
  expect(trail.gates).toHaveLength(1);
});

test("what stages took is given back once, also what a late yes took", async () => {
  const given: string[] = [];
  const taking = (name: string): Stage =>
    stage(() => ({
      kind: "allow",
      undo: () => void given.push(name),
      ask: { reason: name, message: name },
      windows: [],
    }));
  const trail = newTrail();
  expect(await decide([taking("a"), taking("b")], testSubject(), testPowers(), trail)).toBeNull();
  expect(trail.gates).toMatchObject([{ verdict: "allow", asks: "a" }, { asks: "b" }]);
  expect(trail.asks.map(({ reason }) => reason)).toEqual(["a", "b"]);
  await undo(trail);
  await undo(trail);
  expect(given).toEqual(["a", "b"]);

  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof allow>>();
  const slow: Stage = { ...stage(() => promise), limitMs: 1 };
  expect(await judge(slow, testSubject(), testPowers(), newTrail())).toMatchObject(UNAVAILABLE);
  resolve({ kind: "allow", undo: () => void given.push("late") });
  await promise;
  await Promise.resolve();
  expect(given).toEqual(["a", "b", "late"]);
});

test("a late no, a late failure and a yes that took nothing leave nothing to give back", async () => {
  for (const answer of [
    () => Promise.resolve(allow()),
    () => Promise.resolve(deny("FORBIDDEN", "policy_denied", { message: "no" })),
    () => Promise.reject(new Error("late")),
  ]) {
    const late = new Promise<void>((resolve) => setTimeout(resolve, 50)).then(answer);
    const slow: Stage = { ...stage(() => late), limitMs: 1 };
    expect(await judge(slow, testSubject(), testPowers(), newTrail())).toMatchObject(UNAVAILABLE);
    await late.catch(() => undefined);
  }
});

test("a refusal keeps its faults, its wait and the windows it counted in", async () => {
  const windows = [{ name: "user", quota: 1, windowSeconds: 60, remaining: 0, resetSeconds: 9 }];
  const errors = [{ path: "/a", message: "b" }];
  const no = stage(() =>
    deny("TOO_MANY_REQUESTS", "rate_user", {
      message: "no",
      retryAfterSeconds: 9,
      errors,
      windows,
    }),
  );
  const trail = newTrail();
  const stop = await decide([no], testSubject(), testPowers(), trail);
  expect(stop && faultOfVerdict(stop)).toEqual({
    code: "TOO_MANY_REQUESTS",
    reason: "rate_user",
    message: "no",
    retryAfterSeconds: 9,
    errors,
  });
  expect(trail.windows).toEqual(windows);
  expect(stop).not.toHaveProperty("windows");
});
