// What every implementation of the work port must do. The owner of the port owns the suite.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Advance, Work, WorkItem } from "./work.ts";

export interface Place {
  /** A separate instance on the same work; short leases. */
  open(instanceId: string, report?: (message: string, fields: object) => void): Promise<Work>;
  /** Arguments of a program (beside this file) that serves `kind` until it is killed, printing each item it begins. */
  readonly program: readonly string[];
  /** Longer than any lease. */
  readonly takeoverMs: number;
  dispose(): Promise<void>;
}

const item = (id: string, kind = "job"): WorkItem => ({ kind, id });
const DONE: Advance = { done: true };
const ASLEEP: Advance = { done: false, at: null };

export function workPortSuite(name: string, prepare: () => Promise<Place>): void {
  describe(`the work port: ${name}`, () => {
    let place: Place;
    let works: Work[];
    const open = async (id: string, report?: Parameters<Place["open"]>[1]): Promise<Work> => {
      const work = await place.open(id, report);
      works.push(work);
      return work;
    };
    beforeEach(async () => {
      place = await prepare();
      works = [];
    });
    afterEach(async () => {
      await Promise.all(works.map((work) => work.close()));
      await place.dispose();
    });
    const within = (ms: number) => ({ timeout: ms, interval: 10 });

    test("what is added is advanced until it is done, at the times it names", async () => {
      const work = await open("a");
      const seen: string[] = [];
      let first = 0;
      work.serve("job", async ({ kind, id }) => {
        seen.push(`${kind}/${id}`);
        if (seen.length > 1) return DONE;
        first = Date.now();
        return { done: false, at: first + 300 };
      });
      await work.add(item("1"));
      await expect.poll(() => seen, within(5_000)).toEqual(["job/1", "job/1"]);
      expect(Date.now() - first).toBeGreaterThanOrEqual(300);
      // It is done: nothing wakes it any more.
      await expect.poll(() => work.wake(item("1")).then(() => seen.length), within(500)).toBe(2);
    });

    test("what was added before anybody served it is taken; other kinds wait", async () => {
      const work = await open("a");
      await work.add(item("1"));
      await work.add(item("2", "other"));
      const seen: string[] = [];
      work.serve("job", async ({ id }) => {
        seen.push(id);
        return DONE;
      });
      await expect.poll(() => seen, within(5_000)).toEqual(["1"]);
      work.serve("other", async ({ id }) => {
        seen.push(id);
        return DONE;
      });
      await expect.poll(() => seen, within(5_000)).toEqual(["1", "2"]);
    });

    test("a wake while it is advanced is not lost, and it is never advanced twice at once", async () => {
      const [a, b] = [await open("a"), await open("b")];
      let [at, most, times] = [0, 0, 0];
      const gate = Promise.withResolvers<void>();
      const advance = async (): Promise<Advance> => {
        most = Math.max(most, ++at);
        times++;
        if (times === 1) await gate.promise;
        at--;
        return ASLEEP;
      };
      for (const work of [a, b]) work.serve("job", advance);
      await a.add(item("1"));
      await expect.poll(() => times, within(5_000)).toBe(1);
      await b.wake(item("1"));
      await a.wake(item("1"));
      gate.resolve();
      await expect.poll(() => times, within(5_000)).toBe(2);
      await b.wake(item("1"));
      await expect.poll(() => times, within(5_000)).toBe(3);
      expect(most).toBe(1);
    });

    test("of two instances each item is advanced by one", async () => {
      const seen: string[] = [];
      const advance = async ({ id }: WorkItem): Promise<Advance> => {
        seen.push(id);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return DONE;
      };
      const [a, b] = [await open("a"), await open("b")];
      for (const work of [a, b]) work.serve("job", advance);
      const ids = Array.from({ length: 60 }, (_, i) => `${i}`);
      await Promise.all(ids.map((id, i) => (i % 2 === 0 ? a : b).add(item(id))));
      await expect.poll(() => seen.length, within(20_000)).toBe(60);
      expect(seen.toSorted()).toEqual(ids.toSorted());
    });

    test("an advance that throws is told, and tried again after a pause", async () => {
      const told: object[] = [];
      const work = await open("a", (_message, fields) => told.push(fields));
      const times: number[] = [];
      work.serve("job", async () => {
        times.push(Date.now());
        if (times.length === 1) throw new Error("not now");
        return DONE;
      });
      await work.add(item("1"));
      await expect.poll(() => times.length, within(10_000)).toBe(2);
      expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(900);
      expect(told).toEqual([expect.objectContaining({ kind: "job", item: "1", failures: 1 })]);
    });

    test("who stops tells what it advances, gives it back, and another goes on at once", async () => {
      const [a, b] = [await place.open("a"), await open("b")];
      const began = Promise.withResolvers<void>();
      let reason: unknown;
      a.serve("job", async (_item, signal) => {
        began.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        reason = signal.reason;
        throw new Error("stopped");
      });
      await a.add(item("1"));
      await began.promise;
      const seen: string[] = [];
      b.serve("job", async ({ id }) => {
        seen.push(id);
        return DONE;
      });
      expect(seen).toEqual([]);
      await a.close();
      expect(reason).toBe("shutdown");
      await expect.poll(() => seen, within(5_000)).toEqual(["1"]);
    });

    test(
      "what a process was advancing when it was killed, another advances within the lease",
      { timeout: 120_000 },
      async () => {
        const work = await open("b");
        await work.add(item("1"));
        const child = spawn(process.execPath, [...place.program], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        const [line] = (await once(child.stdout, "data")) as [Buffer];
        expect(line.toString()).toBe("1\n");
        const seen: string[] = [];
        work.serve("job", async ({ id }) => {
          seen.push(id);
          return DONE;
        });
        // Longer than a lease: an instance that lives keeps it.
        await new Promise((resolve) => setTimeout(resolve, place.takeoverMs));
        expect(seen).toEqual([]);
        child.kill("SIGKILL");
        await once(child, "exit");
        await expect.poll(() => seen, within(place.takeoverMs + 5_000)).toEqual(["1"]);
      },
    );
  });
}
