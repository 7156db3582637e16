// Calls that wait for a person, over every door that shows them: REST, tRPC, the page, the command line.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, type Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { collect, spawnBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { isGenuine, startReceiver } from "../fixtures/webhook-receiver.ts";

/** Texts that were really written, in order. */
const written: string[] = [];

const dangerous = (name: string): Tool =>
  defineTool({
    name,
    description: "Writes a text down. For tests only.",
    input: z.strictObject({ text: z.string().max(50), password: z.string().optional() }),
    output: z.strictObject({ bytes: z.number() }),
    risk: "dangerous",
    effects: "system_write",
    needs: [],
    timeoutMs: 5_000,
    examples: [{ text: "hi" }],
    run({ text }) {
      written.push(text);
      return { bytes: text.length };
    },
  });
const tools = [dangerous("system/scribble"), dangerous("system/scribble_twice")];

const folders: string[] = [];
function folder(prefix: string): string {
  const made = mkdtempSync(join(tmpdir(), prefix));
  folders.push(made);
  return made;
}

/** The packaged files, but one tool needs two people. */
function governance(): string {
  const path = folder("ostiary-governance-");
  cpSync(join(import.meta.dirname, "../../governance"), path, { recursive: true });
  const file = join(path, "tools.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace(/^tools:$/m, "tools:\n  system/scribble_twice: { approvals: { approvals: 2 } }"),
  );
  return path;
}

let app: StartedApp;
let skewMs = 0;
let users = 0;
const start = (more: Parameters<typeof startApp>[0] = {}) =>
  startApp({ tools, now: () => Date.now() + skewMs, flags: { governance: governance() }, ...more });
