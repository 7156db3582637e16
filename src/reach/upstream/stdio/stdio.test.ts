// Programs that behave badly, as ordinary processes; what a box adds is tested beside the real servers.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { openEgress } from "../../egress/guard.ts";
import { noSandbox } from "../../sandbox/none.ts";
import type { ServerRow, ServerTransport } from "../../../storage/store/store.ts";
import { openStdio, type StdioTransport } from "./stdio.ts";
import type { UpstreamFault } from "../upstream.ts";

/** Answers each method in its own bad way; `echo` is the good one. */
const SCRIPT = `
const say = (text) => process.stdout.write(text + "\\n");
const answer = (id, result) => say(JSON.stringify({ jsonrpc: "2.0", id, result }));
const does = {
  echo: (id, params) => answer(id, params),
  env: (id) => answer(id, process.env),
  late: (id, { ms }) => setTimeout(() => answer(id, {}), ms),
  twice: (id) => say('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":1,"a":2}}'),
  twiceNoticed: () => say('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}'),
  large: (id, { bytes, last }) => say(last ? JSON.stringify({ result: { text: "x".repeat(bytes) }, jsonrpc: "2.0", id }) : JSON.stringify({ jsonrpc: "2.0", id, result: { text: "x".repeat(bytes) } })),
  endless: () => { const more = () => process.stdout.write("x".repeat(65536), more); more(); },
  noise: (id, { lines }) => { for (let at = 0; at < lines; at++) say("banner " + at); answer(id, {}); },
  flood: (id, { count }) => { for (let at = 0; at < count; at++) say(JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { at } })); say('{"jsonrpc":"2.0","\\\\u0069d":' + id + ',"result":{}}'); },
  stderr: (id, { count }) => { for (let at = 0; at < count; at++) process.stderr.write("line " + at + "\\n"); answer(id, {}); },
  say: (id, { text }) => { process.stderr.write(text + "\\n", () => answer(id, {})); },
  crash: () => { process.stderr.write("it hurts\\n"); process.exit(9); },
  deaf: (id) => { process.stdin.pause(); answer(id, {}); },
  child: (id, { path }) => { const child = require("child_process").spawn("/bin/sh", ["-c", "while :; do date +%s%N > " + path + "; sleep 0.1; done"], { stdio: "ignore" }); answer(id, { pid: child.pid }); },
  stay: (id) => { setInterval(() => {}, 1000); process.on("SIGTERM", () => {}); answer(id, {}); },
};
let rest = "";
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\\n");
  rest = lines.pop();
  for (const line of lines) { const { id, method, params } = JSON.parse(line); does[method]?.(id, params ?? {}); }
});
`;

interface Talk {
  readonly transport: StdioTransport;
  readonly said: string[];
  readonly messages: JSONRPCMessage[];
  readonly faults: UpstreamFault[];
  readonly closed: Promise<string>;
  ask(method: string, params?: JsonObject): Promise<Json | undefined>;
}

