import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Call, CancelReason, ClientSide } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import { runWithDeadline } from "./deadline.ts";
import type { RunResult } from "./index.ts";

const DONE: RunResult = { output: "done", error: null, metadata: {} };
const route = { server: "s", method: "tools/call", name: "t", pin: "", operation: null };

function callOf(
  controller: AbortController,
  facts: Partial<Pick<Call, "client" | "onProgress">> & { route?: Tool["route"] },
): Call {
  const { client = null, onProgress = null } = facts;
  const tool = { route: facts.route ?? null } as Tool; // all that a deadline looks at
  return {
    id: "exec_1",
    timeoutMs: 1_000,
    signal: controller.signal,
    tool,
    client,
    onProgress,
  } as Call;
}

const clientThat = (ask: ClientSide["ask"]): ClientSide => ({
  capabilities: {},
  ask,
  notify: () => undefined,
});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function start(facts: Parameters<typeof callOf>[1], runner: (call: Call) => Promise<RunResult>) {
  const controller = new AbortController();
  const ended = runWithDeadline(runner, callOf(controller, facts), {
    abort: (reason: CancelReason) => controller.abort(reason),
    late: () => undefined,
  });
  return { controller, ended: Promise.resolve(ended) };
}

const never = (): Promise<RunResult> => new Promise(() => undefined);

describe("the time of a call", () => {
  test("runs out", async () => {
    const { ended } = start({}, never);
    await vi.advanceTimersByTimeAsync(1_200);
    expect(await ended).toEqual({
      kind: "cancelled",
      reason: "timeout",
      result: null,
      limit: { ms: 1_000, whose: null },
    });
  });

  test("stands still while the caller's client is asked, and goes on with what was left", async () => {
    let answer = (): void => undefined;
    const asked = clientThat(() => new Promise((resolve) => (answer = () => resolve({}))));
    const { ended, controller } = start({ client: asked }, async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 600));
      await call.client?.ask({}, { server: "s", signal: call.signal });
      return never();
    });
    await vi.advanceTimersByTimeAsync(500_000);
    expect(controller.signal.aborted).toBe(false);
    answer();
    await vi.advanceTimersByTimeAsync(300);
    expect(controller.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(300);
    expect(await ended).toMatchObject({ kind: "cancelled", reason: "timeout" });
  });

  test("goes on when the client could not be asked", async () => {
    const asked = clientThat(() => Promise.reject(new Error("gone")));
    const { ended } = start({ client: asked }, async (call) => {
      await call.client?.ask({}, { server: "s", signal: call.signal }).catch(() => undefined);
      return never();
    });
    await vi.advanceTimersByTimeAsync(1_200);
    expect(await ended).toMatchObject({ reason: "timeout" });
  });

  test("begins anew with progress from upstream, five minutes at most", async () => {
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }): void => void seen.push(progress);
    const { controller, ended } = start({ route, onProgress }, async (call) => {
      for (let progress = 1; ; progress++) {
        await new Promise((resolve) => setTimeout(resolve, 900));
        call.onProgress?.({ progress });
      }
    });
    await vi.advanceTimersByTimeAsync(295_000);
    expect(controller.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(controller.signal.reason).toBe("timeout");
    expect(seen.length).toBeGreaterThan(300);
    await vi.advanceTimersByTimeAsync(100);
    expect(await ended).toMatchObject({
      limit: { ms: 300_000, whose: "the longest time, with progress" },
    });
  });

  test("R139: runs out when there was progress, but no more of it", async () => {
    const { ended } = start({ route, onProgress: () => undefined }, async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 900));
      call.onProgress?.({ progress: 1 });
      return never();
    });
    await vi.advanceTimersByTimeAsync(2_100);
    expect(await ended).toMatchObject({
      limit: { ms: 1_000, whose: "the time since its last progress" },
    });
  });

  test("R139: of whoever waits for it is not the call's own", async () => {
    const { controller, ended } = start({}, never);
    controller.abort("timeout");
    await vi.advanceTimersByTimeAsync(200);
    expect(await ended).toMatchObject({ reason: "timeout", limit: null });
  });

  test("R141: what a tool handed over is there with what it noted", async () => {
    const result: RunResult = { output: "half", error: null, metadata: { filesTouched: ["a"] } };
    const { ended } = start(
      {},
      (call) =>
        new Promise((resolve) => call.signal.addEventListener("abort", () => resolve(result))),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toMatchObject({ kind: "cancelled", result });
  });

  test("is not moved by the progress of a tool of this process", async () => {
    const { controller } = start({ onProgress: () => undefined }, async (call) => {
      for (let progress = 1; ; progress++) {
        await new Promise((resolve) => setTimeout(resolve, 900));
        call.onProgress?.({ progress });
      }
    });
    await vi.advanceTimersByTimeAsync(1_100);
    expect(controller.signal.reason).toBe("timeout");
  });

  test("hands log messages on, and the level that was asked for", async () => {
    const notify = vi.fn();
    const client: ClientSide = {
      ...clientThat(() => Promise.resolve({})),
      notify,
      logLevel: "info",
    };
    const { ended } = start({ client }, (call) => {
      call.client?.notify("notifications/message", { level: call.client.logLevel ?? "" });
      return Promise.resolve(DONE);
    });
    expect(await ended).toEqual({ kind: "finished", result: DONE });
    expect(notify).toHaveBeenCalledWith("notifications/message", { level: "info" });
  });
});
