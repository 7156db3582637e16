// What an approver sees before deciding: the effect of the call, and that looking at it changes nothing.
import { createHash } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { agreedAgent, patientGovernance, type Agent } from "../fixtures/agreed.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";
import { createShop } from "../fixtures/database.ts";
import { hold } from "../fixtures/previews.ts";

let app: StartedApp;
let agent: Agent;
let shop: string;
const outside = mkdtempSync(join(tmpdir(), "ostiary-outside-"));
/** Previews are limited by the minute, and a test makes many. */
let skewMs = 0;
beforeAll(async () => {
  shop = join(outside, "shop.db");
  createShop(shop);
  const db = new DatabaseSync(shop);
  db.exec(`create table endless (id integer primary key, n integer);
    insert into endless with recursive c(n) as (select 1 union all select n + 1 from c where n < 400) select n, n from c;
    create trigger forever after update on endless begin
      update endless set n = (select count(*) from endless a, endless b, endless c, endless d) where id = new.id;
    end;
    create table notes (id integer primary key, password text, body text);
    insert into notes values (1, 'hunter2', 'plain')`);
  db.close();
  const databases = JSON.stringify({
    shop: { url: `sqlite:${shop}`, readOnly: false, default: true },
  });
  app = await startApp({
    flags: { governance: patientGovernance(), databases },
    now: () => Date.now() + skewMs,
  });
  agent = await agreedAgent(app);
  // The first question loads the rules, and may come too late for its stage.
  const question = { tool: "file/write", arguments: { path: "a", content: "x" } };
  for (let asked = "deny"; asked === "deny";)
    asked = (await app.api("POST", "/explain", { key: agent.key, body: question })).body.verdict;
});
afterAll(async () => {
  await app.close();
  rmSync(outside, { recursive: true, force: true });
});
beforeEach(() => {
  rmSync(app.workspace, { recursive: true, force: true });
  mkdirSync(app.workspace);
  skewMs += 181_000;
});

const put = (path: string, text: string | Buffer): void => {
  mkdirSync(join(app.workspace, path, ".."), { recursive: true });
  writeFileSync(join(app.workspace, path), text);
};
const waiting = (name: string, args: object) => hold(app, agent.key, name, args);

/** Everything below a folder: names, content and times. */
function stateOf(folder: string): string {
  const lines = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) return path;
    const { mtimeNs, nlink, ino } = statSync(path, { bigint: true });
    const content = createHash("sha256").update(readFileSync(path)).digest("hex");
    return `${path} ${mtimeNs} ${nlink} ${ino} ${content}`;
  });
  return lines.sort().join("\n");
}

