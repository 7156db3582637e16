// `ostiary chat` and `ostiary sessions`: the real program against a real server and a model server of our own.
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { collect, runBin, spawnBin, spawnInTerminal, type BinResult } from "../fixtures/bin.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

// Each test starts processes; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000 });

let house: StartedApp;
let models: ModelServer;
let dir: string;
let clock = 0;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "ostiary-cli-chat-"));
  models = await openModelServer();
  house = await startApp({
    flags: { models: models.config },
    now: () => Date.now() + clock,
  });
}, 60_000);
afterAll(async () => {
  await house.close();
  await models.close();
  rmSync(dir, { recursive: true });
});

const env = () => ({ OSTIARY_DATA_DIR: house.dataDir });
const cli = (words: string[], input?: string): Promise<BinResult> =>
  runBin(words, { cwd: dir, env: env(), ...(input === undefined ? {} : { input }) });
const chat = (...words: string[]): Promise<BinResult> => cli(["chat", ...words]);
const asCli = (method: string, path: string, body?: object) =>
  house.api(method, path, { key: house.cliKey, ...(body ? { body } : {}) });

/** The one approval that waits, agreed to by the owner. */
async function approveNext(): Promise<string> {
  const pending = async () =>
    (await house.api("GET", "/approvals?state=pending")).body.items as {
      id: string;
      version: string;
    }[];
  await expect.poll(async () => (await pending()).length, { timeout: 30_000 }).toBe(1);
  const [{ id, version } = { id: "", version: "" }] = await pending();
  const { status } = await house.api("POST", `/approvals/${id}/approve`, { body: { version } });
  expect(status).toBe(200);
  return id;
}

const writes = (path: string, content = "hi") => [
  { calls: [{ name: "file_write", arguments: { path, content } }] },
  { text: "It is written." },
];

