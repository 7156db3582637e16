// The ledger on a real store: what is made, what is found, and what a crash leaves behind.
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openStore, type Store } from "../store/store.ts";
import { openKey } from "./key.ts";
import { createLedger, type Ledger, type LedgerPowers } from "./ledger.ts";
import { verifyExport } from "./verify.ts";

const INSTANCE = "inst_a";
let dir: string;
let store: Store;
let ledger: Ledger;
let told: string[];
let notes: string[];
let clock: number;

async function openIt(over: Partial<LedgerPowers> = {}): Promise<void> {
  store = await openStore("sqlite:ostiary.db", { dataDir: dir, instanceId: INSTANCE });
  const path = (name: string) => join(dir, name);
  const key = openKey({
    readSecret: (name) => (existsSync(path(name)) ? readFileSync(path(name), "utf8") : null),
    writeSecret: (name, value) => writeFileSync(path(name), value),
  });
  ledger = createLedger({
    store,
    dataDir: dir,
    instanceId: INSTANCE,
    key,
    now: () => clock++,
    settings: { checkpointEvents: 1000, checkpointSeconds: 60, archiveAfterDays: 0 },
    async note(action, body) {
      notes.push(action);
      await store.log.append({
        tenantId: "local",
        at: clock,
        action,
        actor: "system",
        executionId: null,
        body: JSON.stringify(body),
      });
    },
    forget: () => Promise.resolve(),
    report: (_fields, message) => void told.push(message),
    onRolledBack: () => void told.push("signal"),
    ...over,
  });
}

const say = (count: number, tenantId = "local", on = store) =>
  Promise.all(
    Array.from({ length: count }, (_, i) =>
      on.log.append({
        tenantId,
        at: clock,
        action: "config.changed",
        actor: "owner",
        executionId: null,
        body: JSON.stringify({ i, text: "Größe \u2028" }),
      }),
    ),
  );
const verify = () => ledger.verify({ tenantId: null });
const closeIt = async () => {
  await ledger.close();
  await store.close();
};
/** As somebody with the file alone would. */
const meddle = (sql: string) => {
  const db = new DatabaseSync(join(dir, "ostiary.db"));
  db.exec(sql);
  db.close();
};
const files = () => (existsSync(join(dir, "archive")) ? readdirSync(join(dir, "archive")) : []);

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "ostiary-ledger-"));
  [told, notes, clock] = [[], [], Date.UTC(2026, 0, 1)];
  await openIt();
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

describe("checkpoints", () => {
  test("lie in the database and in the file, linked and signed, and cover what moved", async () => {
    await say(3);
    await say(2, "acme");
    await ledger.checkpoint();
    await say(2, "acme");
    await ledger.export({ tenantId: null, format: "ndjson" });
    const rows = await store.ledger.checkpoints(0);
    const lines = readFileSync(join(dir, "checkpoints.ndjson"), "utf8").split("\n").slice(0, -1);
    expect(lines).toEqual(rows.map(({ line }) => line));
    const [first, second] = lines.map(
      (line) =>
        JSON.parse(line) as { n: number; seq: number; chains: { tenantId: string; n: number }[] },
    );
    expect(first).toMatchObject({
      n: 1,
      seq: 5,
      chains: [
        { tenantId: "acme", n: 2 },
        { tenantId: "local", n: 3 },
      ],
    });
    expect(second).toMatchObject({ n: 2, seq: 7, chains: [{ tenantId: "acme", n: 4 }] });
    expect(await verify()).toMatchObject({
      ok: true,
      findings: { events: 7, checkpoints: 2, chains: 2 },
    });
  });

  test("are made by themselves, and at the end; none where nothing moved", async () => {
    await closeIt();
    await openIt({ settings: { checkpointEvents: 5, checkpointSeconds: 1, archiveAfterDays: 0 } });
    await ledger.start();
    const told = async (count: number) => {
      await say(count);
      for (let i = 0; i < count; i++) ledger.recorded();
    };
    await told(6);
    await vi.waitUntil(async () => (await store.ledger.checkpoints(0)).length === 1, {
      timeout: 20_000,
    });
    await told(1);
    await vi.waitUntil(async () => (await store.ledger.checkpoints(0)).length === 2, {
      timeout: 20_000,
    });
    await ledger.close();
    expect((await store.ledger.checkpoints(0)).length).toBe(2);
    await say(1);
    await ledger.close();
    expect((await store.ledger.checkpoints(0)).length).toBe(3);
  });

  test("what a crash left out of the file is filled in, and a torn line is mended", async () => {
    await say(3);
    await ledger.checkpoint();
    const file = join(dir, "checkpoints.ndjson");
    const whole = readFileSync(file, "utf8");
    for (const rest of [0, 40, whole.length - 1]) {
      truncateSync(file, rest);
      await ledger.start();
      expect(readFileSync(file, "utf8")).toBe(whole);
    }
    expect(told).toEqual([]);
    expect(notes).toEqual([]);
  });
});

