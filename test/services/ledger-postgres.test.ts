// Two servers on one PostgreSQL write their chains into one log: one export holds and proves both.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openKey } from "../../src/storage/ledger/key.ts";
import { createLedger, type Ledger } from "../../src/storage/ledger/ledger.ts";
import { verifyExport } from "../../src/storage/ledger/verify.ts";
import {
  ended,
  HOUR,
  started,
  T0,
  type Sample,
} from "../../src/storage/store/suites/samples.suite.ts";
import { openStore, type Store } from "../../src/storage/store/store.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

interface Instance {
  readonly name: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly folder: string;
}

async function open(address: string, name: string): Promise<Instance> {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-ledger-"));
  const store = await openStore(address, { dataDir: folder, instanceId: name });
  const secrets = new Map<string, string>();
  const ledger = createLedger({
    store,
    dataDir: folder,
    instanceId: name,
    key: openKey({
      readSecret: (file) => secrets.get(file) ?? null,
      writeSecret: (file, value) => void secrets.set(file, value),
    }),
    now: Date.now,
    settings: { checkpointEvents: 1000, checkpointSeconds: 60, archiveAfterDays: 0 },
    note: async (action, body) =>
      void (await store.log.append({
        tenantId: "local",
        at: Date.now(),
        action,
        actor: "system",
        executionId: null,
        body: JSON.stringify(body),
      })),
    forget: (before) => store.executions.forgetBefore(before),
    report: (fields, message) => expect.unreachable(`${message} ${JSON.stringify(fields)}`),
    onRolledBack: () => undefined,
  });
  return { name, store, ledger, folder };
}

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("the ledger on PostgreSQL", () => {
  const name = `ledger_${randomUUID().replaceAll("-", "")}`;
  const address = () => {
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    return url.href;
  };
  let one: Instance;
  let two: Instance;

  beforeEach(async () => {
    await on(server ?? "", `create database ${name}`);
    one = await open(address(), "inst_one");
    two = await open(address(), "inst_two");
  });
  afterEach(async () => {
    for (const { ledger, store, folder } of [one, two]) {
      await ledger.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
    await on(server ?? "", `drop database ${name} with (force)`);
  });

  const write = async ({ store, ledger, name: who }: Instance, rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        ["local", "Zürich", "acme"].map((tenantId) =>
          store.log.append({
            tenantId,
            at: Date.now(),
            action: "config.changed",
            actor: who,
            executionId: null,
            body: JSON.stringify({ round, text: "ü \u2028 \ud800" }),
          }),
        ),
      );
      if (round % 5 === 4) await ledger.checkpoint();
    }
  };

  test("T50: chains of two servers that write at once are one ledger, and one export proves it", async () => {
    await Promise.all([write(one, 30), write(two, 30)]);
    const exports = [];
    for (const format of ["ndjson", "cloudevents"] as const)
      exports.push(await one.ledger.export({ tenantId: null, format }));
    for (const { bytes, manifest } of exports) {
      expect(manifest).toMatchObject({ from: 1, to: 180, events: 180 });
      const keys = [one.ledger.publicKey, two.ledger.publicKey];
      expect(await verifyExport(bytes(), { keys })).toMatchObject({
        ok: true,
        findings: { events: 180, chains: 6 },
      });
      expect(await verifyExport(bytes(), { keys: keys.slice(0, 1) })).toMatchObject({ ok: false });
    }
    for (const { ledger } of [one, two])
      expect(await ledger.verify({ tenantId: null })).toMatchObject({
        ok: true,
        findings: { events: 180, chains: 6 },
      });
    expect(await two.ledger.verify({ tenantId: "acme" })).toMatchObject({
      ok: true,
      findings: { events: 60, chains: 2 },
    });
    await on(address(), "update events set actor = 'nobody' where seq = 90");
    expect(await two.ledger.verify({ tenantId: null })).toMatchObject({
      ok: false,
      fault: { seq: 90 },
    });
  });

  test("one of them archives; the other takes the file at its signed word", async () => {
    await Promise.all([write(one, 200), write(two, 200)]);
    const done = await Promise.allSettled(
      [one, two].map(({ ledger }) => ledger.archive({ before: Date.now() + 1, dryRun: false })),
    );
    expect(done.some(({ status }) => status === "fulfilled")).toBe(true);
    const segments = await one.store.ledger.segments();
    expect(segments.at(-1)?.toSeq).toBeGreaterThanOrEqual(200);
    const verdicts = [
      await one.ledger.verify({ tenantId: null }),
      await two.ledger.verify({ tenantId: null }),
    ];
    expect(verdicts).toMatchObject([{ ok: true }, { ok: true }]);
    expect(
      verdicts.map((verdict) => verdict.ok && verdict.segmentsElsewhere).toSorted(),
    ).not.toEqual([0, 0]);
  });

  test("B14: history and its sums are compared with the log; what was changed is named", async () => {
    const call = async ({ store }: Instance, sample: Sample): Promise<void> => {
      await store.log.append(started(sample));
      await store.log.append(ended(sample));
    };
    const samples = Array.from({ length: 60 }, (_, i): Sample => ({
      id: `e${i}`,
      userId: i % 3 === 0 ? "bob" : "ann",
      at: T0 + i * HOUR,
      ms: i + 0.125,
      status: i % 5 === 0 ? "failed" : "success",
    }));
    await Promise.all(samples.map((sample, i) => call(i % 2 === 0 ? one : two, sample)));
    await one.store.log.append(started({ id: "open", at: T0 }));
    const history = async (tenantId: string | null = null) =>
      (await one.ledger.verify({ tenantId })).history;
    const clean = { agrees: true, missing: 0, extra: 0, different: 0, sums: 0, ids: [] };
    expect(await history()).toEqual({ ...clean, checked: 61 });
    expect(await history("local")).toEqual({ ...clean, checked: 61 });
    expect(await history("acme")).toEqual({ ...clean, checked: 0 });

    // Calls go on while it is compared.
    const flying = Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        call(i % 2 === 0 ? one : two, { id: `f${i}`, at: T0 + HOUR }),
      ),
    );
    for (let round = 0; round < 3; round++) expect(await history()).toMatchObject(clean);
    await flying;

    await on(
      address(),
      "update rollups set count = count + 1 where hour >= 0 and user_id = 'bob' and tool_name = 'system/echo' and status = 'failed'",
    );
    expect(await history()).toMatchObject({ agrees: false, different: 0, ids: [] });
    await one.store.executions.rebuild(() => undefined);
    expect(await history()).toMatchObject(clean);
    await on(
      address(),
      "update executions set status = 'success', error_code = null where id = 'e5'; delete from executions where id = 'e7'; update executions set id = 'stranger' where id = 'e8'",
    );
    const found = await history();
    expect(found).toMatchObject({ agrees: false, missing: 2, extra: 1, different: 1 });
    expect([...(found?.ids ?? [])].toSorted()).toEqual(["e5", "e7", "e8", "stranger"]);
  });
});