describe("one message", () => {
  test("R235 its answer goes to stdout, the session to stderr", async () => {
    models.script([{ text: "Hello! How can I help?" }]);
    const { code, stdout, stderr } = await chat("hello", "there");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello! How can I help?\n" });
    const id = /ostiary chat --session (ses_\w+)/.exec(stderr)?.[1] ?? "";
    models.script(({ asked }) => ({
      text: `I know ${(asked.body.messages as object[]).length} messages`,
    }));
    const more = await chat("--session", id, "and then?");
    expect(more.stdout).toMatch(/^I know [34] messages\n$/);
  });

  test("it is streamed: the first words are there while the model still speaks", async () => {
    models.script([{ text: "one two three four five six", chunkDelayMs: 400, pieceBytes: 4096 }]);
    const child = spawnBin(["chat", "count"], { env: env() });
    const { stdout } = collect(child);
    await expect.poll(stdout, { timeout: 30_000, interval: 20 }).toMatch(/^one/);
    expect(stdout()).not.toContain("six");
    await once(child, "close");
    expect(stdout()).toBe("one two three four five six\n");
  });

  test("the stream ends with the turn, not some time later", async () => {
    models.script(() => ({ text: "quick" }));
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const began = performance.now();
      const answer = await fetch(`${house.url}/api/chat`, {
        method: "POST",
        headers: { authorization: `Bearer ${house.cliKey}`, "content-type": "application/json" },
        body: JSON.stringify({ message: "hello", stream: true }),
      });
      expect(await answer.text()).toContain("event: done");
      times.push(performance.now() - began);
    }
    // The best of five: a busy machine delays some, a timer would delay all.
    expect(Math.min(...times)).toBeLessThan(240);
  });

  test("--json is the turn alone; --no-stream shows the whole answer", async () => {
    models.script([{ text: "forty-two" }]);
    const { code, json, stderr } = await chat("--json", "what", "is", "it");
    expect(code).toBe(0);
    expect(json()).toMatchObject({ status: "success", reply: "forty-two", toolCalls: [] });
    expect(stderr).toBe("");
    models.script([{ text: "forty-two" }]);
    expect(await chat("--no-stream", "again")).toMatchObject({ code: 0, stdout: "forty-two\n" });
  });

  test("from stdin; nothing on stdin is a usage error", async () => {
    models.script(({ said }) => ({ text: `heard: ${said}` }));
    expect((await cli(["chat"], "from a\npipe\n")).stdout).toBe("heard: from a\npipe\n");
    expect((await cli(["chat", "-"], "dash")).stdout).toBe("heard: dash\n");
    expect(await cli(["chat"], " \n")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("empty") as string,
    });
  });

  test("tool calls are one line each, refusals with their reason", async () => {
    models.script([
      {
        text: "Let me see.",
        calls: [
          { name: "system_echo", arguments: { text: "hi" } },
          { name: "file_read", arguments: { path: "/etc/passwd" } },
        ],
      },
      { text: "One worked." },
    ]);
    const { code, stdout, stderr } = await chat("try both");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Let me see.\nOne worked.\n" });
    expect(stderr).toMatch(/^· system\/echo … success [\d.]+ ms$/m);
    expect(stderr).toMatch(/^· file\/read … failed \(\w+\).* exec_\w+$/m);
  });

  test("an approval in the middle: the link is shown, the turn goes on after the yes", async () => {
    models.script(writes("notes.md"));
    const running = chat("write it");
    const id = await approveNext();
    const { code, stdout, stderr } = await running;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "It is written.\n" });
    expect(stderr).toContain(`waiting for approval ${id}: ${house.url}/a/${id}`);
    expect(stderr).toMatch(/^· file\/write … success/m);
    expect(readFileSync(join(house.workspace, "notes.md"), "utf8")).toBe("hi");
  });

  test("--no-wait leaves with 4 while a person must agree; sessions stop ends the turn", async () => {
    models.script(writes("never.md"));
    const { code, json, stderr } = await chat("--no-wait", "--json", "write it");
    expect(code).toBe(4);
    const turn = json();
    expect(turn).toMatchObject({ status: "waiting", toolCalls: [{ status: "pending" }] });
    expect(stderr).toContain(`ostiary sessions stop ${turn.sessionId}`);
    const busy = await chat("--session", turn.sessionId as string, "hello?");
    expect(busy.code).toBe(1);
    expect(busy.stderr).toContain(`ostiary sessions stop ${turn.sessionId}`);
    const stopped = await cli(["sessions", "stop", turn.sessionId as string]);
    expect(stopped.stdout).toBe(`${turn.sessionId}  stopped\n`);
    await expect
      .poll(async () => (await asCli("GET", `/turns/${turn.turnId}`)).body.status)
      .toBe("stopped");
    expect(existsSync(join(house.workspace, "never.md"))).toBe(false);
  });

  test("Ctrl-C stops the turn, and says so", async () => {
    models.script([{ text: "slowly ".repeat(200), chunkDelayMs: 200 }]);
    const child = spawnBin(["chat", "go on"], { env: env() });
    const { stdout, stderr } = collect(child);
    await expect.poll(stdout, { timeout: 30_000 }).toContain("slowly");
    child.kill("SIGINT");
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(1);
    expect(stderr()).toMatch(/✗ stopped {2}CANCELLED \/ user/);
  });

  test("a model that fails: the exit code of its error, in one line with what to do", async () => {
    models.script(() => ({ status: 401, message: "bad key" }));
    const { code, stdout, stderr } = await chat("hello");
    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr.split("\n").filter((line) => line.startsWith("✗ failed"))).toHaveLength(1);
    const unknown = await chat("--session", "ses_none", "hello");
    expect(unknown.code).toBe(3);
    expect(unknown.stderr).toContain("ostiary sessions list");
  });

  test("nothing that steers a terminal reaches it, whoever wrote it", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2Jred\u009b31m\rover\u202e\ttab";
    models.script([{ text: evil }]);
    const { stdout } = await chat("say it");
    expect(stdout).toBe("]0;owned[2Jred31mover\ttab\n");
    const { items } = (await cli(["sessions", "list", "--json"])).json();
    const id = items[0].id as string;
    await asCli("PATCH", `/sessions/${id}`, { title: "a\u001b[31mb" });
    const all = [
      await cli(["sessions", "list"]),
      await cli(["sessions", "show", id]),
      await cli(["sessions", "messages", id]),
      await cli(["sessions", "search", "owned"]),
    ];

    for (const shown of all) expect(shown.stdout).not.toMatch(/[^\P{Cc}\n\t]/u);
    expect(all[0]?.stdout).toContain("a[31mb");
  });
});

