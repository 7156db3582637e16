// What every state must do. An implementation's test is a few lines that give this suite empty states.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SLICES } from "./slices.ts";
import type { State, Window } from "./state.ts";

export interface StateGround {
  /** An empty state on a clock of the test's own; without one on its own clock. */
  open(options: { now?: () => number; onError?: (cause: unknown) => void }): Promise<State>;
  /** Examples of the property test: each take may be a round trip. */
  readonly runs: number;
}

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 10, 15);
const minute = (key: string, limit: number): Window => ({ key, limit, windowMs: MINUTE });

export function stateSuite(name: string, ground: StateGround): void {
  describe(`state: ${name}`, () => {
    let clock = T0;
    let state: State;
    const errors: unknown[] = [];
    beforeEach(async () => {
      clock = T0;
      errors.length = 0;
      state = await ground.open({ now: () => clock, onError: (cause) => errors.push(cause) });
    });
    afterEach(() => state.close());

    const remaining = async (...windows: Window[]): Promise<number[]> =>
      (await state.peek(windows)).windows.map((each) => each.remaining);

    test("counts up to the limit, and says how many are left", async () => {
      const window = minute("a", 3);
      expect(await state.peek([window])).toEqual({
        ok: true,
        windows: [{ remaining: 3, resetMs: 0 }],
      });
      for (const left of [2, 1, 0]) {
        expect(await state.take([window])).toMatchObject({
          ok: true,
          windows: [{ remaining: left }],
        });
      }
      expect(await state.take([window])).toMatchObject({ ok: false, windows: [{ remaining: 0 }] });
    });

    test("C19: all windows or none, also with four of them", async () => {
      const windows = [
        minute("a", 5),
        minute("b", 2),
        { ...minute("c", 9), windowMs: 3_600_000 },
        minute("d", 4),
      ];
      await state.take([minute("b", 2)]);
      expect((await state.take(windows)).ok).toBe(true);
      for (let i = 0; i < 3; i++) {
        const taken = await state.take(windows);
        expect(taken.ok).toBe(false);
        expect(taken.windows.map((each) => each.remaining)).toEqual([4, 0, 8, 3]);
      }
      expect(await remaining(...windows)).toEqual([4, 0, 8, 3]);
    });

    test("a limit of zero lets nothing through and counts nothing", async () => {
      const none = minute("lockdown", 0);
      const other = minute("other", 2);
      expect(await state.take([other, none])).toEqual({
        ok: false,
        windows: [
          { remaining: 2, resetMs: 0 },
          { remaining: 0, resetMs: MINUTE },
        ],
      });
      expect(await state.take([{ ...none, limit: 1 }])).toMatchObject({ ok: true });
    });

    test("without windows everything passes", async () => {
      expect(await state.take([])).toEqual({ ok: true, windows: [] });
    });

    test("peek counts nothing, and sees a changed limit at once", async () => {
      await state.take([minute("a", 5)]);
      await state.peek([minute("a", 5)]);
      expect(await remaining(minute("a", 5), minute("a", 1))).toEqual([4, 0]);
    });

    test("a refund gives back one to each, never more than was taken", async () => {
      const windows = [minute("a", 3), minute("b", 3)];
      await state.take(windows);
      clock += MINUTE / 2;
      await state.take([minute("a", 3)]);
      await state.refund(windows);
      expect(await remaining(...windows)).toEqual([2, 3]);
      await state.refund(windows);
      await state.refund(windows);
      expect(await remaining(...windows)).toEqual([3, 3]);
    });

    test("the reset is the moment at which one more passes, not earlier", async () => {
      const window = minute("a", 3);
      for (let i = 0; i < 3; i++) {
        clock += 7_001;
        await state.take([window]);
      }
      clock += 7_001;
      const { resetMs } = (await state.peek([window])).windows[0]!;
      expect(resetMs).toBeLessThanOrEqual(MINUTE + MINUTE / SLICES);
      clock += resetMs - 1;
      expect((await state.peek([window])).ok).toBe(false);
      clock += 1;
      expect((await state.take([window])).ok).toBe(true);
    });

    test("while there is room the reset tells when the window is empty again", async () => {
      await state.take([minute("a", 3)]);
      const { resetMs } = (await state.peek([minute("a", 3)])).windows[0]!;
      clock += resetMs - 1;
      expect(await remaining(minute("a", 3))).toEqual([2]);
      clock += 1;
      expect(await remaining(minute("a", 3))).toEqual([3]);
    });

    test("a clock that steps back frees nothing", async () => {
      await state.take([minute("a", 1)]);
      clock -= 3 * MINUTE;
      expect((await state.take([minute("a", 1)])).ok).toBe(false);
    });

    test("never over the limit in any stretch; a place comes back at most one slice late", async () => {
      const gaps = fc.array(fc.nat({ max: 9_000 }), { minLength: 1, maxLength: 60 });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 7 }), gaps, async (limit, steps) => {
          const window = minute(`round-${round++}`, limit);
          const log: number[] = [];
          const within = (ms: number): number => log.filter((at) => at > clock - ms).length;
          for (const step of steps) {
            clock += step;
            const { ok } = await state.take([window]);
            if (ok) log.push(clock);
            else expect(within(MINUTE + MINUTE / SLICES)).toBeGreaterThanOrEqual(limit);
            expect(within(MINUTE)).toBeLessThanOrEqual(limit);
          }
        }),
        { numRuns: ground.runs },
      );
    });

    test("of 1,000 at once exactly 100 pass a limit of 100", async () => {
      const own = await ground.open({});
      const windows = [minute("crowd", 100), minute("wide", 100_000)];
      const taken = await Promise.all(Array.from({ length: 1_000 }, async () => own.take(windows)));
      expect(taken.filter((each) => each.ok)).toHaveLength(100);
      expect((await own.peek(windows)).windows.map((each) => each.remaining)).toEqual([0, 99_900]);
      await own.close();
    });

    test.each([
      ["negative", minute("a", -1)],
      ["broken", minute("a", 1.5)],
      ["no number", minute("a", Number.NaN)],
      ["of no length", { ...minute("a", 1), windowMs: 0 }],
    ])("a window that is %s is a fault, not a free pass", async (_, window) => {
      const attempt = async (work: () => unknown) => work();
      await expect(attempt(() => state.take([window]))).rejects.toThrow(/must have a whole limit/);
      await expect(attempt(() => state.peek([window]))).rejects.toThrow(/must have a whole limit/);
    });

    test("tells listeners, this instance included, until they stop listening", async () => {
      const heard: string[] = [];
      const stop = state.subscribe("mode", (message) => {
        heard.push(message);
        throw new Error("a listener's own fault");
      });
      const also: string[] = [];
      const stopAlso = state.subscribe("mode", (message) => also.push(message));
      state.subscribe("other", () => expect.unreachable("another channel"));
      await expect
        .poll(async () => {
          await state.publish("mode", "ALERT");
          return also.length;
        })
        .toBeGreaterThan(0);
      expect(heard[0]).toBe("ALERT");
      expect(errors[0]).toEqual(new Error("a listener's own fault"));
      stop();
      stopAlso();
      stop();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const before = also.length;
      await state.publish("mode", "NORMAL");
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(also).toHaveLength(before);
    });

    test("answers a ping", () => state.ping());
  });
}