test("a checkpoint file that cannot be written keeps nobody from exporting, and is filled up later", async () => {
  await say(3);
  const file = join(dir, "checkpoints.ndjson");
  mkdirSync(file);
  await expect(ledger.checkpoint()).rejects.toMatchObject({
    fault: { reason: "resource_exhausted" },
  });
  const { bytes } = await ledger.export({ tenantId: null, format: "ndjson" });
  expect(await verifyExport(bytes())).toMatchObject({ ok: true, findings: { checkpoints: 1 } });
  expect(told).toEqual(["an export begins without a checkpoint"]);
  rmSync(file, { recursive: true });
  await ledger.checkpoint();
  expect(readFileSync(file, "utf8").split("\n")).toHaveLength(2);
  expect(await verify()).toMatchObject({ ok: true });
});

describe("an older state that was put back", () => {
  test("T50: is found by verify and told at the start; then an honest restore goes on", async () => {
    await say(5);
    await closeIt();
    copyFileSync(join(dir, "ostiary.db"), join(dir, "copy.db"));
    await openIt();
    await ledger.start();
    await say(5);
    await ledger.checkpoint();
    const [anchor = ""] = readFileSync(join(dir, "checkpoints.ndjson"), "utf8")
      .split("\n")
      .slice(-2);
    await closeIt();
    for (const side of ["-wal", "-shm"]) rmSync(join(dir, `ostiary.db${side}`), { force: true });
    copyFileSync(join(dir, "copy.db"), join(dir, "ostiary.db"));
    await openIt();
    expect(await verify()).toMatchObject({
      ok: false,
      fault: { seq: 6, message: expect.stringContaining("an older state was put back") as string },
    });
    await ledger.start();
    expect(told[0]).toContain("THE LEDGER WAS ROLLED BACK");
    expect(told[1]).toBe("signal");
    expect(notes).toEqual(["audit.rolled_back"]);
    expect(readdirSync(dir).filter((name) => /^checkpoints\.\d+\.ndjson$/.test(name))).toHaveLength(
      1,
    );
    await say(3);
    await ledger.checkpoint();
    expect(await verify()).toMatchObject({ ok: true, findings: { rollbacks: [6] } });
    // What was kept elsewhere is not forgotten by that.
    expect(await ledger.verify({ tenantId: null, anchors: [anchor] })).toMatchObject({ ok: false });
    await ledger.start();
    expect(notes).toHaveLength(1);
  });

  test("so is a log whose end was cut, and a file that is gone or was written by others", async () => {
    await say(5);
    await ledger.checkpoint();
    await say(5);
    await ledger.checkpoint();
    const file = join(dir, "checkpoints.ndjson");
    const whole = readFileSync(file, "utf8");
    await closeIt();
    meddle(
      "delete from events where seq > 8; update chains set n = 8, seq = 8, hash = (select hash from events where seq = 8)",
    );
    await openIt();
    await ledger.start();
    rmSync(file);
    await ledger.start();
    writeFileSync(file, `${whole.replace('"n":2', '"n":3')}`);
    await ledger.start();
    expect(notes).toEqual(["audit.rolled_back", "audit.rolled_back", "audit.rolled_back"]);
  });
});