describe("sessions", () => {
  test("a session that was idle for too long is opened again; one that was ended is not", async () => {
    models.script(() => ({ text: "fine" }));
    const { sessionId: id } = (await chat("--json", "hello")).json();
    clock += 40 * 86_400_000;
    const again = await chat("--session", id, "still there?");
    expect(again).toMatchObject({ code: 0, stdout: "fine\n" });
    expect(again.stderr).toContain(`session ${id} was idle for too long; it is open again`);
    expect((await cli(["sessions", "end", id, "--json"])).json().endedAt).not.toBe(null);
    const refused = await chat("--session", id, "hello?");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`ostiary sessions reopen ${id}`);
    expect((await cli(["sessions", "reopen", id])).stdout).toMatch(/^state +open$/m);
  });

  test("list, show, rename, messages, search, export, remove", async () => {
    models.script(() => ({ text: "Bananas are yellow." }));
    const { sessionId: id } = (await chat("--json", "tell me about bananas")).json();
    expect((await cli(["sessions", "list"])).stdout).toContain("tell me about bananas");
    expect((await cli(["sessions", "rename", id, "Fruit", "talk"])).stdout).toMatch(
      /^title +Fruit talk$/m,
    );
    expect((await cli(["sessions", "show", id, "--json"])).json()).toMatchObject({
      id,
      title: "Fruit talk",
    });
    expect((await cli(["sessions", "messages", id])).stdout).toBe(
      "you: tell me about bananas\nagent: Bananas are yellow.\n",
    );
    expect(
      (await cli(["sessions", "messages", id, "--json", "--branches"])).json().items,
    ).toHaveLength(2);
    expect((await cli(["sessions", "search", "yellow"])).stdout).toMatch(/Fruit talk +Bananas are/);
    expect((await cli(["sessions", "export", id])).stdout).toContain("# Fruit talk");
    expect(
      (await cli(["sessions", "export", id, "--out", "talk.json", "--format", "json"])).code,
    ).toBe(0);
    expect(JSON.parse(readFileSync(join(dir, "talk.json"), "utf8"))).toMatchObject({
      session: { id },
      messages: [{ role: "user" }, { role: "assistant" }],
    });
    expect(await cli(["sessions", "export", id, "--out", "talk.json"])).toMatchObject({ code: 2 });
    expect(await cli(["sessions", "remove", id])).toMatchObject({ code: 2 });
    expect((await cli(["sessions", "remove", id, "--yes"])).stdout).toBe(`${id}  removed\n`);
    expect((await cli(["sessions", "show", id])).code).toBe(3);
  });
});

