// Sessions, messages, turns and assets: part of the store's suite.
import { describe, expect, test } from "vitest";
import {
  AlreadyExists,
  type MessageRow,
  type SessionRow,
  type Store,
  type TurnRow,
} from "../store.ts";
import { atOnce, T0 } from "./samples.suite.ts";

const ann = { tenantId: "local", userId: "ann" };
const strangers = [
  { tenantId: "local", userId: "bob" },
  { tenantId: "other", userId: "ann" },
];

const session = (id: string, more: Partial<SessionRow> = {}): SessionRow => ({
  id,
  ...ann,
  capsuleId: "all",
  personaId: null,
  role: null,
  title: "",
  preferences: {},
  idleSeconds: 900,
  headId: null,
  turnId: null,
  taint: [],
  createdAt: T0,
  lastSeenAt: T0,
  endedAt: null,
  ...more,
});

const message = (id: string, sessionId: string, text: string, more: Partial<MessageRow> = {}) => ({
  id,
  tenantId: ann.tenantId,
  sessionId,
  parentId: null,
  role: "user" as const,
  text,
  assets: [],
  turnId: null,
  createdAt: T0,
  ...more,
});

const turn = (id: string, sessionId: string, more: Partial<TurnRow> = {}): TurnRow => ({
  id,
  ...ann,
  sessionId,
  messageId: `m-${id}`,
  replyId: null,
  status: "running",
  phase: "receive",
  model: null,
  sealed: "",
  error: null,
  mandate: {
    ...ann,
    role: "user",
    level: "admin",
    scopes: ["*"],
    capsuleId: "all",
    keyId: null,
    via: "console",
  },
  trace: { traceId: "a".repeat(32), spanId: "b".repeat(16) },
  ip: null,
  workedMs: 0,
  startedAt: T0,
  endedAt: null,
  stopRequestedAt: null,
  instanceId: "one",
  lease: 1,
  leasedUntil: T0 + 1_000,
  ...more,
});

