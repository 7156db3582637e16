// The ledger through its doors: REST, tRPC and the command line, on a running server and beside one that is not.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the audit ledger", () => {
  let app: StartedApp;
  let folder: string;
  let executionId: string;
  const cli = (...words: string[]) =>
    runBin(["audit", ...words], { env: { OSTIARY_DATA_DIR: app.dataDir }, cwd: folder });
  beforeAll(async () => {
    app = await startApp();
    folder = mkdtempSync(join(tmpdir(), "ostiary-audit-"));
    const ran = await app.api("POST", "/executions", {
      key: app.cliKey,
      body: { name: "system/echo", arguments: { text: "find me ✓" } },
    });
    executionId = ran.body.executionId as string;
    await app.api("POST", "/executions", { key: app.cliKey, body: { name: "system/nothing" } });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("R195, R199: is searched by what events say, page by page, by administrators alone", async () => {
    const ask = async (query: string) => {
      const answer = await app.api("GET", `/audit?${query}`);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      conforms("audit.searchEvents", answer.body);
      return answer.body as {
        events: {
          seq: number;
          action: string;
          actor: string;
          body: { toolName: string; ledgerPublicKey?: string };
        }[];
        next: number | null;
        searched: number;
      };
    };
    const started = await ask("action=server.started");
    expect(started.events[0]?.body.ledgerPublicKey).toBe(app.app.ledger.publicKey);
    const own = await ask(`execution=${executionId}&order=oldest`);
    expect(own.events.map(({ action }) => action)).toEqual([
      "tool.execution.start",
      "tool.execution.complete",
    ]);
    expect((await ask("tool=system_echo")).events).toHaveLength(2);
    expect((await ask("text=FIND%20ME")).events.length).toBeGreaterThan(0);
    expect((await ask("action=tool.*&actor=cli&limit=1")).next).not.toBeNull();
    expect((await ask("since=2099-01-01")).events).toEqual([]);
    const ann = await newUser(app, "ann", { capsuleId: "starter" });
    for (const path of ["/audit", "/audit/head", "/audit/export"])
      expect((await app.api("GET", path, { key: ann })).status).toBe(403);
    expect((await app.api("GET", "/audit?trace=x")).status).toBe(400);
    expect((await app.api("GET", "/audit?since=2026-02-01&until=2026-01-01")).body).toMatchObject({
      status: 400,
      errors: [{ path: "/until", message: "lies before since" }],
    });
    expect((await app.api("GET", "/audit/export?from=9&to=1")).body).toMatchObject({
      status: 400,
      errors: [{ path: "/to", message: "lies before from" }],
    });
    const trpc = await trpcClient(app, app.adminKey).audit.searchEvents.query({ limit: 1 });
    expect(trpc.events).toHaveLength(1);
  });

  test("T50: verifies itself over REST and on the command line", async () => {
    const answer = await app.api("POST", "/audit/verify", { body: {} });
    conforms("audit.verifyLedger", answer.body);
    expect(answer.body).toMatchObject({ ok: true, chains: 1 });
    const ran = await cli("verify");
    expect(ran.stdout).toMatch(/^✓ \d+ events, chain unbroken, \d+ checkpoints, head [0-9a-f]{64}/);
    expect(ran.code).toBe(0);
    const head = await app.api("GET", "/audit/head");
    conforms("audit.getLedgerHead", head.body);
    expect((await cli("head")).stdout).toContain(head.body.keyId as string);
  });

  test("T50: an export proves itself, packed or not, and says where it is broken", async () => {
    for (const words of [
      [],
      ["--gzip"],
      ["--format", "cloudevents"],
      ["--from", "3"],
      ["--tenant", "local"],
      ["--since", "1h"],
    ]) {
      const made = await cli("export", "--out", "some.ndjson", ...words);
      expect(made.code, made.stderr).toBe(0);
      const checked = await cli("verify", "--file", "some.ndjson", "--json");
      expect(checked.json(), words.join(" ")).toMatchObject({
        ok: true,
        keyIds: [app.app.ledger.keyId],
      });
    }
    const { stdout } = await cli("export");
    writeFileSync(join(folder, "export.ndjson"), stdout);
    writeFileSync(
      join(folder, "public.pem"),
      ((await app.api("GET", "/audit/head")).body as { publicKey: string }).publicKey,
    );
    expect((await cli("verify", "--file", "export.ndjson", "--key", "public.pem")).code).toBe(0);
    const lines = stdout.split("\n");
    lines[3] = (lines[3] ?? "").replace('"actor":"system"', '"actor":"nobody"');
    writeFileSync(join(folder, "forged.ndjson"), lines.join("\n"));
    const forged = await cli("verify", "--file", "forged.ndjson");
    expect(forged.code).toBe(1);
    expect(forged.stdout).toContain(
      "✗ broken at event 3: the content of event 3 does not give its hash",
    );
    expect(forged.stdout).toMatch(/at line 4, byte \d+; 2 events before it were checked/);
    writeFileSync(
      join(folder, "stranger.pem"),
      execFileSync("openssl", ["genpkey", "-algorithm", "ed25519"]),
    );
    const stranger = await cli("verify", "--file", "export.ndjson", "--key", "stranger.pem");
    expect(stranger.stdout).toContain("the manifest is signed by key");
    expect(stranger.code).toBe(1);
    for (const bad of [
      ["--file", "nothing.ndjson"],
      ["--file", "export.ndjson", "--key", "export.ndjson"],
      ["--file", "export.ndjson", "--anchor", "public.pem"],
    ])
      expect((await cli("verify", ...bad)).code).toBeGreaterThan(0);
  }, 120_000);

  test("a checkpoint that was kept elsewhere is found again", async () => {
    const made = await cli("checkpoint", "--out", "anchor.ndjson");
    expect(made.code, made.stderr).toBe(0);
    expect((await cli("verify", "--anchor", "anchor.ndjson", "--json")).json()).toMatchObject({
      ok: true,
      anchored: 1,
    });
    await cli("export", "--out", "later.ndjson");
    expect(
      (await cli("verify", "--file", "later.ndjson", "--anchor", "anchor.ndjson", "--json")).json(),
    ).toMatchObject({ ok: true, anchored: 1 });
  });

  test("tail shows the newest, archive says what it would do", async () => {
    const tail = await cli("tail", "--limit", "3", "--json");
    const seqs = tail.stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { seq: number }).seq);
    expect(seqs).toHaveLength(3);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    const searched = await cli("search", "--text", "nobody ever said this");
    expect(searched.stderr).toMatch(/nothing found in \d+ events/);
    const plan = await cli("archive", "--keep-days", "1", "--dry-run");
    expect(plan.stdout).toContain("nothing to archive: the newest 1000 events stay");
    expect((await cli("archive")).code).toBe(2);
    expect((await app.api("POST", "/audit/archive", { body: {} })).status).toBe(400);
  });

  test("docs/audit.md: an export is checked with sha256sum, jq and openssl alone", async () => {
    const page = readFileSync(join(ROOT, "docs/audit.md"), "utf8");
    const commands = [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text]) => text ?? "");
    expect(commands).toHaveLength(4);
    const { stdout } = await cli("export");
    writeFileSync(join(folder, "export.ndjson"), stdout);
    const run = (text: string) =>
      execFileSync("bash", ["-e", "-o", "pipefail", "-c", text], { cwd: folder, encoding: "utf8" });
    const answers = commands.map(run);
    expect(answers[0]).toContain("Signature Verified Successfully");
    expect(answers[1]?.trim()).toBe(app.app.ledger.keyId);
    expect(answers.slice(2).map((text) => text.trim())).toEqual(["same", "same\nlinked"]);
    const lines = stdout.split("\n");
    writeFileSync(join(folder, "export.ndjson"), lines.toSpliced(4, 1).join("\n"));
    expect(() => run(commands[2] ?? "")).toThrow();
    expect(() => run(commands[3] ?? "")).toThrow();
  });
});