describe("files", () => {
  test("an overwritten file: what changes in it, and nothing is touched", async () => {
    put("a.txt", "one\ntwo\nthree\n");
    const held = await waiting("file/write", { path: "a.txt", content: "one\n2\nthree\n" });
    const [before, calls] = [stateOf(app.workspace), await executions()];
    const preview = await held.preview();
    expect(preview).toMatchObject({
      approvalId: held.approvalId,
      toolName: "file/write",
      edited: false,
      denied: null,
      effect: {
        kind: "files",
        changes: [
          {
            change: "changed",
            type: "file",
            path: "a.txt",
            sizeBytes: 12,
            previousSizeBytes: 14,
            addedLines: 1,
            removedLines: 1,
          },
        ],
        totals: { created: 0, changed: 1, moved: 0, removed: 0 },
        cut: false,
      },
    });
    expect(preview.effect.changes[0].diff).toContain("-two\n+2\n");
    expect(stateOf(app.workspace)).toBe(before);
    expect(await executions()).toEqual(calls);
    expect(readdirSync(join(app.dataDir, "previews"))).toEqual([]);
    // It is still as it was, and runs once.
    expect((await held.approve()).body.status).toBe("success");
    expect(readFileSync(join(app.workspace, "a.txt"), "utf8")).toBe("one\n2\nthree\n");
  });

  test("new folders on the way are told with the file", async () => {
    const held = await waiting("file/write", { path: "a/b/c.txt", content: "hi\n" });
    const { effect } = await held.preview();
    expect(
      effect.changes.map((one: Record<string, string>) => `${one.change} ${one.type} ${one.path}`),
    ).toEqual(["created dir a", "created dir a/b", "created file a/b/c.txt"]);
    expect(effect.changes[2].diff).toContain("+hi");
    expect(readdirSync(app.workspace)).toEqual([]);
  });

  test("a recursive deletion counts what goes", async () => {
    for (const name of ["x.txt", "y.txt", "deep/z.txt"]) put(`old/${name}`, "12345");
    const held = await waiting("file/delete", { path: "old", recursive: true });
    const { effect } = await held.preview();
    expect(effect.totals).toEqual({ created: 0, changed: 0, moved: 0, removed: 5 });
    expect(effect.changes[0]).toMatchObject({
      change: "removed",
      type: "dir",
      path: "old",
      files: 3,
      bytes: 15,
    });
    expect(readdirSync(join(app.workspace, "old"))).toHaveLength(3);
  });

  test("a move says from where, a folder is moved as one", async () => {
    put("one/a.txt", "a");
    put("one/b.txt", "b");
    const held = await waiting("file/move", { from: "one", to: "two" });
    const { effect } = await held.preview();
    expect(effect.changes).toEqual([
      { change: "moved", type: "dir", path: "two", from: "one", files: 2, bytes: 2 },
    ]);
    put("c.txt", "c");
    put("d.txt", "d");
    const over = await waiting("file/move", { from: "c.txt", to: "d.txt", overwrite: true });
    expect((await over.preview()).effect.changes).toEqual([
      { change: "moved", type: "file", path: "d.txt", from: "c.txt", replaces: true, sizeBytes: 1 },
    ]);
  });

  test("a call that would fail says why", async () => {
    put("a.txt", "x");
    const held = await waiting("file/edit", { path: "a.txt", oldContent: "y", newContent: "z" });
    expect((await held.preview()).effect).toMatchObject({
      kind: "fails",
      code: "EXECUTION_FAILED",
      reason: "no_match",
    });
  });

  test("binary and large files have sizes and no diff", async () => {
    put("b.bin", Buffer.from([0, 1, 2, 3]));
    const binary = await waiting("file/write", { path: "b.bin", content: "text" });
    expect((await binary.preview()).effect.changes).toEqual([
      {
        change: "changed",
        type: "file",
        path: "b.bin",
        sizeBytes: 4,
        previousSizeBytes: 4,
        note: "binary: no diff",
      },
    ]);
    put("huge.bin", "");
    truncateSync(join(app.workspace, "huge.bin"), 5_000_000_000);
    const huge = await waiting("file/delete", { path: "huge.bin" });
    const [change] = (await huge.preview()).effect.changes;
    expect(change).toMatchObject({ change: "removed", sizeBytes: 5_000_000_000 });
    expect(change.note).toContain("larger than");
    expect(change.diff).toBeUndefined();
  });

  test("secrets in a diff are masked, also those that are there already", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    put("env.txt", `token=${token}\nname=a\n`);
    const content = `token=${token.replace("a1B2", "c3D4")}\nname=b\n`;
    const held = await waiting("file/write", { path: "env.txt", content });
    const text = JSON.stringify(await held.preview());
    expect(text).toContain("name=b");
    expect(text).not.toContain("a1B2a1B2");
    expect(text).toMatch(/\[masked:\w+\]/);
  });

  test("a link leads no further than the call itself could go", async () => {
    writeFileSync(join(outside, "secret.txt"), "outside");
    put("in.txt", "in");
    const held = await waiting("file/write", { path: "link.txt", content: "x" });
    // Since it was asked, the path has become a link that leads out.
    symlinkSync(join(outside, "secret.txt"), join(app.workspace, "link.txt"));
    const preview = await held.preview();
    expect(preview.denied).toMatchObject({ stage: "arguments", reason: "path_not_allowed" });
    expect(preview.effect.kind).toBe("none");
    expect(JSON.stringify(preview)).not.toContain("outside\n");
    const copy = await waiting("file/copy", { from: "in.txt", to: "sub.txt" });
    rmSync(join(app.workspace, "in.txt"));
    symlinkSync(join(outside, "secret.txt"), join(app.workspace, "in.txt"));
    expect((await copy.preview()).denied).toMatchObject({ stage: "arguments" });
  });

  test("a second name of a forbidden file is not shown by a preview either", async () => {
    writeFileSync(join(app.dataDir, "notes.txt"), "of the server");
    put("n.txt", "mine");
    const held = await waiting("file/write", { path: "n.txt", content: "new" });
    rmSync(join(app.workspace, "n.txt"));
    linkSync(join(app.dataDir, "notes.txt"), join(app.workspace, "n.txt"));
    const { effect } = await held.preview();
    expect(JSON.stringify(effect)).not.toContain("of the server");
    const edit = await waiting("file/edit", {
      path: "n.txt",
      oldContent: "of the",
      newContent: "x",
    });
    expect((await edit.preview()).effect).toMatchObject({
      kind: "fails",
      reason: "path_forbidden",
    });
  });

  test("a folder with too many entries is not copied", async () => {
    for (let i = 0; i < 41; i++) {
      mkdirSync(join(app.workspace, `many/${i}`), { recursive: true });
      for (let j = 0; j < 100; j++) writeFileSync(join(app.workspace, `many/${i}/${j}`), "");
    }
    const held = await waiting("file/delete", { path: "many", recursive: true });
    expect((await held.preview()).effect).toMatchObject({
      kind: "none",
      reason: expect.stringContaining("more than 4000 entries") as string,
    });
  });
});

