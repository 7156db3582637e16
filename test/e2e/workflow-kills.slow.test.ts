// Workflow runs over kills of the real program, at the boundaries of steps and in the middle of them, beside an upstream
// that counts: each step ran exactly once or is told as OUTCOME_UNKNOWN, and every run ends.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { ApiAnswer } from "../fixtures/app.ts";
import { startServer, type RunningServer } from "../fixtures/bin.ts";
import { until } from "../fixtures/contract.ts";
import {
  answer,
  startMcpUpstream,
  type McpUpstream,
  type UpstreamTool,
} from "../fixtures/mcp-upstream.ts";

interface Step {
  readonly id: string;
  readonly executionId: string | null;
  readonly status: string;
  readonly error?: { readonly code: string };
}
interface Run {
  readonly id: string;
  readonly workflowId: string;
  readonly status: string;
  readonly endedAt: string | null;
  readonly error: { readonly code: string } | null;
  readonly steps: readonly Step[];
}

const LONG_MS = 120_000;
const HIT: UpstreamTool = {
  name: "hit",
  description: "Counts a call.",
  inputSchema: {
    type: "object",
    properties: { key: { type: "string" }, ms: { type: "integer" } },
    required: ["key"],
  },
  annotations: { readOnlyHint: true },
};

/** One data directory, and one server after the other on it. */
class House {
  readonly dataDir = mkdtempSync(join(tmpdir(), "ostiary-kills-"));
  /** Calls that arrived, by key. */
  readonly hits = new Map<string, number>();
  /** Told of each call: before it is answered, and right after. */
  onHit: (key: string, when: "before" | "after") => void = () => undefined;
  upstream!: McpUpstream;
  server: RunningServer | null = null;
  kills = 0;
  /** Of whoever runs the workflows: nobody agrees to their own calls. */
  worker: string | null = null;

  async open(): Promise<void> {
    this.upstream = await startMcpUpstream({
      tools: [HIT],
      behave: {
        hit: async ({ id, args, res }) => {
          const key = String(args["key"]);
          this.hits.set(key, (this.hits.get(key) ?? 0) + 1);
          this.onHit(key, "before");
          await sleep(Number(args["ms"] ?? 50));
          answer(res, id, { content: [{ type: "text", text: `hit ${key}` }] });
          this.onHit(key, "after");
        },
      },
    });
    await this.start();
    await this.must("POST", "/servers", {
      name: "counter",
      transport: { kind: "http", url: this.upstream.url },
    });
    await this.must("POST", "/servers/counter/look", {});
    await this.must("POST", "/servers/counter/approve", {});
    await this.must("POST", "/users", { id: "worker", name: "worker" });
    const rights = { scopes: ["*"], level: "admin", capsuleId: "all" };
    const key = await this.must("POST", "/keys", { userId: "worker", name: "k", ...rights });
    this.worker = String(key["secret"]);
  }

  async start(): Promise<void> {
    this.server = await startServer(["--data-dir", this.dataDir, "--port", "0"], {
      env: { RATE_LIMIT_ENABLED: "false" },
    });
  }

  async kill(): Promise<void> {
    const { server } = this;
    this.server = null;
    this.kills++;
    await server?.stop("SIGKILL");
  }