beforeAll(async () => {
  app = await start();
});
afterAll(async () => {
  await app.close();
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

/** An agent of its own for each test: waiting calls and throttles are counted per caller. */
const agent = (on: StartedApp = app): Promise<string> =>
  newUser(on, `bot${++users}`, {
    level: "admin",
    capsuleId: "all",
    scopes: ["agent:execute:dangerous", "agent:execute:safe"],
  });

const call = (key: string, text: string, more: object = {}, on: StartedApp = app) =>
  on.api("POST", "/executions", {
    key,
    body: { name: "system/scribble", arguments: { text }, ...more },
  });

async function held(key: string, text: string, more: object = {}, on: StartedApp = app) {
  const answer = await call(key, text, more, on);
  expect([answer.status, answer.body.status]).toEqual([202, "pending"]);
  return {
    id: answer.body.approval.id as string,
    executionId: answer.body.executionId as string,
    answer,
  };
}

const decide = (verb: "approve" | "deny", id: string, body: object = {}, key?: string, on = app) =>
  on.api("POST", `/approvals/${id}/${verb}`, { body, ...(key === undefined ? {} : { key }) });

async function ended(key: string, executionId: string, on = app) {
  let execution: { status: string; endTime?: string; [field: string]: unknown } | undefined;
  await until(async () => {
    execution = (await on.api("GET", `/executions/${executionId}`, { key })).body.execution;
    return execution?.endTime !== undefined;
  });
  return execution as NonNullable<typeof execution>;
}

const times = (text: string): number => written.filter((one) => one === text).length;

describe("approving", () => {
  test("R085, C12: the call answers 202, runs once somebody agreed, and keeps its id", async () => {
    const key = await agent();
    const { id, executionId, answer } = await held(key, "one", { wait: true });
    expect(answer.headers.get("location")).toBe(`/api/v1/executions/${executionId}`);
    expect(answer.body).toEqual({
      success: true,
      executionId,
      status: "pending",
      approval: { id, state: "pending", expiresAt: expect.any(String), url: `${app.url}/a/${id}` },
    });
    conforms("tools.executeTool", answer.body);
    const waiting = await app.api("GET", `/executions/${executionId}`, { key });
    conforms("tools.getToolStatus", waiting.body);
    expect(waiting.body.execution).toMatchObject({
      status: "pending",
      approval: { id, state: "pending" },
    });
    expect(written).not.toContain("one");
    const approved = await decide("approve", id, { comment: "go" });
    conforms("approvals.approve", approved.body);
    expect(approved.body).toMatchObject({
      state: "approved",
      votes: [{ userId: "owner", comment: "go" }],
    });
    expect(await ended(key, executionId)).toMatchObject({
      status: "success",
      result: { bytes: 3 },
      approval: { state: "consumed", decidedBy: ["owner"], comment: "go" },
    });
    expect(times("one")).toBe(1);
    expect((await decide("approve", id)).body).toMatchObject({ code: "CONFLICT", reason: "stale" });
  });

  test("R086: a no reaches the agent with its comment", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "no");
    expect((await decide("deny", id, { comment: "not today" })).body.state).toBe("declined");
    expect(await ended(key, executionId)).toMatchObject({
      status: "failed",
      errorCode: "FORBIDDEN",
      errorReason: "approval_declined",
      error: "Approval denied by user: not today",
    });
    expect(times("no")).toBe(0);
  });

  test("R087: who decides sees tool and arguments, secrets masked", async () => {
    const key = await agent();
    const { id } = await held(key, "masked", {
      arguments: { text: "masked", password: "hunter2" },
    });
    const seen = await app.api("GET", `/approvals/${id}`);
    conforms("approvals.getApproval", seen.body);
    expect(seen.body).toMatchObject({
      toolName: "system/scribble",
      risk: "dangerous",
      arguments: { text: "masked", password: expect.stringMatching(/^\[masked:\w{12}\]$/) },
      mayDecide: true,
    });
    const listed = await app.api("GET", "/approvals?state=pending&limit=100");
    conforms("approvals.listApprovals", listed.body);
    expect(JSON.stringify([seen.body, listed.body])).not.toContain("hunter2");
    expect(listed.body.items.map((item: { id: string }) => item.id)).toContain(id);
  });

  test("C39, T21: neither the requester nor an agent decides; to others it does not exist", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "self");
    for (const verb of ["approve", "deny"] as const) {
      const own = await decide(verb, id, {}, key);
      expect([own.status, own.body.reason]).toEqual([403, "own_approval"]);
      const other = await decide(verb, id, {}, await agent());
      expect([other.status, other.body.code]).toEqual([404, "NOT_FOUND"]);
    }
    const weak = await app.api("POST", "/keys", {
      body: { userId: "owner", name: "weak", scopes: ["agent:execute:safe"] },
    });
    const agentOfOwner = await decide("approve", id, {}, weak.body.secret);
    expect([agentOfOwner.status, agentOfOwner.body.reason]).toEqual([403, "scope_missing"]);
    // Nothing the agent says about itself counts.
    const forged = await call(key, "self", {
      context: { metadata: { confirm: true, approved: true } },
    });
    expect([forged.status, forged.body.executionId]).toEqual([202, executionId]);
    expect(times("self")).toBe(0);
  });

  test("the approver's arguments are what runs; both versions are kept", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "push --force", {
      arguments: { text: "push --force", password: "hunter2" },
    });
    const wrong = await decide("approve", id, { arguments: { text: 1 } });
    expect([wrong.status, wrong.body.reason]).toEqual([400, "invalid_arguments"]);
    const edit = { text: "push", password: "[masked]" };
    const approved = await decide("approve", id, { arguments: edit });
    expect(approved.body).toMatchObject({
      arguments: { text: "push --force" },
      editedArguments: { text: "push", password: approved.body.arguments.password },
    });
    expect((await ended(key, executionId)).status).toBe("success");
    expect([times("push"), times("push --force")]).toEqual([1, 0]);
  });

  test("the same call joins the one that waits", async () => {
    const key = await agent();
    const first = await held(key, "join");
    const second = await held(key, "join");
    expect([second.id, second.executionId]).toEqual([first.id, first.executionId]);
    await decide("approve", first.id);
    await ended(key, first.executionId);
    expect(times("join")).toBe(1);
  });

  test("T18: 1,000 parallel repeats around an approval run once", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "once");
    const repeats = Array.from({ length: 1_000 }, (_, i) =>
      i === 500 ? decide("approve", id) : call(key, "once"),
    );
    const answers = await Promise.all(repeats);
    // On a crowded machine a stage may be too slow: that call is refused and has not run.
    expect(answers.filter(({ status }) => ![200, 202, 503].includes(status))).toEqual([]);
    expect(answers.filter(({ status }) => status === 202).length).toBeGreaterThan(100);
    await ended(key, executionId);
    expect(times("once")).toBe(1);
  });

  test("2 of 3: two different people, not the same one twice", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "twice", { name: "system/scribble_twice" });
    const made = await app.api("POST", "/users", {
      body: { id: "second", name: "second", role: "admin" },
    });
    expect(made.status).toBe(201);
    const second = await app.api("POST", "/keys", {
      body: { userId: "second", name: "k", scopes: ["tool:approve"] },
    });
    expect((await decide("approve", id)).body).toMatchObject({ state: "pending", needed: 2 });
    expect((await decide("approve", id)).body.code).toBe("CONFLICT");
    expect(times("twice")).toBe(0);
    expect((await decide("approve", id, {}, second.body.secret)).body.state).toBe("approved");
    expect((await ended(key, executionId)).status).toBe("success");
    expect(times("twice")).toBe(1);
  });

  test("T19: one caller can have only so many open", async () => {
    const key = await agent();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => call(key, `flood ${i}`)),
    );
    const open = answers.filter(({ status }) => status === 202).length;
    const refused = answers.filter(({ status }) => status === 429);
    expect([open, refused.length]).toEqual([20, 20]);
    expect(refused[0]?.body).toMatchObject({ code: "TOO_MANY_REQUESTS", reason: "concurrency" });
    expect(written.filter((text) => text.startsWith("flood"))).toEqual([]);
  });

  test("the requester may cancel it", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "cancel");
    expect(
      (await app.api("POST", `/executions/${executionId}/cancel`, { key, body: {} })).status,
    ).toBe(200);
    expect((await app.api("GET", `/approvals/${id}`)).body.state).toBe("cancelled");
    expect((await decide("approve", id)).body.code).toBe("CONFLICT");
    expect((await ended(key, executionId)).status).toBe("cancelled");
  });

  test("the same over tRPC", async () => {
    const key = await agent();
    const held = await trpcClient(app, key).tools.executeTool.mutate({
      name: "system/scribble",
      arguments: { text: "trpc" },
    });
    expect(held.status).toBe("pending");
    const id = held.approval?.id ?? "";
    const { approvals } = trpcClient(app);
    const listed = await approvals.listApprovals.query({ state: "pending" });
    expect(listed.items.map((item) => item.id)).toContain(id);
    const own = await trpcFailure(trpcClient(app, key).approvals.approve.mutate({ id }));
    expect([own.httpStatus, own.error.reason]).toEqual([403, "own_approval"]);
    expect((await approvals.approve.mutate({ id })).state).toBe("approved");
    expect((await ended(key, held.executionId)).status).toBe("success");
  });
});