describe("databases", () => {
  const rowsOf = (sql: string): unknown[] => {
    const db = new DatabaseSync(shop, { readOnly: true });
    try {
      return db.prepare(sql).all();
    } finally {
      db.close();
    }
  };
  const hashOf = (): string => createHash("sha256").update(readFileSync(shop)).digest("hex");

  test("an update shows rows as they are and as they will be, and is rolled back", async () => {
    const held = await waiting("database/update", {
      table: "orders",
      set: { amount: 1 },
      where: { customer_id: 1 },
    });
    const before = hashOf();
    expect((await held.preview()).effect).toEqual({
      kind: "database",
      connection: "shop",
      engine: "sqlite",
      action: "update",
      table: "orders",
      rows: 2,
      columns: ["id", "customer_id", "amount", "code"],
      before: [
        [1, 1, 20.25, "A"],
        [2, 1, 150, "B"],
      ],
      after: [
        [1, 1, 1, "A"],
        [2, 1, 1, "B"],
      ],
      cut: false,
    });
    expect(hashOf()).toBe(before);
    expect(readdirSync(outside).filter((name) => name.startsWith("shop.db-"))).toEqual([]);
    await held.deny();
  });

  test("an insert shows the new rows with their defaults, a deletion the rows that go", async () => {
    const insert = await waiting("database/insert", {
      table: "customers",
      rows: [{ name: "Ada" }],
    });
    expect((await insert.preview()).effect).toMatchObject({
      action: "insert",
      rows: 1,
      before: [],
      after: [[3, "Ada", "Rome", null, null, null]],
    });
    const gone = await waiting("database/delete", { table: "orders", where: { id: 3 } });
    expect((await gone.preview()).effect).toMatchObject({
      action: "delete",
      rows: 1,
      before: [[3, 2, 0.5, "C"]],
      after: [],
    });
    expect(rowsOf("select count(*) as n from customers")).toEqual([{ n: 2 }]);
    expect(rowsOf("select count(*) as n from orders")).toEqual([{ n: 3 }]);
  });

  test("columns that are named like secrets are masked", async () => {
    const held = await waiting("database/update", {
      table: "notes",
      set: { body: "new" },
      where: { id: 1 },
    });
    const { effect } = await held.preview();
    expect(JSON.stringify(effect)).not.toContain("hunter2");
    expect(effect.after[0][2]).toBe("new");
  });

  test("what the database refuses is told as the call would be", async () => {
    const held = await waiting("database/update", {
      table: "orders",
      set: { amount: -1 },
      where: { id: 1 },
    });
    expect((await held.preview()).effect).toMatchObject({
      kind: "fails",
      reason: "constraint_violation",
    });
  });

  test("a statement without end is stopped, and the database is as it was", async () => {
    const held = await waiting("database/update", {
      table: "endless",
      set: { n: 0 },
      where: { id: { op: "gte", value: 0 } },
      maxRows: 1_000,
    });
    const [before, began] = [hashOf(), Date.now()];
    expect((await held.preview()).effect).toMatchObject({
      kind: "none",
      reason: expect.stringContaining("longer than 3000 ms") as string,
    });
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(hashOf()).toBe(before);
    expect(rowsOf("select sum(n) as s from endless")).toEqual([{ s: 80_200 }]);
    expect(readdirSync(outside).filter((name) => name.startsWith("shop.db-"))).toEqual([]);
  });
});

