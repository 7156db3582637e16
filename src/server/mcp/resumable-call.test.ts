import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Caller, InputAnswers, InputQuestions, Outcome } from "../../contract/call.ts";
import {
  createResumableCalls,
  type ResumableCall,
  type ResumableCalls,
  type Waiter,
} from "./resumable-call.ts";

const WAIT_MS = 600_000;
const OUTCOME = { executionId: "exec_1" } as Outcome; // all that is looked at here
const QUESTION: InputQuestions = { name: { method: "elicitation/create", params: {} } };
const ANSWER: InputAnswers = { name: { action: "accept" } };

const callerOf = (userId: string): Caller => ({ tenantId: "t", userId, keyId: "k" }) as Caller;
const waiter = (signal = new AbortController().signal): Waiter => ({
  signal,
  report: null,
  message: () => undefined,
});

let parking: ResumableCalls;
beforeEach(() => {
  vi.useFakeTimers();
  parking = createResumableCalls({ perCaller: 2, total: 3, waitMs: WAIT_MS });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call that asks so many questions, one after the other, and then ends. */
function begin(questions: number, userId = "anna"): ResumableCall {
  return parking.begin({ caller: callerOf(userId), fingerprint: "f" }, async (self) => {
    for (let i = 0; i < questions; i++) await self.ask(QUESTION, self.signal);
    return OUTCOME;
  });
}

describe("a call that may outlive its request", () => {
  test("ends like any other when nothing is asked", async () => {
    expect(await begin(0).next(waiter())).toEqual({ kind: "ended", outcome: OUTCOME });
  });

  test("waits for an answer and goes on; each question is another round", async () => {
    const call = begin(2);
    expect(await call.next(waiter())).toEqual({ kind: "asks", questions: QUESTION });
    expect(parking.find(call.id, 1, "f")).toBe(call);
    call.answer(ANSWER);
    expect(await call.next(waiter())).toMatchObject({ kind: "asks" });
    expect(parking.find(call.id, 1, "f")).toBeNull();
    expect(parking.find(call.id, 2, "f")).toBe(call);
    call.answer(ANSWER);
    expect(await call.next(waiter())).toMatchObject({ kind: "ended" });
    expect(parking.find(call.id, 2, "f")).toBeNull();
  });

  test("is found for the very same request only", async () => {
    const call = begin(1);
    await call.next(waiter());
    expect(parking.find(call.id, 1, "other")).toBeNull();
    expect(parking.find("unknown", 1, "f")).toBeNull();
  });

  test("is cancelled when the client goes while it waits for the end, and not when it goes with a question", async () => {
    const gone = new AbortController();
    const call = begin(1);
    await call.next(waiter(gone.signal));
    gone.abort();
    expect(call.signal.aborted).toBe(false);
    call.answer(ANSWER);
    const other = new AbortController();
    const never = parking.begin(
      { caller: callerOf("anna"), fingerprint: "f" },
      () => new Promise(() => undefined),
    );
    const next = never.next(waiter(other.signal));
    other.abort();
    expect(never.signal.reason).toBe("user");
    next.catch(() => undefined);
  });

  test("is cancelled when no answer comes in time", async () => {
    const call = begin(1);
    await call.next(waiter());
    await vi.advanceTimersByTimeAsync(WAIT_MS - 1);
    expect(call.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(call.signal.reason).toBe("timeout");
    await expect(call.next(waiter())).rejects.toMatchObject({
      fault: { reason: "client_cannot_be_asked" },
    });
    expect(parking.find(call.id, 1, "f")).toBeNull();
  });

  test("is one of so many, per caller and in total", async () => {
    const [, , third] = [begin(1), begin(1), begin(1)];
    await expect(third?.next(waiter())).rejects.toMatchObject({ fault: { code: "UNAVAILABLE" } });
    const other = begin(1, "berta");
    expect(await other.next(waiter())).toMatchObject({ kind: "asks" });
    await expect(begin(1, "carla").next(waiter())).rejects.toThrow("too many");
    other.answer(ANSWER);
    await other.next(waiter());
    expect(await begin(1, "carla").next(waiter())).toMatchObject({ kind: "asks" });
  });

  test("asks one thing after the other, however many are asked at once", async () => {
    const call = parking.begin({ caller: callerOf("anna"), fingerprint: "f" }, async (self) => {
      await Promise.all([self.ask(QUESTION, self.signal), self.ask(QUESTION, self.signal)]);
      return OUTCOME;
    });
    for (const round of [1, 2]) {
      expect(await call.next(waiter())).toMatchObject({ kind: "asks" });
      expect(call.round).toBe(round);
      call.answer(ANSWER);
    }
    expect(await call.next(waiter())).toMatchObject({ kind: "ended" });
  });

  test("ends with the house", async () => {
    const call = begin(1);
    await call.next(waiter());
    parking.close();
    expect(call.signal.reason).toBe("shutdown");
    await expect(call.next(waiter())).rejects.toThrow("cancelled");
  });

  test("tells progress and messages to whoever waits at that moment", async () => {
    const [first, second] = [vi.fn(), vi.fn()];
    const call = begin(2);
    await call.next({ ...waiter(), report: first });
    call.report({ progress: 1 });
    call.answer(ANSWER);
    const next = call.next({ ...waiter(), report: second, message: second });
    call.report({ progress: 2 });
    call.message({ level: "info" });
    await next;
    expect(first).not.toHaveBeenCalled();
    expect(second.mock.calls).toEqual([[{ progress: 2 }], [{ level: "info" }]]);
  });
});

describe("a call that becomes a task", () => {
  const two: InputQuestions = { a: { method: "roots/list", params: {} }, ...QUESTION };

  test("only after the time and once its start is durable; it is found by its execution until it ends", async () => {
    const end = Promise.withResolvers<Outcome>();
    const facts = { caller: callerOf("anna"), fingerprint: "f" };
    const call = parking.begin(facts, () => end.promise);
    const gone = new AbortController();
    let step: unknown = null;
    const next = call.next(waiter(gone.signal), 500).then((one) => (step = one));
    await vi.advanceTimersByTimeAsync(600);
    expect([step, parking.task("exec_1")]).toEqual([null, null]);
    call.begun("exec_1");
    await next;
    expect(step).toEqual({ kind: "task", executionId: "exec_1" });
    expect(parking.task("exec_1")).toBe(call);
    gone.abort();
    expect(call.signal.aborted).toBe(false);
    end.resolve(OUTCOME);
    await vi.advanceTimersByTimeAsync(0);
    expect(parking.task("exec_1")).toBeNull();
  });

  test("a quick end comes first; without a time it never is one", async () => {
    const call = begin(0);
    call.begun("exec_1");
    expect(await call.next(waiter(), 500)).toMatchObject({ kind: "ended" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(parking.task("exec_1")).toBeNull();
    const other = begin(1);
    other.begun("exec_2");
    expect(await other.next(waiter())).toMatchObject({ kind: "asks" });
    expect([other.openQuestions, parking.task("exec_2")]).toEqual([null, null]);
  });

  test("its questions have keys of their own in each round, and may be answered one by one", async () => {
    const given: InputAnswers[] = [];
    const call = parking.begin({ caller: callerOf("anna"), fingerprint: "f" }, async (self) => {
      self.promote();
      for (let i = 0; i < 2; i++) given.push(await self.ask(two, self.signal));
      return OUTCOME;
    });
    call.begun("exec_1");
    expect(await call.next(waiter(), 500)).toMatchObject({ kind: "task" });
    await vi.advanceTimersByTimeAsync(0);
    expect(Object.keys(call.openQuestions ?? {})).toEqual(["1.a", "1.name"]);
    call.giveAnswers({ name: { x: 1 }, "2.a": { x: 1 }, "1.a": "no object" });
    call.giveAnswers({ "1.a": { roots: [] } });
    expect(Object.keys(call.openQuestions ?? {})).toEqual(["1.name"]);
    call.giveAnswers({ "1.a": { roots: [1] }, "1.name": { action: "accept" } });
    await vi.advanceTimersByTimeAsync(0);
    expect(given).toEqual([{ a: { roots: [] }, name: { action: "accept" } }]);
    expect(Object.keys(call.openQuestions ?? {})).toEqual(["2.a", "2.name"]);
    call.cancel("user");
    await vi.advanceTimersByTimeAsync(0);
    expect(call.openQuestions).toBeNull();
  });
});
