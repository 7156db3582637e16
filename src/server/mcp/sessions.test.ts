import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Caller } from "../../contract/call.ts";
import { createMcpSessions, type McpSession, type McpSessions } from "./sessions.ts";

const IDLE_MS = 60_000;
let sessions: McpSessions;
let ended: string[];

beforeEach(() => {
  vi.useFakeTimers();
  ended = [];
  sessions = createMcpSessions({
    idleMs: IDLE_MS,
    perCaller: 2,
    total: 3,
    now: Date.now,
    onError: () => undefined,
  });
});
afterEach(async () => {
  await sessions.close();
  vi.useRealTimers();
});

const caller = (userId: string, keyId = "k"): Caller => ({
  tenantId: "t",
  userId,
  role: "user",
  roles: [],
  plan: null,
  plans: { tenant: null, user: null, key: null },
  level: "admin",
  scopes: [],
  capsuleId: null,
  keyId,
  limits: null,
  via: "key",
});

function open(id: string, of: Caller): McpSession {
  const server = { close: () => Promise.resolve(void ended.push(id)) };
  const session = {
    caller: of,
    route: null,
    receiver: null,
    server,
    transport: {},
    open: 0,
    idleSince: Date.now(),
  };
  sessions.add(id, session as unknown as McpSession); // only `close` is used here
  return session as unknown as McpSession;
}

describe("legacy sessions", () => {
  test("are found by their caller only, with the same key", () => {
    open("a", caller("anna"));
    expect(sessions.get("a", caller("anna"), null)).not.toBeNull();
    expect(sessions.get("a", caller("berta"), null)).toBeNull();
    expect(sessions.get("a", caller("anna", "other"), null)).toBeNull();
    expect(sessions.get("a", { ...caller("anna"), tenantId: "u" }, null)).toBeNull();
    expect(sessions.get("b", caller("anna"), null)).toBeNull();
    expect(sessions.get("a", caller("anna"), "other-face")).toBeNull();
  });

  test("R054: end when nobody used them for the idle time", () => {
    open("a", caller("anna"));
    vi.advanceTimersByTime(IDLE_MS - 1);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(30_001);
    expect(ended).toEqual(["a"]);
    expect(sessions.get("a", caller("anna"), null)).toBeNull();
  });

  test("are not idle while an answer is being written", () => {
    const session = open("a", caller("anna"));
    const release = sessions.hold(session);
    vi.advanceTimersByTime(10 * IDLE_MS);
    expect(ended).toEqual([]);
    release();
    vi.advanceTimersByTime(IDLE_MS / 2);
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(IDLE_MS);
    expect(ended).toEqual(["a"]);
  });

  test("give way, the one idle longest first, when a caller has too many", () => {
    open("a", caller("anna"));
    vi.advanceTimersByTime(10);
    open("b", caller("anna"));
    expect(sessions.makeRoom(caller("anna"))).toBe(true);
    expect(ended).toEqual(["a"]);
  });

  test("are refused when all places of the caller are in use", () => {
    for (const id of ["a", "b"]) sessions.hold(open(id, caller("anna")));
    expect(sessions.makeRoom(caller("anna"))).toBe(false);
    expect(sessions.makeRoom(caller("berta"))).toBe(true);
    expect(ended).toEqual([]);
  });

  test("are bounded in total", () => {
    for (const [index, name] of ["anna", "berta", "carla"].entries()) {
      open(name, caller(name));
      vi.advanceTimersByTime(index + 1);
    }
    expect(sessions.makeRoom(caller("dora"))).toBe(true);
    expect(ended).toEqual(["anna"]);
  });
});