describe("programs and requests", () => {
  test("each command of a line has its verdict and its rule", async () => {
    const held = await waiting("shell/exec", { command: "ls && make build | cat" });
    const { effect } = await held.preview();
    expect(effect.kind).toBe("shell");
    expect(effect.commands.map((one: Record<string, string>) => [one.text, one.verdict])).toEqual([
      ["ls", "run"],
      ["make build", "ask"],
      ["cat", "run"],
    ]);
    for (const { rule } of effect.commands) expect(rule.at).toMatch(/^tools\.yaml:\d+$/);
    expect(effect.commands[1].rule.text).toMatch(/^NORMAL: \[ls, .* jq\]$/);
    const denied = await held.preview({ arguments: { command: "ls; sudo reboot" } });
    expect(denied).toMatchObject({
      edited: true,
      denied: { stage: "arguments", reason: "command_forbidden" },
    });
    expect(denied.effect.commands[1]).toMatchObject({ text: "sudo reboot", verdict: "deny" });
  });

  test("a request is told and not sent", async () => {
    const held = await waiting("web/post", {
      url: "https://api.example.com/items?x=1",
      body: { name: "chair" },
    });
    expect((await held.preview()).effect).toMatchObject({
      kind: "http",
      method: "POST",
      url: "https://api.example.com/items?x=1",
      host: "api.example.com",
      verdict: "ask",
      bodyBytes: 16,
      rule: { at: expect.stringMatching(/^tools\.yaml:\d+$/) as string },
    });
  });
});