  /** Null while there is no server. */
  async api(method: string, path: string, body?: unknown): Promise<ApiAnswer | null> {
    if (this.server === null) return null;
    const admin = readFileSync(join(this.dataDir, "admin.key"), "utf8").trim();
    const key = path.startsWith("/approvals") ? admin : (this.worker ?? admin);
    try {
      const response = await fetch(`${this.server.url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, body: await response.json() };
    } catch {
      return null;
    }
  }

  async must(method: string, path: string, body?: unknown) {
    const found = await this.api(method, path, body);
    if (found === null || found.status >= 300 || found.body.status === "failed")
      throw new Error(`${path}: ${JSON.stringify(found?.body)}`);
    return found.body as Record<string, unknown> & { result: Record<string, string> };
  }

  /** The newest run of the newest workflow, once a server answers; null: there is none. */
  async lastRun(): Promise<Run | null> {
    let found: Run | null = null;
    await until(async () => {
      const listed = await this.api("GET", "/workflows");
      const workflowId = listed?.body?.items?.[0]?.id as string | undefined;
      const runs = await this.api("GET", `/workflows/${workflowId}/runs`);
      if (listed?.status !== 200 || runs?.status !== 200) return false;
      found = (runs.body.items as Run[])[0] ?? null;
      return true;
    }, LONG_MS);
    return found;
  }

  call(name: string, args: object, timeout = 60_000) {
    return this.must("POST", "/executions", { name, arguments: args, timeout });
  }

  /** A person who agrees to everything, as soon as they are asked. */
  async agree(): Promise<void> {
    const pending = await this.api("GET", "/approvals?state=pending&limit=100");
    for (const { id } of (pending?.body?.items ?? []) as { id: string }[])
      await this.api("POST", `/approvals/${id}/approve`, {});
  }

  async run(id: string): Promise<Run | null> {
    const found = await this.api("GET", `/workflow-runs/${id}`);
    return found?.status === 200 ? (found.body as Run) : null;
  }

  async close(): Promise<void> {
    await this.server?.stop("SIGKILL");
    await this.upstream.close();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

let house: House;
afterEach(() => house.close());

const hit = (id: string, needs: string[], ms = 60) => ({
  id,
  tool: "counter/hit",
  input: { key: `{{input.run}}/${id}`, ms },
  needs,
  // What a kill leaves unknown is told, and the rest is seen all the same.
  continueOnError: true,
});

/** 20 steps: a beginning, two branches, an approval, a timer, an end. */
const TWENTY = [
  hit("s1", []),
  hit("s2", ["s1"]),
  hit("s3", ["s2"]),
  ...["l", "r"].flatMap((side) =>
    [1, 2, 3, 4, 5].map((n) => hit(`${side}${n}`, [n === 1 ? "s3" : `${side}${n - 1}`])),
  ),
  { id: "yes", tool: "memory/clear", input: { namespace: "user" }, needs: ["l5", "r5"] },
  { id: "timer", wait: { kind: "time", seconds: 2 }, needs: ["s3"] },
  hit("e1", ["yes", "timer"]),
  hit("e2", ["e1"]),
  hit("e3", ["e2"]),
  hit("e4", ["e2"]),
  hit("e5", ["e3", "e4"]),
];

/** Nothing twice; what is told as done was done; what is not known is told so. */
function judge(run: Run, name: string): string[] {
  return run.steps.flatMap((step) => {
    const times = house.hits.get(`${name}/${step.id}`) ?? 0;
    if (["yes", "timer"].includes(step.id))
      return step.status === "success" ? [] : [`${step.id} ${step.status}`];
    if (step.status === "success" && times === 1) return [];
    if (step.error?.code === "OUTCOME_UNKNOWN" && times <= 1) return [];
    return [`${name}/${step.id}: ${step.status} ${step.error?.code ?? ""}, ran ${times} times`];
  });
}

describe("kills", { timeout: 600_000 }, () => {
  test("at the boundary of one step and in the middle of the next, all the way through 20 steps", async () => {
    house = new House();
    await house.open();
    const fresh = new Set<string>();
    // s1 in the middle, s2 at its boundary, and so on; each once.
    const order = TWENTY.map(({ id }) => id).filter((id) => !["yes", "timer"].includes(id));
    let dying: Promise<void> | null = null;
    house.onHit = (key, when) => {
      const id = key.split("/")[1] ?? "";
      const at = order.indexOf(id);
      const chosen = at % 2 === 0 ? "before" : "after";
      if (when !== chosen || fresh.has(id) || house.server === null || dying !== null) return;
      fresh.add(id);
      dying = sleep(when === "before" ? 0 : 15)
        .then(() => house.kill())
        .then(() => house.start())
        .finally(() => (dying = null));
    };
    await house.call("workflow/create", { name: "twenty", steps: TWENTY });
    const begun = house
      .call("workflow/execute", { workflowId: "twenty", input: { run: "one" } })
      .catch(() => null);
    await begun;
    const { id } = (await house.lastRun()) ?? { id: "" };
    await until(async () => {
      await house.agree();
      await sleep(200);
      return (await house.run(id))?.endedAt != null;
    }, LONG_MS * 4);
    const run = (await house.run(id)) as Run;
    expect(judge(run, "one")).toEqual([]);
    expect(run.status).toBe("success");
    const unknown = run.steps.filter(({ error }) => error?.code === "OUTCOME_UNKNOWN");
    expect(house.kills).toBeGreaterThanOrEqual(8);
    // In the middle of a call nobody can know; at a boundary everybody can.
    expect(unknown.length).toBeGreaterThan(0);
    expect(unknown.length).toBeLessThanOrEqual(house.kills * 2);
  });

  test("without continueOnError the run ends there and says that it is not known", async () => {
    house = new House();
    await house.open();
    const killed = new Promise<void>((resolve, reject) => {
      house.onHit = (key, when) => {
        if (key === "two/b" && when === "before") house.kill().then(resolve, reject);
      };
    });
    const steps = ["a", "b", "c"].map((id) => ({
      id,
      tool: "counter/hit",
      input: { key: `two/${id}`, ms: 100 },
    }));
    await house.call("workflow/create", { name: "plain", steps });
    const begun = house.call("workflow/execute", { workflowId: "plain" }).catch(() => null);
    await killed;
    await begun;
    await house.start();
    const last = () => house.lastRun();
    await until(async () => (await last())?.endedAt != null, LONG_MS);
    expect(await last()).toMatchObject({
      status: "failed",
      error: { code: "OUTCOME_UNKNOWN", reason: "step_failed" },
      steps: [
        { status: "success" },
        { status: "failed", error: { code: "OUTCOME_UNKNOWN" } },
        { status: "skipped" },
      ],
    });
    expect([...house.hits]).toEqual([
      ["two/a", 1],
      ["two/b", 1],
    ]);
  });

  test("50 runs at once, killed in the middle: none stuck, no step twice", async () => {
    house = new House();
    await house.open();
    await house.call("workflow/create", {
      name: "many",
      steps: [
        hit("a", [], 100),
        hit("b1", ["a"], 100),
        hit("b2", ["a"], 100),
        { id: "t", wait: { kind: "time", seconds: 5 }, needs: ["a"] },
        hit("c", ["b1", "b2", "t"], 100),
      ],
    });
    for (let n = 0; n < 50; n++) {
      const args = { workflowId: "many", input: { run: `m${n}` } };
      const body = { name: "workflow/execute", arguments: args, wait: false };
      await house.must("POST", "/executions", body);
    }
    const { workflowId } = (await house.lastRun()) ?? { workflowId: "" };
    let ids: string[] = [];
    await until(async () => {
      const listed = await house.api("GET", `/workflows/${workflowId}/runs?limit=100`);
      ids = ((listed?.body?.items ?? []) as Run[]).map(({ id }) => id);
      return ids.length === 50;
    }, LONG_MS);
    for (let kill = 0; kill < 2; kill++) {
      await house.kill();
      await house.start();
    }
    const open = new Set(ids);
    await until(async () => {
      for (const id of open) if ((await house.run(id))?.endedAt != null) open.delete(id);
      return open.size === 0;
    }, LONG_MS);
    for (const id of ids) {
      const run = (await house.run(id)) as Run & { input: { run: string } };
      const wrong = judge(
        { ...run, steps: run.steps.filter((one) => one.id !== "t") },
        run.input.run,
      );
      expect(wrong).toEqual([]);
    }
    expect(Math.max(...house.hits.values())).toBe(1);
  });
});
