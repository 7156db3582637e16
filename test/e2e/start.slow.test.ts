// Starting and stopping the real program: first start, ownership of the data directory, ports, faults, drain.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  collect,
  runBin,
  spawnBin,
  startServer,
  type BinOptions,
  type RunningServer,
} from "../fixtures/bin.ts";

// Each test starts several processes; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });

let folder: string;
let dataDir: string;
let running: RunningServer[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-start-"));
  dataDir = join(folder, "data");
});
afterEach(async () => {
  for (const server of running)
    if (server.child.exitCode === null && server.child.signalCode === null)
      await server.stop("SIGKILL");
  running = [];
  rmSync(folder, { recursive: true, force: true });
});

async function serve(args: string[] = [], options: BinOptions = {}): Promise<RunningServer> {
  const server = await startServer(["--data-dir", dataDir, "--port", "0", ...args], options);
  running.push(server);
  return server;
}

const key = (name = "admin.key") => readFileSync(join(dataDir, name), "utf8").trim();

function call(url: string, body: object, secret = key()): Promise<Response> {
  return fetch(`${url}/api/v1/executions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const echo = { name: "system/echo", arguments: { text: "hi" } };

describe("first start", () => {
  test("prints links and where the key is, ends with the ready line, and that key calls a tool", async () => {
    const server = await serve();
    const said = server.stdout();
    expect(said.trimEnd().split("\n").at(-1)).toBe(`ready ${server.url}`);
    expect(said).toContain(`MCP       ${server.url}/mcp`);
    expect(said).toContain(`API       ${server.url}/docs`);
    expect(said).toMatch(/Console {3}http:\/\/127\.0\.0\.1:\d+\/\?t=\S+/);
    expect(said).toContain("created");
    // Its output is no terminal here: what is written to a log must not open the door.
    expect(said).toContain(`Admin key kept in ~${dataDir.slice(tmpdir().length)}/admin.key`);
    expect(said).not.toContain(key());
    const answer = await call(server.url, echo);
    expect(await answer.json()).toMatchObject({ status: "success", result: { text: "hi" } });
    expect(await server.stop()).toBe(0);
  });

  test("everything in the data directory belongs to its user alone", async () => {
    const server = await serve();
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(dataDir))
      expect(statSync(join(dataDir, name)).mode & 0o077, name).toBe(0);
    expect(JSON.parse(readFileSync(join(dataDir, "owner.json"), "utf8"))).toMatchObject({
      url: server.url,
      pid: server.child.pid,
    });
    await server.stop();
    expect(existsSync(join(dataDir, "owner.json"))).toBe(false);
  });

  test("the key is shown once; later starts keep it, and a preset one is never printed", async () => {
    await (await serve()).stop();
    const made = key();
    const again = await serve();
    expect(again.stdout()).not.toContain("Admin key");
    expect(key()).toBe(made);
    expect((await call(again.url, echo)).status).toBe(200);
    await again.stop();
    const preset = "preset-administrator-key-0123456789";
    const third = await serve([], { env: { OSTIARY_ADMIN_KEY: preset } });
    expect(third.stdout()).not.toContain(preset);
    expect((await call(third.url, echo, preset)).status).toBe(200);
  });

  test("--quiet says only that it is ready; --json says everything in one document", async () => {
    const quiet = await serve(["--quiet"]);
    expect(quiet.stdout()).toBe(`ready ${quiet.url}\n`);
    await quiet.stop();
    const child = spawnBin(["serve", "--json", "--port", "0", "--data-dir", dataDir]);
    const { stdout } = collect(child);
    await expect.poll(stdout, { timeout: 15_000 }).toMatch(/\}\n$/);
    expect(JSON.parse(stdout())).toMatchObject({
      ready: expect.stringMatching(/^http:/) as string,
      store: "sqlite",
      dataDir,
    });
    child.kill();
    await once(child, "close");
  });
});

describe("one owner", () => {
  test("a second start on the same data directory is refused and names the first", async () => {
    const first = await serve();
    const second = await runBin(["serve", "--data-dir", dataDir, "--port", "0"]);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`is in use by process ${first.child.pid} at ${first.url}`);
    expect(second.stdout).toBe("");
    expect((await call(first.url, echo)).status).toBe(200);
  });

  test("a killed owner never blocks the next start, and what it had recorded is there", async () => {
    const first = await serve();
    await call(first.url, echo);
    await first.stop("SIGKILL");
    expect(existsSync(join(dataDir, "owner.json"))).toBe(true);
    const orphan = await runBin(["tools", "--data-dir", dataDir]);
    expect(orphan.code).toBe(1);
    expect(orphan.stderr).toContain("No server is running");
    const second = await serve();
    const history = await fetch(`${second.url}/api/v1/executions`, {
      headers: { authorization: `Bearer ${key()}` },
    });
    expect(await history.json()).toMatchObject({ totalCount: 1 });
  });
});

describe("ports and addresses", () => {
  const occupied = async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    return { holder, port: (holder.address() as AddressInfo).port };
  };

  test("a taken port that was asked for: exit 1, naming the holder", async () => {
    const { holder, port } = await occupied();
    for (const options of [
      { args: ["--port", String(port)] },
      { args: [], env: { MCP_PORT: String(port) } },
    ]) {
      const ran = await runBin(["serve", "--data-dir", dataDir, ...options.args], {
        env: options.env ?? {},
      });
      expect(ran.code).toBe(1);
      expect(ran.stderr).toContain(`Port ${port} is taken`);
      if (process.platform === "linux") expect(ran.stderr).toContain(`process ${process.pid}`);
      expect(ran.stdout).toBe("");
    }
    holder.close();
  });

  test("a taken default port: the next free one, and it says so", async () => {
    const holder = createServer();
    const own = await new Promise<boolean>((resolve) => {
      holder.once("error", () => resolve(false)).listen(3100, "127.0.0.1", () => resolve(true));
    });
    const server = await startServer(["--data-dir", dataDir]);
    running.push(server);
    expect(Number(new URL(server.url).port)).toBeGreaterThan(3100);
    expect(server.stdout()).toContain("3100 is taken");
    if (own) holder.close();
  });

  test("an address that is not ours, and a public one without authentication", async () => {
    const foreign = await runBin(["serve", "--data-dir", dataDir, "--host", "203.0.113.7"]);
    expect(foreign.code).toBe(1);
    expect(foreign.stderr).toContain("203.0.113.7 is no address of this machine");
    const open = await runBin(["serve", "--data-dir", dataDir], {
      env: { MCP_AUTH_ENABLED: "false", MCP_HOST: "0.0.0.0" },
    });
    expect(open.code).toBe(1);
    expect(open.stderr).toContain("authentication is off");
  });
});

describe("faults at the start", () => {
  test("an invalid configuration lists every fault with its place, and nothing is created", async () => {
    const file = join(folder, "bad.yaml");
    writeFileSync(
      file,
      "server:\n  port: high\n  hots: a\nlog:\n  level: loud\nwork: temporal://x\n",
    );
    const ran = await runBin(["serve", "--data-dir", dataDir, "--config", file], {
      env: { MAX_HISTORY_SIZE: "-1" },
    });
    expect(ran.code).toBe(1);
    for (const text of [
      "bad.yaml:2:9",
      "bad.yaml:3:3",
      "bad.yaml:5:10",
      "bad.yaml:6:7",
      "MAX_HISTORY_SIZE",
      "(5 faults)",
    ])
      expect(ran.stderr).toContain(text);
    expect(existsSync(dataDir)).toBe(false);
    const flag = await runBin(["serve", "--data-dir", dataDir, "--port", "high"]);
    expect(flag.code).toBe(2);
  });

  test("a data directory that cannot be used: one clear error, exit 1", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    for (const path of [file, join(file, "below")]) {
      const ran = await runBin(["serve", "--data-dir", path, "--port", "0"]);
      expect(ran.code).toBe(1);
      expect(ran.stderr).toContain(`the data directory ${path} cannot be used`);
      expect(ran.stderr).toContain("--data-dir");
      expect(ran.stderr).not.toMatch(/^\s+at /m);
    }
    if (process.getuid?.() !== 0) {
      mkdirSync(dataDir, { mode: 0o500 });
      const ran = await runBin(["serve", "--data-dir", dataDir, "--port", "0"]);
      expect(ran.stderr).toContain("cannot be used");
    }
  });

  test("a database that is none: refused, left as it was, and the directory is free again", async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    const path = join(dataDir, "ostiary.db");
    writeFileSync(path, "this is no database, but it is long enough to be looked at".repeat(20));
    const before = readFileSync(path);
    const ran = await runBin(["serve", "--data-dir", dataDir, "--port", "0"]);
    expect(ran.code).toBe(1);
    expect(readFileSync(path).equals(before)).toBe(true);
    rmSync(path);
    await serve();
  });
});

describe("stopping", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  async function slowServer(graceSeconds: number) {
    const script = join(import.meta.dirname, "../fixtures/slow-server.ts");
    const child = spawn(process.execPath, [script, dataDir, String(graceSeconds)]);
    children.push(child);
    const { stdout, stderr } = collect(child);
    await expect.poll(stdout, { timeout: 20_000 }).toMatch(/^ready /);
    return { child, stderr, url: stdout().trim().slice("ready ".length) };
  }

  /** Until the call is really running. */
  async function underWay(url: string): Promise<void> {
    const headers = { authorization: `Bearer ${key()}` };
    const count = async () =>
      (
        (await (await fetch(`${url}/api/v1/executions/active`, { headers })).json()) as {
          count: number;
        }
      ).count;
    await expect.poll(count, { timeout: 20_000 }).toBe(1);
  }

  test("SIGTERM drains: what runs finishes and is answered, nothing new is taken, exit 0", async () => {
    const { child, url, stderr } = await slowServer(20);
    const answer = call(url, { name: "system/slow", arguments: { ms: 4000 } });
    await underWay(url);
    child.kill("SIGTERM");
    const closed = once(child, "close");
    await expect.poll(stderr, { timeout: 20_000 }).toContain("stopping");
    const late = await call(url, echo).then(
      (response) => response.status,
      () => "refused",
    );
    expect([503, "refused"]).toContain(late);
    expect(await (await answer).json()).toMatchObject({ status: "success" });
    await closed;
    expect(child.exitCode).toBe(0);
  });

  test("what outlasts the grace is cancelled with reason shutdown, and recorded so", async () => {
    const { child, url } = await slowServer(0);
    const answer = call(url, { name: "system/slow", arguments: { ms: 60_000 } });
    await underWay(url);
    child.kill("SIGTERM");
    const closed = once(child, "close");
    expect(await (await answer).json()).toMatchObject({
      status: "cancelled",
      cancelReason: "shutdown",
    });
    await closed;
    const server = await serve();
    const history = await fetch(`${server.url}/api/v1/executions`, {
      headers: { authorization: `Bearer ${key()}` },
    });
    const { executions } = (await history.json()) as { executions: object[] };
    expect(executions[0]).toMatchObject({ status: "cancelled", cancelReason: "shutdown" });
  });

  test("a second signal ends it at once", async () => {
    const { child, url, stderr } = await slowServer(60);
    const answer = call(url, { name: "system/slow", arguments: { ms: 60_000 } }).catch(() => null);
    await underWay(url);
    child.kill("SIGINT");
    await expect.poll(stderr, { timeout: 20_000 }).toContain("stopping");
    const closed = once(child, "close");
    child.kill("SIGINT");
    await closed;
    expect(child.exitCode).toBe(1);
    await answer;
  });
});

test("MCP_TRANSPORT=stdio makes serve speak MCP on stdin and stdout", async () => {
  const hello = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    },
  };
  const ran = await runBin(["serve", "--data-dir", dataDir], {
    env: { MCP_TRANSPORT: "stdio" },
    input: `${JSON.stringify(hello)}\n`,
  });
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({
    id: 1,
    result: { serverInfo: { name: "ostiary" } },
  });
});