describe("who sees it, and how often", () => {
  test("over tRPC as over REST, with edited arguments", async () => {
    put("a.txt", "one\n");
    const held = await waiting("file/write", { path: "a.txt", content: "two\n" });
    const id = held.approvalId;
    const client = trpcClient(app);
    const over = await client.approvals.previewApproval.mutate({
      id,
      arguments: { path: "a.txt", content: "three\n" },
    });
    expect(over.edited).toBe(true);
    expect(JSON.stringify(over.effect)).toContain("+three");
    const faulty = await trpcFailure(
      client.approvals.previewApproval.mutate({ id, arguments: { path: 1, content: "x" } }),
    );
    expect(faulty.error).toMatchObject({
      reason: "invalid_arguments",
      errors: [{ path: "/path" }],
    });
    const stale = await trpcFailure(
      client.approvals.previewApproval.mutate({ id, version: "other" }),
    );
    expect(stale.error).toMatchObject({ code: "CONFLICT", reason: "stale" });
  });

  test("to others it does not exist, and whoever asked cannot read through it", async () => {
    put("a.txt", "one\n");
    const held = await waiting("file/write", { path: "a.txt", content: "two\n" });
    const eve = await newUser(app, "eve");
    const paths = ["preview", "rule/preview"].map((end) => `/approvals/${held.approvalId}/${end}`);
    for (const path of paths) {
      const foreign = await app.api("POST", path, { key: eve, body: {} });
      const missing = await app.api("POST", path.replace(held.approvalId, "apr_missing"), {
        key: eve,
        body: {},
      });
      expect(foreign.status).toBe(404);
      expect(foreign.body.detail).toBe(missing.body.detail.replace("apr_missing", held.approvalId));
      const own = await app.api("POST", path, { key: agent.key, body: {} });
      expect([own.status, own.body.reason]).toEqual([403, "own_approval"]);
    }
    const similar = await app.api("GET", `/approvals/${held.approvalId}/similar`, { key: eve });
    expect(similar.status).toBe(404);
  });

  test("sixty a minute, then it says when to come back", async () => {
    const held = await waiting("file/write", { path: "a.txt", content: "two\n" });
    const path = `/approvals/${held.approvalId}/preview`;
    let last = await app.api("POST", path, { body: {} });
    for (let count = 1; count < 61; count++) last = await app.api("POST", path, { body: {} });
    expect(last.status).toBe(429);
    expect(last.body).toMatchObject({ reason: "rate_user" });
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("with the rights of today: what the gate refuses now is told with its stage", async () => {
    put("a.txt", "one\n");
    const held = await waiting("file/write", { path: "a.txt", content: "two\n" });
    const path = "/tools/file/write";
    await app.api("PATCH", path, { body: { enabled: false } });
    const preview = await held.preview();
    await app.api("PATCH", path, { body: { enabled: true } });
    expect(preview.denied).toMatchObject({ stage: "registry", code: "NOT_FOUND" });
    expect(preview.effect).toMatchObject({ kind: "none" });
    await held.deny();
    expect((await held.preview()).effect).toMatchObject({
      kind: "none",
      reason: expect.stringContaining("declined") as string,
    });
  });
});

describe("what was approved before", () => {
  test("the last approved call of the same tool, of the same requester first", async () => {
    const other = await newUser(app, "other", { capsuleId: "all", level: "admin" });
    const first = await waiting("file/mkdir", { path: "x" }).catch(() => null);
    expect(first).toBeNull();
    const fresh = await waiting("file/move", { from: "nowhere", to: "there" });
    const none = await similarTo(fresh.approvalId);
    expect(none.similar === null || none.similar.toolName === "file/move").toBe(true);
    const theirs = await hold(app, other, "file/copy", { from: "a", to: "b" });
    await theirs.approve();
    const asked = await waiting("file/copy", { from: "c", to: "d" });
    expect((await similarTo(asked.approvalId)).similar).toMatchObject({
      approvalId: theirs.approvalId,
      requester: "other",
      sameRequester: false,
      sameTool: true,
      arguments: { from: "a", to: "b" },
      votes: [{ comment: null }],
    });
    await asked.approve();
    const again = await waiting("file/copy", { from: "e", to: "f" });
    expect((await similarTo(again.approvalId)).similar).toMatchObject({
      approvalId: asked.approvalId,
      sameRequester: true,
      arguments: { from: "c", to: "d" },
    });
    const over = await trpcClient(app).approvals.getSimilarApproval.query({ id: again.approvalId });
    expect(over.similar?.approvalId).toBe(asked.approvalId);
  });

  async function similarTo(id: string) {
    const { status, body } = await app.api("GET", `/approvals/${id}/similar`);
    expect(status).toBe(200);
    conforms("approvals.getSimilarApproval", body);
    return body;
  }
});

describe("what a rule would cover", () => {
  test("recorded calls are counted, and the breadth is told", async () => {
    for (const path of ["notes/a.md", "notes/b.md", "notes/a.md", "other.md"]) {
      const made = await waiting("file/write", { path, content: "hi", mode: "append" });
      await made.deny();
    }
    const held = await waiting("file/write", { path: "notes/a.md", content: "hi", mode: "append" });
    const reach = async (body: object) => {
      const answer = await app.api("POST", `/approvals/${held.approvalId}/rule/preview`, { body });
      if (answer.status === 200) conforms("approvals.previewApprovalRule", answer.body);
      return answer;
    };
    const exact = (await reach({})).body;
    expect(exact).toMatchObject({ userId: "agent", toolName: "file/write", covered: 3 });
    // Of the call with a token in its content nobody can say what it was.
    expect(exact).toMatchObject({ broader: false, unknown: 1 });
    expect(exact.summary).toContain("exactly these arguments");
    const wide = (
      await reach({
        matches: [
          { pointer: "/path", glob: "notes/*.md" },
          { pointer: "/mode", equals: "append" },
        ],
      })
    ).body;
    expect(wide).toMatchObject({ covered: 4, broader: true });
    expect(wide.summary).toContain("/path like notes/*.md");
    expect(wide.summary).toContain("content and any others may be anything");
    expect(wide.newest[0]).toMatchObject({
      executionId: held.executionId,
      status: "pending",
      arguments: { path: "notes/a.md" },
    });
    expect((await reach({ last: 1 })).body).toMatchObject({ tried: 1, covered: 1 });
    const later = new Date(Date.now() + skewMs + 3_600_000).toISOString();
    expect((await reach({ since: later })).body).toMatchObject({ tried: 0, oldest: null });
    const wrong = await reach({ matches: [{ pointer: "/path", equals: "else" }] });
    expect([wrong.status, wrong.body.errors?.[0]?.path]).toEqual([400, "/matches/0"]);
    const over = await trpcClient(app).approvals.previewApprovalRule.mutate({
      id: held.approvalId,
    });
    expect(over.covered).toBe(3);
  });
});

test("one approval says whether somebody waits on a connection", async () => {
  const held = await waiting("file/write", { path: "a.txt", content: "x" });
  const { body } = await app.api("GET", `/approvals/${held.approvalId}`);
  conforms("approvals.getApproval", body);
  expect(body).toMatchObject({
    clientConnected: false,
    taintSources: [],
  });
});

/** Of the whole tenant: ids and how they stand. */
async function executions(): Promise<unknown> {
  const { body } = await app.api("GET", "/executions?userId=*&limit=100");
  return body.executions.map((one: { id: string; status: string }) => `${one.id} ${one.status}`);
}
