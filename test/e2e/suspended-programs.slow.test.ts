// A program of ten calls, two of which wait for a person, killed with -9 at every await: in the middle of calls, right
// after their answers, and while it waits. Whoever counts the effects counts one for each call.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { until } from "../fixtures/contract.ts";

const CALLS = 10;
const HELD = [4, 8];
const PROGRAM = `
  const began = [Date.now(), Math.random()];
  const told = [];
  for (let n = 1; n <= ${CALLS}; n++)
    try {
      told.push((await call(${JSON.stringify(HELD)}.includes(n) ? "shell_lever" : "web_count", { n })).n);
    } catch (e) {
      told.push(e.code);
    }
  return { began, told };`;

test("each call has one effect, or says that its outcome is not known; the program ends with the right result", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-programs-"));
  const effects: number[] = [];
  let kills = 0;
  let server: RunningServer | null = null;
  let restarted: Promise<void> = Promise.resolve();
  const killAndRestart = (): void => {
    kills++;
    const dying = server;
    server = null;
    restarted = (async () => {
      await dying?.stop("SIGKILL");
      await start();
    })();
  };
  const counter = createServer((request, response) => {
    const n = Number(request.url?.slice(1));
    effects.push(n);
    // In the middle of odd calls, and at some moment after even ones.
    if (n % 2 === 1) return killAndRestart();
    response.end("counted");
    setTimeout(killAndRestart, (n * 7) % 20);
  });
  await new Promise<void>((resolve) => counter.listen(0, "127.0.0.1", resolve));
  const start = async (): Promise<void> => {
    const { port } = counter.address() as AddressInfo;
    server = await startServer([], {
      program: join(import.meta.dirname, "../fixtures/program-server.ts"),
      env: { PROGRAM_SERVER: JSON.stringify([dataDir, `http://127.0.0.1:${port}`]) },
    });
  };
  /** Null while the server is away. */
  const api = async (method: string, path: string, key: string, body?: unknown) => {
    if (server === null) return null;
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => null);
    // The shape is what the test asserts.
    return ((await response?.json().catch(() => null)) ?? null) as any; // eslint-disable-line @typescript-eslint/no-explicit-any
  };
  try {
    await start();
    const admin = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
    await api("POST", "/users", admin, { id: "ann", name: "ann" });
    const made = await api("POST", "/keys", admin, {
      userId: "ann",
      name: "k",
      scopes: ["*"],
      level: "admin",
      capsuleId: "all",
    });
    const ann = made.secret as string;
    const run = (args: object) =>
      api("POST", "/executions", ann, { name: "ostiary_code", arguments: args });
    expect(await run({ code: PROGRAM })).toBeNull();
    await until(() => server !== null, 60_000);
    // Its caller has got no answer: the execution that began it is the program's id.
    const { executions } = await api("GET", "/executions?toolName=system/run_code", ann);
    const programId = executions.at(-1).id as string;
    const seen = new Set<string>();
    let result: { began: number[]; told: (number | string)[] } | null = null;
    await until(async () => {
      await restarted;
      const pending = await api("GET", "/approvals?state=pending", admin);
      for (const { id } of pending?.items ?? []) {
        // First it is killed while it waits.
        if (seen.has(id)) await api("POST", `/approvals/${id}/approve`, admin, {});
        else {
          seen.add(id);
          killAndRestart();
        }
      }
      const answer = seen.size === HELD.length ? await run({ programId }) : null;
      result = answer?.result?.result ?? null;
      await restarted;
      return result !== null;
    }, 400_000);
    const { began, told } = result as unknown as { began: number[]; told: (number | string)[] };
    expect(kills).toBe(effects.length + HELD.length);
    // Each once, in order; a call may be cut off after its start is on record and before it reaches anything.
    expect(effects).toEqual([...new Set(effects)].toSorted((a, b) => a - b));
    expect(effects.length).toBeGreaterThanOrEqual(CALLS - 3);
    expect(began.length).toBe(2);
    expect(told.length).toBe(CALLS);
    told.forEach((one, index) => {
      const n = index + 1;
      // What was cut off in the middle says so; a call that was answered may have been cut off before it was recorded.
      expect(n % 2 === 1 ? ["OUTCOME_UNKNOWN"] : [n, "OUTCOME_UNKNOWN"]).toContain(one);
      if (one === n) expect(effects).toContain(n);
    });
    expect(told.filter((one) => typeof one === "number").length).toBeGreaterThan(0);
    const { executions: all } = await api("GET", "/executions?limit=100", ann);
    expect(all.filter((one: { status: string }) => one.status === "running")).toEqual([]);
  } finally {
    await restarted.catch(() => undefined);
    await (server as RunningServer | null)?.stop("SIGKILL");
    counter.closeAllConnections();
    counter.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 600_000);