describe("a server that is a program", { timeout: 60_000 }, () => {
  let folder: string;
  let script: string;
  const egress = openEgress();
  const opened: StdioTransport[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-stdio-"));
    script = join(folder, "bad.cjs");
    writeFileSync(script, SCRIPT);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
  });
  afterAll(async () => {
    await egress.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function talk(
    extra: Partial<Extract<ServerTransport, { kind: "stdio" }>> = {},
    secrets: Record<string, string> = {},
    maxResultBytes = 1_000_000,
  ): Promise<Talk> {
    const settings: ServerTransport = {
      kind: "stdio",
      argv: ["node", script],
      env: {},
      isolation: "none",
      folders: [],
      network: "none",
      localSockets: false,
      ...extra,
    };
    const row = { name: "bad", transport: settings, settings: { maxResultBytes } } as ServerRow;
    const said: string[] = [];
    const messages: JSONRPCMessage[] = [];
    const faults: UpstreamFault[] = [];
    const credential = {
      id: "none",
      env: () => Promise.resolve({ ...settings.env, ...secrets }),
      headers: () => ({}),
      oauth: null,
    };
    const transport = await openStdio(
      row,
      credential,
      { logged: (line) => said.push(line), notified: () => undefined },
      {
        sandbox: noSandbox(),
        egress,
        dataDir: folder,
        guard: {
          requireApart: () => undefined,
          hold: () => Promise.reject(new Error("no folder to hold")),
        },
      },
    );
    opened.push(transport);
    const waiting = new Map<unknown, (message: JSONRPCMessage) => void>();
    const { promise: closed, resolve } = Promise.withResolvers<string>();
    transport.onclose = () => resolve(transport.endReason ?? "");
    transport.onfault = (_id, fault) => faults.push(fault);
    transport.onmessage = (message: JSONRPCMessage) => {
      messages.push(message);
      if (!("method" in message)) waiting.get(message.id)?.(message);
    };
    await transport.start();
    let id = 0;
    const ask = async (method: string, params: JsonObject = {}): Promise<Json | undefined> => {
      const own = ++id;
      const answered = new Promise<JSONRPCMessage>((found) => waiting.set(own, found));
      await transport.send({ jsonrpc: "2.0", id: own, method, params });
      const answer = (await answered) as unknown as { result?: Json; error?: { message: string } };
      return answer.error?.message ?? answer.result;
    };
    return { transport, said, messages, faults, closed, ask };
  }

  test("T17: its environment is the list, word for word, and nothing of ours", async () => {
    process.env["OSTIARY_CANARY"] = "sk-canary";
    const { ask } = await talk({ env: { COLOUR: "${credential:colour}" } }, { COLOUR: "blue" });
    delete process.env["OSTIARY_CANARY"];
    expect(await ask("env")).toEqual({
      COLOUR: "blue",
      PATH: process.env["PATH"],
      HOME: homedir(),
      TMPDIR: tmpdir(),
      LANG: process.env["LANG"] ?? "C.UTF-8",
    });
  });

  test("what it says is shown, made visible, cut and without its credentials", async () => {
    const { ask, said } = await talk(
      { env: { KEY: "${credential:key}" } },
      { KEY: "sk-very-secret" },
    );
    await ask("say", { text: `key=sk-very-secret \u001b[2Jgone ${"y".repeat(5_000)}` });
    await expect.poll(() => said.length).toBe(1);
    expect(said[0]).toMatch(/^key=\[masked\] \\u\{1b\}\[2Jgone y+…$/);
    expect(said[0]?.length).toBeLessThanOrEqual(2_000);
  });

  test("an answer with a repeated key fails that request, and the next one works", async () => {
    const { ask, faults } = await talk();
    expect(await ask("twice")).toContain("repeats a key");
    expect(faults).toMatchObject([{ kind: "protocol", dispatched: true }]);
    expect(await ask("echo", { a: 1 })).toEqual({ a: 1 });
  });

  test("a notice with a repeated key belongs to nobody, and ends the connection", async () => {
    const { ask, closed } = await talk();
    ask("twiceNoticed").catch(() => undefined);
    expect(await closed).toContain("repeats a key");
  });

  test("an answer that is too large fails that request alone, wherever its id is", async () => {
    const { ask, faults } = await talk({}, {}, 100_000);
    expect(await ask("large", { bytes: 100_000, last: false })).toMatchObject({
      text: expect.any(String) as unknown,
    });
    for (const last of [false, true])
      expect(await ask("large", { bytes: 3_000_000, last })).toContain("more than the");
    expect(faults).toMatchObject([{ kind: "too_large" }, { kind: "too_large" }]);
    expect(await ask("echo", { a: 1 })).toEqual({ a: 1 });
  });

  test("a line without an end takes no memory", async () => {
    const { ask } = await talk({}, {}, 100_000);
    ask("endless").catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = process.memoryUsage();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const after = process.memoryUsage();
    expect(
      after.arrayBuffers + after.external - before.arrayBuffers - before.external,
    ).toBeLessThan(50_000_000);
  });

  test("a banner on stdout is reported and skipped; nothing but banners ends it", async () => {
    const few = await talk();
    expect(await few.ask("noise", { lines: 20 })).toEqual({});
    expect(few.said.filter((line) => line.includes("no message, skipped: banner"))).toHaveLength(
      20,
    );
    const many = await talk();
    many.ask("noise", { lines: 400 }).catch(() => undefined);
    expect(await many.closed).toContain("lines in a row that are no messages");
  });

  test("a flood of notices is cut, counted and said once; the answer behind it still comes", async () => {
    const { ask, messages, said, transport } = await talk();
    expect(await ask("flood", { count: 30_000 })).toEqual({});
    const notices = messages.length - 1;
    expect(notices).toBeGreaterThanOrEqual(1_000);
    expect(notices).toBeLessThan(20_000);
    expect(said.filter((line) => line.includes("nobody asked for"))).toHaveLength(1);
    await transport.close();
    expect(said.at(-1)).toContain(`${30_000 - notices} messages were dropped`);
  });

  test("a flood on stderr is cut, and keeps nothing back", async () => {
    const { ask, said } = await talk();
    expect(await ask("stderr", { count: 50_000 })).toEqual({});
    expect(await ask("echo", { a: 1 })).toEqual({ a: 1 });
    await expect
      .poll(() => said.filter((line) => line.includes("lines a second")).length, {
        timeout: 20_000,
      })
      .toBeGreaterThanOrEqual(1);
    expect(said.length).toBeLessThan(5_000);
  });

  test("when it dies the reason is told, with its last words, and nothing more is sent", async () => {
    const { ask, closed, transport } = await talk();
    ask("crash").catch(() => undefined);
    expect(await closed).toBe("it ended with exit code 9; its last words: it hurts");
    await expect(transport.send({ jsonrpc: "2.0", method: "x" })).rejects.toMatchObject({
      kind: "closed",
      dispatched: false,
    });
  });

  test("one that does not read is not written to for ever", async () => {
    const { ask, transport } = await talk();
    await ask("deaf");
    const large = { jsonrpc: "2.0" as const, method: "x", params: { text: "x".repeat(4_000_000) } };
    const sent = await Promise.allSettled(Array.from({ length: 10 }, () => transport.send(large)));
    expect(sent.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
    expect(sent[9]).toMatchObject({ reason: { kind: "unreachable", dispatched: false } });
  });

  test("closing ends it and all that it started, also when it does not want to", async () => {
    const { ask, transport, closed } = await talk();
    const path = join(folder, "beat");
    await ask("child", { path });
    await ask("stay");
    await expect.poll(() => existsSync(path), { timeout: 20_000 }).toBe(true);
    await transport.close();
    expect(await closed).toBe("the connection was closed");
    const last = readFileSync(path, "utf8");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(readFileSync(path, "utf8")).toBe(last);
  });

  test("one that cannot be started, or not without a box, is refused with the reason", async () => {
    await expect(talk({ argv: ["/no/such-program"] })).rejects.toMatchObject({
      fault: {
        message: expect.stringContaining("does not exist") as unknown,
        remedy: expect.any(String) as unknown,
      },
    });
    await expect(talk({ isolation: "sandbox" })).rejects.toMatchObject({
      fault: { reason: "sandbox_unavailable" },
    });
    await expect(
      talk({ isolation: "sandbox", folders: [{ path: join(folder, "none"), access: "ro" }] }),
    ).rejects.toMatchObject({
      fault: { message: expect.stringContaining("does not exist") as unknown },
    });
  });

  test.runIf(process.getuid?.() === 0)(
    "a folder that its user cannot have is refused with the reason",
    async () => {
      const closed = join(folder, "closed");
      mkdirSync(join(closed, "in"), { recursive: true });
      await expect(
        talk({ isolation: "sandbox", folders: [{ path: join(closed, "in"), access: "ro" }] }),
      ).rejects.toMatchObject({
        fault: { message: expect.stringContaining("is closed to it") as unknown },
      });
      await expect(
        talk({ isolation: "sandbox", folders: [{ path: closed, access: "rw" }] }),
      ).rejects.toMatchObject({
        fault: { message: expect.stringContaining("belongs to root") as unknown },
      });
    },
  );
});