describe("time and change", () => {
  test("C39: what nobody answers runs out: expired when it was seen, else not presented", async () => {
    const [key, other] = [await agent(), await agent()];
    const unseen = await held(key, "unseen");
    const seen = await held(other, "seen");
    await app.api("GET", `/approvals/${seen.id}`);
    skewMs += 601_000;
    try {
      expect(await ended(other, seen.executionId)).toMatchObject({
        errorReason: "approval_expired",
      });
      expect(await ended(key, unseen.executionId)).toMatchObject({
        errorReason: "approval_not_presented",
      });
      expect((await decide("approve", seen.id)).body.code).toBe("CONFLICT");
    } finally {
      skewMs = 0;
    }
    expect([times("seen"), times("unseen")]).toEqual([0, 0]);
  });

  test("experience 28: a standing rule waives asking until it is revoked", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "rule");
    await decide("approve", id);
    await ended(key, executionId);
    const drafted = await app.api("POST", `/approvals/${id}/rule`, {
      body: { expiresInSeconds: 3600 },
    });
    expect(drafted.status).toBe(201);
    conforms("approvals.draftApprovalRule", drafted.body);
    expect(
      (await app.api("POST", `/approvals/${id}/rule`, { key, body: { expiresInSeconds: 3600 } }))
        .status,
    ).toBe(403);
    const unasked = await call(key, "rule");
    expect([unasked.status, unasked.body.status]).toEqual([200, "success"]);
    expect(unasked.body.gates.at(-1)).toMatchObject({
      stage: "approval",
      verdict: "allow",
      rule: `standing rule ${drafted.body.id}`,
    });
    expect((await call(key, "other")).status).toBe(202);
    const rules = await app.api("GET", "/approval-rules");
    conforms("approvals.listApprovalRules", rules.body);
    expect(rules.body.items.map((item: { id: string }) => item.id)).toEqual([drafted.body.id]);
    expect((await app.api("DELETE", `/approval-rules/${drafted.body.id}`)).status).toBe(200);
    expect((await call(key, "rule")).status).toBe(202);
  });

  test("T18: a policy published meanwhile refuses the call and says so", async () => {
    const own = await start();
    try {
      const key = await agent(own);
      const { id, executionId } = await held(key, "policy", {}, own);
      const owner = await own.callerOf(own.adminKey);
      const { documents } = own.doors;
      const { files } = await documents.enforced("policy");
      const changed = Object.fromEntries(
        Object.entries(files).map(([name, text]) => [name, `${text}\n# changed\n`]),
      );
      const { document } = await documents.draft(owner, "policy", changed, "test");
      await documents.publish(owner, "policy", document.version, "enforced");
      await decide("approve", id, {}, undefined, own);
      const refused = await ended(key, executionId, own);
      expect(refused).toMatchObject({ status: "failed", errorReason: "approval_changed" });
      expect(refused["error"]).toContain("policy");
      expect(times("policy")).toBe(0);
      await until(
        async () => (await own.api("GET", `/approvals/${id}`)).body.state === "cancelled",
      );
    } finally {
      await own.close();
    }
  });

  test("a revoked key's call does not run any more", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "revoked");
    const { items } = (await app.api("GET", `/keys?userId=bot${users}`)).body;
    await app.api("DELETE", `/keys/${items[0].id}`);
    const record = () => app.app.store.executions.get(executionId);
    await until(async () => (await record())?.status === "cancelled");
    expect((await record())?.error).toContain("not active any more");
    expect((await decide("approve", id)).status).toBe(409);
    expect((await app.api("GET", `/approvals/${id}`)).body.state).toBe("cancelled");
    expect(times("revoked")).toBe(0);
  });

  test("protocol 7.8: a restart keeps what waits", async () => {
    const dataDir = folder("ostiary-approvals-");
    const flags = { governance: governance() };
    const first = await start({ dataDir, flags });
    const key = await agent(first);
    const { id, executionId } = await held(key, "restart", {}, first);
    await first.stop();
    const second = await start({ dataDir, flags });
    try {
      expect(
        (await second.api("GET", `/executions/${executionId}`, { key })).body.execution.status,
      ).toBe("pending");
      await decide("approve", id, {}, undefined, second);
      expect((await ended(key, executionId, second)).status).toBe("success");
      expect(times("restart")).toBe(1);
    } finally {
      await second.stop();
    }
  });
});