describe("what somebody changes in the database", () => {
  const CHANGES: Record<string, [sql: string, seq: number | null]> = {
    "a body": [`update events set body = replace(body, '"i":1', '"i":7') where seq = 2`, 2],
    "an actor": [`update events set actor = 'nobody' where seq = 4`, 4],
    "an event deleted": ["delete from events where seq = 3", 3],
    "two events deleted, numbers closed": [
      "delete from events where seq = 3; update events set seq = seq - 1 where seq > 3",
      3,
    ],
    "the end deleted": [
      "delete from events where seq > 8; update chains set n = 8, seq = 8, hash = (select hash from events where seq = 8)",
      9,
    ],
    "a hash": [`update events set hash = '${"0".repeat(64)}' where seq = 5`, 5],
    "an event without a chain at the end": [
      "insert into events (seq, tenant_id, at_ms, action, actor, body) values (11, 'local', 1, 'config.changed', 'x', '{}')",
      11,
    ],
    "a body that is no JSON": ["update events set body = 'x' where seq = 6", 6],
    "a checkpoint deleted": ["delete from checkpoints", null],
    "the table of heads": ["update chains set n = 9", null],
    "a checkpoint's line": [`update checkpoints set line = replace(line, '"n":1', '"n":2')`, null],
  };
  test.each(Object.entries(CHANGES))("T50: %s is found", async (_name, [sql, seq]) => {
    await say(10);
    await ledger.checkpoint();
    expect(await verify()).toMatchObject({ ok: true, findings: { events: 10 } });
    meddle(sql);
    const verdict = await verify();
    expect(verdict.ok).toBe(false);
    if (!verdict.ok && seq !== null) expect(verdict.fault.seq).toBe(seq);
  });
});