export function conversationsSuite(store: () => Store, another: () => Promise<Store>): void {
  const begin = (
    id: string,
    sessionId: string,
    text = "hello",
    on: Store = store(),
    more: Partial<TurnRow> = {},
  ) =>
    on.turns.begin(turn(id, sessionId, more), message(`m-${id}`, sessionId, text, { turnId: id }));

  describe("sessions", () => {
    test("belong to their user, are found by words of title and messages, and go with all of theirs", async () => {
      await store().sessions.create(session("s1", { title: "100% Wool_socks" }));
      await store().sessions.create(session("s2", { lastSeenAt: T0 + 5 }));
      await store().sessions.create(session("s3", { endedAt: T0 }));
      await expect(store().sessions.create(session("s1"))).rejects.toThrow(AlreadyExists);
      await begin("t1", "s2", "Where are my SOCKS?");
      const found = async (search: string, includeEnded = false) =>
        (await store().sessions.list(ann, { search, includeEnded }, { limit: 10 })).map(
          ({ id }) => id,
        );
      expect(await found("")).toEqual(["s2", "s1"]);
      expect(await found("", true)).toHaveLength(3);
      expect(await found("socks")).toEqual(["s2", "s1"]);
      expect(await found("0%")).toEqual(["s1"]);
      expect(await found("l_s")).toEqual(["s1"]);
      expect(await found("%")).toEqual(["s1"]);
      for (const stranger of strangers) {
        expect(await store().sessions.get(stranger, "s1")).toBeNull();
        expect(await store().sessions.remove(stranger, "s1")).toBe(false);
        expect(await store().messages.search(stranger, "socks", 5)).toEqual([]);
        expect(await store().turns.get(stranger, "t1")).toBeNull();
      }
      expect(await store().messages.search(ann, "my socks", 5)).toMatchObject([
        { id: "m-t1", title: "" },
      ]);
      await store().sessions.update("s1", {
        title: "T",
        taint: [{ tool: "web/get", executionId: "e", from: "example.com" }],
      });
      expect(await store().sessions.get(ann, "s1")).toMatchObject({
        title: "T",
        taint: [{ from: "example.com" }],
      });
      expect(await store().sessions.remove(ann, "s2")).toBe(true);
      expect(await store().messages.list("s2", 10)).toEqual([]);
      expect(await store().turns.get(ann, "t1")).toBeNull();
    });
  });

  describe("turns", () => {
    test("one at a time in a session: of ten that begin at once, one does", async () => {
      await store().sessions.create(session("s1"));
      const begun = await atOnce(10, [store(), await another()], (on, n) =>
        begin(`t${n}`, "s1", "hello", on),
      );
      expect(begun.filter(Boolean)).toHaveLength(1);
      expect(await store().messages.list("s1", 20)).toHaveLength(1);
      expect((await store().sessions.get(ann, "s1"))?.turnId).toBe(`t${begun.indexOf(true)}`);
      expect(await begin("tx", "nowhere")).toBe(false);
    });

    test("a step is written under its lease alone, and the end is final", async () => {
      await store().sessions.create(session("s1"));
      await begin("t1", "s1");
      const sealed = "x";
      expect(await store().turns.save("t1", 1, { phase: "execute", sealed })).toBe(true);
      expect(await store().turns.save("t1", 2, { phase: "stale" })).toBe(false);
      expect(await store().turns.renew("t1", 2, T0 + 1_000)).toBeNull();
      expect(await store().turns.renew("t1", 1, T0 + 1_000)).toEqual({ stop: false });
      expect(await store().turns.free(T0 + 999, 10)).toEqual([]);
      expect((await store().turns.free(T0 + 1_000, 10)).map(({ id }) => id)).toEqual(["t1"]);
      const taken = await atOnce(6, [store(), await another()], (on, n) =>
        on.turns.take("t1", 1, `i${n}`, T0 + 9_000),
      );
      expect(taken.filter((row) => row !== null)).toMatchObject([
        { lease: 2, phase: "execute", sealed },
      ]);
      const reply = message("r1", "s1", "hi", {
        role: "assistant",
        parentId: "m-t1",
        turnId: "t1",
      });
      const end = { status: "success" as const, replyId: "r1", endedAt: T0 + 5 };
      expect(await store().turns.end("t1", 1, end, reply)).toBe(false);
      expect(await store().messages.get("s1", "r1")).toBeNull();
      expect(await store().turns.end("t1", 2, end, reply)).toBe(true);
      expect(await store().turns.end("t1", 2, end, null)).toBe(false);
      expect(await store().turns.requestStop("t1", T0)).toBe(false);
      expect(await store().sessions.get(ann, "s1")).toMatchObject({ headId: "r1", turnId: null });
      expect(await store().turns.list("s1", ["t1"])).toMatchObject([{ status: "success", sealed }]);
    });

    test("those of an instance that stops are free at once", async () => {
      await store().sessions.create(session("s1"));
      await begin("t1", "s1");
      expect(await store().turns.letGo("another")).toBe(0);
      expect(await store().turns.letGo("one")).toBe(1);
      expect(await store().turns.free(T0, 10)).toHaveLength(1);
      expect(await store().turns.requestStop("t1", T0 + 1)).toBe(true);
      expect((await store().turns.get(ann, "t1"))?.stopRequestedAt).toBe(T0 + 1);
      expect(await store().turns.renew("t1", 1, T0 + 9)).toEqual({ stop: true });
    });
  });

  test("assets are kept byte by byte, for their owner", async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, n) => n % 256);
    const row = {
      id: "a1",
      ...ann,
      sessionId: "s1",
      executionId: null,
      name: "x.png",
      mime: "image/png",
      size: bytes.length,
      sha256: "0",
      createdAt: T0,
    };
    expect(await store().assets.put(row, bytes, 69_999)).toBe(false);
    expect(await store().assets.get(ann, "a1")).toBeNull();
    expect(await store().assets.put(row, bytes, 100_000)).toBe(true);
    expect(await store().assets.put({ ...row, id: "a2" }, bytes, 100_000)).toBe(false);
    await expect(store().assets.put(row, bytes, 1_000_000)).rejects.toThrow(AlreadyExists);
    expect(await store().assets.used(ann)).toBe(70_000);
    expect(await store().assets.get({ tenantId: "local" }, "a1")).toEqual(row);
    expect(await store().assets.list({ tenantId: "other" }, { limit: 5 })).toEqual([]);
    expect(await store().assets.get(ann, "a1")).toEqual(row);
    expect(Buffer.compare(Buffer.from((await store().assets.bytes("a1")) ?? []), bytes)).toBe(0);
    expect(await store().assets.list(ann, { limit: 5, sessionId: "s1" })).toEqual([row]);
    for (const stranger of strangers) {
      expect(await store().assets.get(stranger, "a1")).toBeNull();
      expect(await store().assets.remove(stranger, "a1")).toBe(false);
    }
    for (const stranger of strangers) expect(await store().assets.used(stranger)).toBe(0);
    expect(await store().assets.remove({ tenantId: "other" }, "a1")).toBe(false);
    expect(await store().assets.remove(ann, "a1")).toBe(true);
    expect(await store().assets.bytes("a1")).toBeNull();
  });
}