test("the webhook of the settings is told, wherever it is, and whoever takes the message counts as having seen it", async () => {
  const inbox = await startReceiver();
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const hook = { "approvals.webhook.url": inbox.url, "approvals.webhook.secret": secret };
  const own = await start({ flags: { governance: governance(), ...hook } });
  try {
    const key = await agent(own);
    const { id, executionId } = await held(key, "hook", {}, own);
    await until(async () => (await own.app.store.approvals.get(id))?.presentedAt !== null, 30_000);
    expect(inbox.got.map(({ body }) => body)).toMatchObject([
      {
        type: "approval.requested",
        data: { approvalId: id, executionId, url: `${own.url}/a/${id}` },
      },
    ]);
    expect(inbox.got.every((message) => isGenuine(message, secret))).toBe(true);
    skewMs += 601_000;
    expect(await ended(key, executionId, own)).toMatchObject({ errorReason: "approval_expired" });
    await until(() => inbox.got.length === 2, 30_000);
    expect(inbox.got[1]?.body).toMatchObject({
      type: "approval.expired",
      data: { approvalId: id },
    });
    const { items } = (await own.api("GET", "/webhooks")).body;
    expect(items).toMatchObject([{ origin: "configuration", url: inbox.url }]);
    for (const [method, path] of [
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/rotate"],
    ] as const) {
      const refused = await own.api(
        method,
        `/webhooks/${items[0].id}${path}`,
        method === "PATCH" ? { body: { enabled: false } } : {},
      );
      expect([refused.status, refused.body.code]).toEqual([409, "CONFLICT"]);
    }
  } finally {
    skewMs = 0;
    await own.close();
    await inbox.close();
  }
});