describe("a data directory that no server uses", () => {
  test("T50: is verified where it lies, and what was changed in it is named", async () => {
    const app = await startApp();
    const verify = () => runBin(["audit", "verify", "--data-dir", app.dataDir]);
    try {
      await app.stop();
      const good = await verify();
      expect(good.stdout, good.stderr).toMatch(/^✓ \d+ events, chain unbroken, 1 checkpoints/);
      expect(good.code).toBe(0);
      const db = new DatabaseSync(join(app.dataDir, "ostiary.db"));
      db.exec("update events set actor = 'nobody' where seq = 2");
      db.close();
      const bad = await verify();
      expect(bad.stdout).toContain("✗ broken at event 2");
      expect(bad.code).toBe(1);
      const none = await runBin(["audit", "verify", "--data-dir", join(app.dataDir, "nothing")]);
      expect(none.stderr).toContain("there is no ledger");
    } finally {
      rmSync(app.dataDir, { recursive: true, force: true });
    }
  });
});

describe("a server that starts on an older copy of its database", () => {
  test("T50: says so in the ledger and to the mode, and serves", async () => {
    const first = await startApp({ listen: false });
    const { dataDir } = first;
    const file = join(dataDir, "ostiary.db");
    await first.stop();
    copyFileSync(file, join(dataDir, "copy.db"));
    const second = await startApp({ dataDir, listen: false });
    await second.app.ledger.checkpoint();
    await second.stop();
    for (const side of ["-wal", "-shm"]) rmSync(file + side, { force: true });
    copyFileSync(join(dataDir, "copy.db"), file);
    const third = await startApp({ dataDir });
    try {
      const told = await third.api("GET", "/audit?action=audit.rolled_back");
      expect(told.body.events).toHaveLength(1);
      expect(told.body.events[0].body).toMatchObject({
        message: expect.stringContaining("put back to an older state") as string,
      });
      const verdict = await third.api("POST", "/audit/verify", { body: {} });
      expect(verdict.body).toMatchObject({ ok: true, rollbacks: [told.body.events[0].seq] });
      await expect
        .poll(async () => (await third.api("GET", "/mode")).body)
        .toMatchObject({
          mode: "DEGRADED",
          reason: expect.stringContaining("audit_failures") as string,
        });
    } finally {
      await third.close();
    }
  }, 60_000);
});

