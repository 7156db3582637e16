import { expect, it, vi } from "vitest";
import { testPowers, testSubject } from "../../test/fixtures/gate.ts";
import type { Verdict } from "../call.ts";
import { decide, EXECUTE, judge, VISIBLE, type Stage } from "./index.ts";
import { allow, deny } from "./stage.ts";

const stage = (decideIt: Stage["decide"]): Stage => ({
  name: "probe",
  engine: "test",
  hides: false,
  decide: decideIt,
});
const UNAVAILABLE = { stage: "probe", verdict: "deny", code: "UNAVAILABLE", reason: "engine_unavailable", engine: "test" }; // prettier-ignore

it("C10: the order of the stages", () => {
  expect(VISIBLE.map(({ name }) => name)).toEqual(["registry", "capsule"]);
  expect(EXECUTE.map(({ name }) => name)).toEqual(["registry", "capsule", "level", "input"]);
  expect(EXECUTE.slice(0, VISIBLE.length)).toEqual(VISIBLE);
  expect(EXECUTE.filter(({ hides }) => hides)).toEqual(VISIBLE);
});

it("a stage that throws denies, at once or later", async () => {
  const thrower = stage(() => {
    throw new Error("secret detail");
  });
  const rejecter = stage(() => Promise.reject(new Error("secret detail")));
  for (const broken of [thrower, rejecter]) {
    const verdict = await judge(broken, testSubject(), testPowers());
    expect(verdict).toMatchObject(UNAVAILABLE);
    expect(JSON.stringify(verdict)).not.toContain("secret detail");
  }
});

it("a stage that is too slow denies within its limit", async () => {
  vi.useFakeTimers();
  try {
    const judged = judge(stage(() => new Promise(() => undefined)), testSubject(), testPowers()); // prettier-ignore
    await vi.advanceTimersByTimeAsync(500);
    expect(await judged).toMatchObject(UNAVAILABLE);
  } finally {
    vi.useRealTimers();
  }
});

it("verdicts carry the stage and the time taken", async () => {
  const verdict = await judge(
    stage(() => Promise.resolve(allow())),
    testSubject(),
    testPowers(),
  );
  expect(verdict).toEqual({ stage: "probe", verdict: "allow", ms: expect.any(Number) as number });
});

it("stages are asked in order and the first refusal ends the questions", async () => {
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
  const stages = [named("a", allow()), named("b", deny("FORBIDDEN", "policy_denied", { message: "no", remedy: "ask" })), named("c", allow())]; // prettier-ignore
  const gates: Verdict[] = [];
  expect(await decide(stages, testSubject(), testPowers(), gates)).toEqual({ code: "FORBIDDEN", reason: "policy_denied", message: "no", remedy: "ask" }); // prettier-ignore
  expect(asked).toEqual(["a", "b"]);
  expect(gates.map((gate) => gate.verdict)).toEqual(["allow", "deny"]);
});

it("C23: after a hiding no only an outage of another hiding engine changes the answer", async () => {
  const hiding = (answer: ReturnType<typeof allow>): Stage => ({
    ...stage(() => answer),
    hides: true,
  });
  const no = deny("NOT_FOUND", "unknown", { message: "not found" });
  const out = deny("UNAVAILABLE", "engine_unavailable", { message: "out" });
  const ask = async (...stages: Stage[]) =>
    (await decide(stages, testSubject(), testPowers(), []))?.code;
  const never = stage(() => {
    throw new Error("must not be asked");
  });
  expect(await ask(hiding(no), hiding(allow()), never)).toBe("NOT_FOUND");
  expect(await ask(hiding(no), hiding(no), never)).toBe("NOT_FOUND");
  expect(await ask(hiding(no), hiding(out), never)).toBe("UNAVAILABLE");
  expect(await ask(hiding(allow()), hiding(allow()))).toBeUndefined();
});

it("a hold stops the call: nobody runs what a person has not let through", async () => {
  const held = stage(() => ({
    kind: "hold",
    reason: "approval_not_presented",
    message: "waiting",
  }));
  const never = stage(() => {
    throw new Error("must not be asked");
  });
  const gates: Verdict[] = [];
  expect(await decide([held, never], testSubject(), testPowers(), gates)).toEqual({ code: "FORBIDDEN", reason: "approval_not_presented", message: "waiting" }); // prettier-ignore
  expect(gates).toHaveLength(1);
});
