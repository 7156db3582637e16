// Several `ostiary mcp` on one data directory: the first owns it, the others join, and one of them goes on when it
// ends.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../fixtures/app.ts";
import { collect, spawnBin } from "../fixtures/bin.ts";
import { until } from "./mcp-clients.ts";

interface Message {
  readonly id?: unknown;
  readonly result?: {
    readonly tools?: { readonly name: string }[];
    readonly structuredContent?: object;
  };
  readonly error?: { readonly code: number; readonly message: string };
}

const LIMIT_MS = 120_000;
let dataDir: string;
let narrowKey: string;
const open: { child: ChildProcess; end: () => Promise<void> }[] = [];

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-join-"));
  const app = await startApp({ dataDir, listen: true });
  await app.api("POST", "/users", { body: { id: "narrow", name: "Narrow" } });
  const capsule = { id: "one", name: "One", capabilities: ["system/echo"] };
  expect((await app.api("POST", "/capsules", { body: capsule })).status).toBe(201);
  const made = await app.api("POST", "/keys", {
    body: { userId: "narrow", name: "narrow", scopes: ["*"], capsuleId: "one" },
  });
  narrowKey = join(dataDir, "narrow.key");
  writeFileSync(narrowKey, made.body.secret as string, { mode: 0o600 });
  await app.stop();
}, LIMIT_MS);
afterEach(async () => {
  for (const one of open.splice(0)) await one.end();
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** One client of `ostiary mcp`, past its handshake. */
async function start(...args: string[]) {
  const child = spawnBin(["mcp", "--data-dir", dataDir, ...args]);
  const { stdout, stderr } = collect(child);
  const closed = once(child, "close");
  const messages = (): Message[] =>
    stdout()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Message);
  const ask = async (id: number, method: string, params: object = {}): Promise<Message> => {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const find = () => messages().find((message) => message.id === id);
    await until(() => find() !== undefined || child.exitCode !== null, 60_000);
    return find() ?? { error: { code: 0, message: `it ended: ${stderr()}` } };
  };
  const end = async (): Promise<void> => {
    child.stdin?.end();
    await closed;
  };
  open.push({ child, end });
  const clientInfo = { name: "test", version: "1" };
  const hello = await ask(0, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo,
  });
  child.stdin?.write(
    `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`,
  );
  let id = 0;
  return {
    child,
    hello,
    stderr,
    end,
    kill: async () => {
      child.kill("SIGKILL");
      await closed;
    },
    echo: (text: string) => ask(++id, "tools/call", { name: "system_echo", arguments: { text } }),
    tools: async () =>
      ((await ask(++id, "tools/list")).result?.tools ?? []).map(({ name }) => name),
  };
}

const said = (text: string) => ({ result: { structuredContent: { text } } });
const owner = () =>
  JSON.parse(readFileSync(join(dataDir, "owner.json"), "utf8")) as {
    pid: number;
    url: string | null;
    socket: string;
  };

describe("item 13: a second ostiary mcp", { timeout: LIMIT_MS }, () => {
  test("joins the first, and both work; nobody else on the machine gets a way in", async () => {
    const first = await start();
    expect(await first.echo("one")).toMatchObject(said("one"));
    const second = await start();
    expect(await second.echo("two")).toMatchObject(said("two"));
    expect(await first.echo("three")).toMatchObject(said("three"));
    expect(owner()).toMatchObject({ pid: first.child.pid, url: null });
    expect(statSync(owner().socket).mode & 0o777).toBe(0o600);
  });

  test("is judged by its own key: it sees no more than that, and a wrong one gets nothing", async () => {
    const first = await start();
    expect((await first.tools()).length).toBeGreaterThan(1);
    const narrow = await start("--key", `file:${narrowKey}`);
    expect(await narrow.tools()).toEqual(["system_echo"]);
    writeFileSync(join(dataDir, "wrong.key"), "ost_live_nobody");
    const wrong = await start("--key", `file:${join(dataDir, "wrong.key")}`);
    expect(wrong.hello.error).toBeDefined();
    expect((await wrong.echo("in")).error).toBeDefined();
  });

  test.each(["ends", "is killed"])("goes on by itself when the first %s", async (how) => {
    const first = await start();
    const second = await start();
    expect(await second.echo("before")).toMatchObject(said("before"));
    await (how === "ends" ? first.end() : first.kill());
    expect(await second.echo("after")).toMatchObject(said("after"));
    expect(owner().pid).toBe(second.child.pid);
    const third = await start();
    expect(await third.echo("third")).toMatchObject(said("third"));
    expect(owner().pid).toBe(second.child.pid);
  });

  test("two that start at the same time come to an agreement", async () => {
    const [a, b] = await Promise.all([start(), start()]);
    expect(await a.echo("a")).toMatchObject(said("a"));
    expect(await b.echo("b")).toMatchObject(said("b"));
  });
});