describe("the archive", () => {
  const archive = (dryRun = false) => ledger.archive({ before: clock + 1_000_000, dryRun });

  test("takes the beginning, never the newest thousand, and the proof goes on", async () => {
    await closeIt();
    await openIt({ maxSegmentEvents: 400 });
    await say(900);
    await say(1_100, "acme");
    const plan = await archive(true);
    expect(plan).toMatchObject({ from: 1, to: 1_000, events: 1_000, files: [] });
    expect(await archive()).toMatchObject({
      from: 1,
      to: 1_000,
      files: ["1-400.ndjson.gz", "401-800.ndjson.gz", "801-1000.ndjson.gz"],
    });
    expect(notes).toEqual(["audit.archived", "audit.archived", "audit.archived"]);
    expect((await store.log.read(0, 1))[0]?.seq).toBe(1_001);
    expect(await verify()).toMatchObject({
      ok: true,
      segments: 3,
      findings: { from: 1, to: 2_003, events: 2_003 },
    });
    const { bytes, manifest } = await ledger.export({ tenantId: null, format: "cloudevents" });
    expect(manifest).toMatchObject({ from: 1, events: 2_003 });
    expect(await verifyExport(bytes())).toMatchObject({ ok: true });
    // A file that is elsewhere is taken at its signed word; one that was changed is not.
    const first = join(dir, "archive", "1-400.ndjson.gz");
    const kept = readFileSync(first);
    rmSync(first);
    expect(await verify()).toMatchObject({
      ok: true,
      segmentsElsewhere: 1,
      findings: { from: 401 },
    });
    const rest = await ledger.export({ tenantId: null, format: "ndjson" });
    expect(rest.manifest.from).toBe(401);
    expect(await verifyExport(rest.bytes())).toMatchObject({ ok: true });
    await expect(
      ledger.export({ tenantId: null, format: "ndjson", from: 7 }),
    ).rejects.toMatchObject({ fault: { code: "NOT_FOUND" } });
    writeFileSync(first, kept.with(kept.length >> 1, (kept.at(kept.length >> 1) ?? 0) ^ 1));
    expect(await verify()).toMatchObject({
      ok: false,
      fault: { message: expect.stringContaining("1-400.ndjson.gz") as string },
    });
  });

  test("stops before what somebody still needs, and before what is too young", async () => {
    await say(200);
    clock += 1_000;
    const middle = clock;
    clock += 1_000;
    await say(1_300);
    expect(await ledger.archive({ before: middle, dryRun: true })).toMatchObject({
      from: 1,
      to: 200,
    });
    await store.cursors.hold("sink", "one", clock, clock + 1_000, 57);
    expect(await archive(true)).toMatchObject({
      to: 57,
      reason: expect.stringContaining("event 58 is still needed") as string,
    });
    await store.cursors.advance("sink", "one", 499);
    expect(await archive(true)).toMatchObject({ to: 499 });
    await store.cursors.advance("sink", "one", 2_000);
    expect(await archive(true)).toMatchObject({ to: 500 });
    await store.cursors.hold("archive", "another", clock, clock + 60_000, 0);
    await expect(archive()).rejects.toMatchObject({ fault: { code: "CONFLICT" } });
  });

  test.each(["before the deletion", "after the deletion"] as const)(
    "a crash %s loses nothing",
    async (when) => {
      await say(1_500);
      const real = store.ledger.archive.bind(store.ledger);
      Object.assign(store.ledger, {
        async archive(row: Parameters<typeof real>[0]) {
          if (when === "after the deletion") await real(row);
          throw new Error("the power went out");
        },
      });
      await expect(archive()).rejects.toThrow("the power went out");
      await store.close();
      await openIt();
      expect(files()).toEqual(["1-500.ndjson.gz"]);
      expect(await verify()).toMatchObject({ ok: true, findings: { from: 1, events: 1_500 } });
      const left = when === "after the deletion" ? null : 500;
      expect(await archive()).toMatchObject({ to: left });
      expect(await verify()).toMatchObject({ ok: true, segments: 1 });
    },
  );

  test("a broken beginning is not sealed, and half a file is no file", async () => {
    await say(1_500);
    meddle("update events set actor = 'nobody' where seq = 100");
    await expect(archive()).rejects.toMatchObject({
      fault: { message: expect.stringContaining("nothing was archived") as string },
    });
    expect(files()).toEqual([]);
    meddle("update events set actor = 'owner' where seq = 100");
    appendFileSync(join(dir, "archive", "1-500.ndjson.gz.part"), "half");
    expect(await archive()).toMatchObject({ to: 500 });
    expect(await verify()).toMatchObject({ ok: true });
  });
});

describe("search", () => {
  const ask = (filter: object, page: object = {}) =>
    ledger.search({ tenantId: "local", ...filter }, { order: "newest", limit: 50, ...page });

  test("finds by what an event says, both ways, page by page, in one tenant", async () => {
    await say(2_500);
    await say(10, "acme");
    expect((await ask({ text: "GRÖSSE" })).events).toHaveLength(0);
    expect((await ask({ text: "größe" })).events[0]?.seq).toBe(2_500);
    const first = await ask({ text: '"i":77' }, { limit: 3 });
    const second = await ask({ text: '"i":77' }, { limit: 99, after: first.next ?? 0 });
    expect([...first.events, ...second.events].map(({ seq }) => seq)).toEqual([
      780, 779, 778, 777, 776, 775, 774, 773, 772, 771, 78,
    ]);
    expect(second.next).toBeNull();
    expect((await ask({}, { order: "oldest", after: 2_490 })).events).toHaveLength(10);
    expect((await ask({ actor: "nobody" })).events).toEqual([]);
    expect((await ask({ action: "config.*" })).events).toHaveLength(50);
    expect((await ask({ tenantId: "acme" })).events).toHaveLength(10);
    expect((await ask({ since: clock + 10 })).events).toEqual([]);
  });
});