describe("the archive of a running server", () => {
  test("C20 R199: moves events out of the database; history forgets them, figures and proof stay", async () => {
    const app = await startApp({ flags: { "history.memoryEntries": "0" } });
    try {
      const run = () =>
        app.api("POST", "/executions", {
          key: app.cliKey,
          body: { name: "system/echo", arguments: { text: "old" } },
        });
      const old = (await run()).body.executionId as string;
      await Promise.all(
        Array.from({ length: 1_100 }, (_, i) =>
          app.app.store.log.append({
            tenantId: "local",
            at: Date.now(),
            action: "config.changed",
            actor: "owner",
            executionId: null,
            body: `{"i":${i}}`,
          }),
        ),
      );
      const before = new Date(Date.now() + 1_000).toISOString();
      const done = await app.api("POST", "/audit/archive", { body: { before } });
      conforms("audit.archiveEvents", done.body);
      expect(done.body).toMatchObject({ from: 1, files: [`1-${done.body.to}.ndjson.gz`] });
      expect((await app.api("GET", `/executions/${old}`, { key: app.cliKey })).status).toBe(404);
      const history = await app.api("GET", "/executions", { key: app.cliKey });
      expect(history.body).toMatchObject({ executions: [], stats: { success: 1 } });
      expect((await run()).status).toBe(200);
      expect((await app.api("POST", "/audit/verify", { body: {} })).body).toMatchObject({
        ok: true,
        from: 1,
        segments: 1,
      });
      expect((await app.api("GET", "/audit?limit=1")).body.archivedTo).toBe(done.body.to);
    } finally {
      await app.close();
    }
  }, 60_000);
});
