// Programs of code mode and their journals: part of the store's suite.
import { describe, expect, test } from "vitest";
import { atOnce, T0 } from "./samples.suite.ts";
import { AlreadyExists, type ProgramEntry, type ProgramRow, type Store } from "../store.ts";

const ann = { tenantId: "local", userId: "ann" };
const program: ProgramRow = {
  ...ann,
  id: "exec_1",
  state: "running",
  fence: 0,
  driver: "exec_1",
  mandate: {
    ...ann,
    role: "user",
    level: "admin",
    scopes: ["*"],
    capsuleId: "all",
    keyId: "key_1",
    via: "key",
  },
  sealed: "sealed",
  waits: [],
  answer: null,
  startedAt: T0,
  endedAt: null,
  expiresAt: T0 + 1_000,
};
const entry = (seq: number, change: Partial<ProgramEntry> = {}): ProgramEntry => ({
  seq,
  kind: "call",
  name: "system_echo",
  hash: "abc",
  executionId: `exec_of_${seq}`,
  answer: null,
  answered: null,
  answeredAt: null,
  ...change,
});
const wait = { executionId: "exec_of_1", tool: "shell/run", approvalId: "apr_1", expiresAt: T0 };

export function programsSuite(store: () => Store, another: () => Promise<Store>): void {
  const { id } = program;
  const programs = (): Store["programs"] => store().programs;

  describe("programs", () => {
    test("belong to their owner; whoever else asks finds none", async () => {
      await programs().create(program);
      expect(await programs().get(ann, id)).toEqual(program);
      expect(await programs().find(id)).toEqual(program);
      for (const stranger of [
        { tenantId: "local", userId: "bob" },
        { tenantId: "other", userId: "ann" },
      ])
        expect(await programs().get(stranger, id)).toBeNull();
      await expect(programs().create(program)).rejects.toThrow(AlreadyExists);
    });

    test("a journal grows, and its entries get answers; nothing else of them changes", async () => {
      await programs().create(program);
      expect(await programs().write(id, 0, [entry(2), entry(1)])).toBe(true);
      const answered = entry(1, { answered: 1, answeredAt: T0 + 5, answer: "sealed" });
      const found = entry(3, { kind: "find", name: "tools.find", executionId: null });
      expect(await programs().write(id, 0, [{ ...answered, name: "x", hash: "x" }, found])).toBe(
        true,
      );
      expect(await programs().journal(id)).toEqual([answered, entry(2), found]);
      expect(await programs().ofExecution("exec_of_2")).toBe(id);
      expect(await programs().ofExecution("exec_of_9")).toBeNull();
    });

    test("of all that take it over from one fence one does, and the one before writes nothing more", async () => {
      await programs().create(program);
      const other = await another();
      const claims = await atOnce(8, [store(), other], (one, n) =>
        one.programs.claim(id, 0, `exec_driver_${n}`),
      );
      const [winner, ...more] = claims.filter((one) => one !== null);
      expect(more).toEqual([]);
      expect(winner).toMatchObject({ fence: 1, state: "running" });
      expect(await programs().write(id, 0, [entry(1)])).toBe(false);
      expect(
        await programs().update(id, 0, {
          state: "suspended",
          waits: [wait],
          answer: "x",
          endedAt: null,
        }),
      ).toBe(false);
      expect(await programs().journal(id)).toEqual([]);
      expect(await programs().find(id)).toEqual(winner);
    });

    test("its end is final, and takes the journal with it", async () => {
      await programs().create(program);
      await programs().write(id, 0, [entry(1)]);
      const suspended = {
        state: "suspended",
        waits: [wait],
        answer: "so far",
        endedAt: null,
      } as const;
      expect(await programs().update(id, 0, suspended)).toBe(true);
      expect(await programs().get(ann, id)).toEqual({ ...program, ...suspended });
      const ended = { state: "ended", waits: [], answer: "all", endedAt: T0 + 9 } as const;
      expect(await programs().update(id, 1, ended)).toBe(false);
      expect((await programs().journal(id)).length).toBe(1);
      expect(await programs().update(id, 0, ended)).toBe(true);
      expect(await programs().journal(id)).toEqual([]);
      expect(await programs().claim(id, 0, "exec_late")).toBeNull();
      expect(await programs().write(id, 0, [entry(2)])).toBe(false);
      expect(await programs().update(id, 0, { ...ended, answer: "other" })).toBe(false);
      expect(await programs().get(ann, id)).toEqual({ ...program, ...ended });
      await programs().remove(id);
      expect(await programs().find(id)).toBeNull();
    });
  });
}