describe("a conversation on a terminal", () => {
  function open(words: string[] = []) {
    const child = spawnInTerminal(["chat", "--no-color", ...words], { cwd: dir, env: env() });
    const { stdout } = collect(child);
    let seen = 0;
    return {
      child,
      stdout,
      type: (text: string) => void child.stdin?.write(text),
      /** Waits for this in what came since the last time. */
      async until(pattern: RegExp): Promise<string> {
        await expect.poll(() => stdout().slice(seen), { timeout: 30_000 }).toMatch(pattern);
        const found = pattern.exec(stdout().slice(seen));
        seen += (found?.index ?? 0) + (found?.[0].length ?? 0);
        return found?.[0] ?? "";
      },
    };
  }
  const PROMPT = /\r?\n?[^\n]*> /;

  test("messages, branches, the commands, and leaving", async () => {
    const talk = open();
    await talk.until(PROMPT);
    models.script([{ text: "First answer." }, { text: "Second answer." }, { text: "Third." }]);
    talk.type("hello\r");
    await talk.until(/First answer\./);
    await talk.until(PROMPT);
    talk.type("/regenerate\r");
    await talk.until(/Second answer\./);
    await talk.until(PROMPT);
    talk.type("/edit hello again\r");
    await talk.until(/Third\./);
    await talk.until(PROMPT);
    talk.type("/branch\r");
    await talk.until(/1 .*First answer[^]*2 .*Second answer[^]*\* 3 .*Third/);
    await talk.until(PROMPT);
    talk.type("/branch 1\r");
    await talk.until(/going on after: First answer/);
    talk.type("/history\r");
    await talk.until(/you: hello\r\nagent: First answer\.\r\n/);
    talk.type("/title Talk of today\r");
    await talk.until(/renamed/);
    talk.type("/search third\r");
    await talk.until(/Talk of today +Third\./);
    talk.type("/sessions\r");
    await talk.until(/\* 1 +ses_\w+ .*Talk of today/);
    talk.type("/export talk.md\r");
    await talk.until(/wrote talk\.md/);
    talk.type("/exprot\r");
    await talk.until(/error: unknown command \/exprot; did you mean \/export\?/);
    talk.type("/help\r");
    await talk.until(/\/regenerate +answer the newest/);
    talk.type("/tools echo\r");
    await talk.until(/system\/echo +/);
    // The arrow key brings the line back.
    talk.type("\u001b[A\r");
    await talk.until(/\/tools echo[^]*system\/echo +/);
    await talk.until(PROMPT);
    talk.type("/quit\r");
    await once(talk.child, "close");
    expect(talk.stdout()).toMatch(/continue later: ostiary chat --session ses_\w+/);
    expect(readFileSync(join(dir, "talk.md"), "utf8")).toContain("**Agent:** First answer.");
  });

  test("an approval is waited for; Ctrl-C stops the turn, the second one leaves", async () => {
    const talk = open();
    await talk.until(PROMPT);
    models.script(writes("from-terminal.md"));
    talk.type("write it\r");
    await talk.until(/waiting for approval apr_\w+: http\S+\/a\/apr_/);
    talk.type("are you there?\r");
    await talk.until(/the agent is answering; \/stop stops it/);
    await approveNext();
    await talk.until(/· file\/write … success/);
    await talk.until(/It is written\./);
    await talk.until(PROMPT);
    models.script(writes("never.md"));
    talk.type("write another\r");
    await talk.until(/waiting for approval/);
    talk.type("\u0003");
    await talk.until(/✗ stopped/);
    await talk.until(PROMPT);
    talk.type("\u0003");
    await talk.until(/Ctrl-C again/);
    talk.type("\u0003");
    await once(talk.child, "close");
    expect(existsSync(join(house.workspace, "never.md"))).toBe(false);
  });

  test("a question of a tool is shown and answered in place", async () => {
    const talk = open();
    await talk.until(PROMPT);
    models.script(({ results }) =>
      results.length > 0
        ? { text: `You chose ${/"answer":"(\w+)"/.exec(results[0]?.content ?? "")?.[1] ?? "?"}.` }
        : {
            calls: [
              {
                name: "agent_ask_user",
                arguments: { question: "Which branch?", options: ["main", "next"] },
              },
            ],
          },
    );
    talk.type("release it\r");
    await talk.until(/waiting for approval|\? Which branch\?/).then(async (found) => {
      if (!found.startsWith("waiting")) return;
      await approveNext();
      await talk.until(/\? Which branch\?/);
    });
    await talk.until(/2\. next/);
    talk.type("2\r");
    await talk.until(/You chose next\./);
    await talk.until(PROMPT);
    talk.type("\u0004");
    await once(talk.child, "close");
  });
});

test("without a model the commands work, and a message says how to add one", async () => {
  const bare = await startApp();
  try {
    const run = (...words: string[]) =>
      runBin(["chat", ...words], { env: { OSTIARY_DATA_DIR: bare.dataDir } });
    const tools = await run("/tools echo");
    expect(tools).toMatchObject({ code: 0 });
    expect(tools.stdout).toMatch(/^system\/echo +\S/m);
    const called = await run('/tool system/echo {"text": "hi"}');
    expect(called.stdout).toContain('"text": "hi"');
    expect(called.stderr).toMatch(/· system\/echo … success/);
    expect((await run('/explain file/read {"path": "/etc/passwd"}')).stdout).toMatch(/deny/);
    expect((await run("hello")).stdout).toContain("No model is set up");
  } finally {
    await bare.close();
  }
});