describe("in the console", () => {
  async function cookie(): Promise<string> {
    const response = await fetch(await app.app.loginUrl(), { redirect: "manual" });
    return (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  }
  const vote = (path: string, body: unknown, headers: Record<string, string>) =>
    fetch(`${app.url}/api/v1/approvals/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });

  test("the link shows a page to somebody signed in, and decisions come from our own page only", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "page");
    const html = { accept: "text/html" };
    const stranger = await fetch(`${app.url}/a/${id}`, { headers: html });
    expect([stranger.status, (await stranger.text()).includes("ostiary open")]).toEqual([
      401,
      true,
    ]);
    const session = { cookie: await cookie() };
    const page = await fetch(`${app.url}/a/${id}`, { headers: { ...html, ...session } });
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const { version } = (await app.api("GET", `/approvals/${id}`)).body as { version: string };
    const from = (origin: string) => ({ ...session, origin });
    const approve = `${id}/approve`;
    expect((await vote(approve, { version }, from("http://evil.example"))).status).toBe(403);
    expect((await vote(approve, { version }, session)).status).toBe(403);
    expect((await vote(approve, { version: "other" }, from(app.url))).status).toBe(409);
    expect(times("edited")).toBe(0);
    const edited = { version, comment: "ok", arguments: { text: "edited" } };
    expect((await vote(approve, edited, from(app.url))).status).toBe(200);
    expect((await ended(key, executionId)).status).toBe("success");
    expect(times("edited")).toBe(1);
  });

  test("says no, and refuses what is not JSON of ours", async () => {
    const key = await agent();
    const { id, executionId } = await held(key, "page no");
    const headers = { cookie: await cookie(), origin: app.url };
    expect((await vote(`${id}/approve`, { arguments: [1] }, headers)).status).toBe(400);
    expect((await vote(`${id}/approve`, "{", headers)).status).toBe(400);
    const plain = { ...headers, "content-type": "text/plain" };
    expect((await vote(`${id}/deny`, {}, plain)).status).toBe(415);
    expect((await vote(`${id}/deny`, { comment: "no" }, headers)).status).toBe(200);
    expect(await ended(key, executionId)).toMatchObject({ error: "Approval denied by user: no" });
    expect((await vote("apr_x/deny", {}, headers)).status).toBe(404);
  });
});

describe("the command line", () => {
  const reach = (file: string, key: string): string[] => {
    const path = join(folder("ostiary-key-"), file);
    writeFileSync(path, key, { mode: 0o600 });
    return ["--server", app.url, "--key", `file:${path}`];
  };
  const run = async (args: string[]) => {
    const child = spawnBin(args);
    const { stdout, stderr } = collect(child);
    child.stdin?.end();
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, stdout: stdout(), stderr: stderr() };
  };
  const pending = async (text: string): Promise<string> => {
    let id = "";
    await until(async () => {
      const { items } = (await app.api("GET", "/approvals?state=pending&limit=100")).body;
      id =
        items.find((item: { arguments: { text: string } }) => item.arguments.text === text)?.id ??
        "";
      return id !== "";
    }, 20_000);
    return id;
  };

  test(
    "a call waits, tells how to decide it, and ends as decided",
    { timeout: 60_000 },
    async () => {
      const key = reach("bot.key", await agent());
      const owner = reach("owner.key", app.adminKey);
      const waiting = run(["call", "system/scribble", "text=cli", ...key]);
      const id = await pending("cli");
      const listed = await run(["approvals", "list", ...owner]);
      expect(listed.stdout).toContain(id);
      const approved = await run(["approvals", "approve", id, "--reason", "ok", ...owner]);
      expect([approved.code, approved.stdout.trim()]).toEqual([0, `${id}  approved`]);
      const done = await waiting;
      expect(done.code).toBe(0);
      expect(done.stderr).toMatch(
        new RegExp(
          `⏸ pending — waiting for approval ${id}   expires in 10 min   \\(Ctrl-C leaves it waiting\\)`,
        ),
      );
      expect(done.stderr).toMatch(/✓ approved by owner after \d+ s, gate run again ✓/);
      expect(done.stderr).toContain("✓ success");
      const shown = await run(["approvals", "show", id, "--json", ...owner]);
      expect(JSON.parse(shown.stdout)).toMatchObject({ id, state: "consumed" });
    },
  );

  test("exit codes: 4 while it waits, 3 when it was declined", { timeout: 60_000 }, async () => {
    const key = reach("bot.key", await agent());
    const owner = reach("owner.key", app.adminKey);
    const left = await run([
      "call",
      "system/scribble",
      "text=cli no",
      "--no-wait",
      "--json",
      ...key,
    ]);
    expect(left.code).toBe(4);
    const { approval } = JSON.parse(left.stdout) as { approval: { id: string } };
    const waiting = run(["call", "system/scribble", "text=cli no", ...key]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const denied = await run(["approvals", "deny", approval.id, "--reason", "no way", ...owner]);
    expect(denied.stdout.trim()).toBe(`${approval.id}  declined`);
    const done = await waiting;
    expect([done.code, done.stderr]).toEqual([
      3,
      expect.stringContaining("Approval denied by user: no way"),
    ]);
  });

  test(
    "watch tells of new ones and of their end, as lines of JSON",
    { timeout: 60_000 },
    async () => {
      const key = await agent();
      const child = spawnBin(["approvals", "watch", "--json", ...reach("owner.key", app.adminKey)]);
      const { stdout } = collect(child);
      const { id } = await held(key, "watch");
      const events = () =>
        stdout()
          .trim()
          .split("\n")
          .filter(Boolean)
          .map(
            (line) =>
              JSON.parse(line) as { event: string; approval: { id: string; state: string } },
          );
      const told = () =>
        events()
          .filter(({ approval }) => approval.id === id)
          .map(({ event, approval }) => `${event} ${approval.state}`);
      await until(() => told().length === 1, 20_000);
      await decide("deny", id);
      await until(() => told().length === 2, 20_000);
      expect(told()).toEqual(["requested pending", "decided declined"]);
      const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
      child.kill("SIGINT");
      expect(await closed).toBe(0);
    },
  );
});
