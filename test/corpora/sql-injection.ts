// Every line into every text argument of the database tools, as a value, as a name and as SQL. A shop with known
// content is the canary; whatever the lines do, it stays as it was, nothing is written beside it, and nobody waits.
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { Json, JsonObject } from "../../src/contract/call.ts";
import { AppError } from "../../src/contract/errors.ts";
import remove from "../../src/tools/database/delete.ts";
import insert from "../../src/tools/database/insert.ts";
import query from "../../src/tools/database/query.ts";
import schema from "../../src/tools/database/schema.ts";
import tables from "../../src/tools/database/tables.ts";
import update from "../../src/tools/database/update.ts";
import type { Tool } from "../../src/contract/tool.ts";
import { shopStatements } from "../fixtures/database.ts";
import { openBench } from "../fixtures/tool-bench.ts";
import type { CorpusResult } from "./corpus.ts";

interface Ground {
  readonly kind: "sqlite" | "postgres";
  readonly url: string;
  /** All that must not change, as one text. */
  canary(): Promise<string>;
  close(): Promise<void>;
}

const GUESTS = "create table guests (note text)";
const STATEMENT_MS = 2_000;
/** Statements of ours end within two seconds; what came back later has waited. */
const SLEPT_MS = STATEMENT_MS * 3;
const AT_ONCE = 4;
const CONTROL_EVERY = 100;

export async function run(entries: string[]): Promise<CorpusResult> {
  const server = process.env["OSTIARY_TEST_POSTGRES"];
  const results = [await runOn(sqliteGround(), entries)];
  if (server) results.push(await runOn(await postgresGround(server), entries));
  const sum = (pick: (one: CorpusResult) => number) =>
    results.reduce((total, one) => total + pick(one), 0);
  return {
    tried: sum((one) => one.tried),
    contained: sum((one) => one.contained),
    escaped: results.flatMap((one) => one.escaped),
    controls: {
      tried: sum((one) => one.controls.tried),
      failed: results.flatMap((one) => one.controls.failed),
    },
  };
}

async function runOn(ground: Ground, entries: string[]): Promise<CorpusResult> {
  const shop = {
    url: ground.url,
    readOnly: false,
    default: true,
    statementTimeoutMs: STATEMENT_MS,
  };
  const bench = await openBench({ flags: { databases: JSON.stringify({ shop }) } });
  const escaped: string[] = [];
  const failed: string[] = [];
  let tried = 0;
  let controls = 0;
  const control = async (): Promise<void> => {
    controls++;
    const { rows } = await bench
      .run(query, { query: "select name from customers order by id" })
      .catch(() => ({ rows: null }));
    if (JSON.stringify(rows) !== '[["Grace"],["Alan"]]')
      failed.push(`${ground.kind}: a legal query gave ${JSON.stringify(rows)}`);
  };
  try {
    const before = await ground.canary();
    for (let at = 0; at < entries.length; at += AT_ONCE) {
      if (at % CONTROL_EVERY === 0) await control();
      const batch = entries.slice(at, at + AT_ONCE);
      const found = await Promise.all(
        batch.map(async (line) => {
          const faults: string[] = [];
          for (const attempt of attemptsWith(line, ground.kind)) {
            tried++;
            const fault = await faultOf(() => bench.run(attempt.tool, attempt.input), attempt);
            if (fault !== null)
              faults.push(`${ground.kind} ${attempt.tool.name}: ${fault}: ${JSON.stringify(line)}`);
          }
          return faults;
        }),
      );
      escaped.push(...found.flat());
      const after = await ground.canary();
      if (after === before) continue;
      escaped.push(
        `${ground.kind}: the canary changed to ${after.slice(0, 300)} with one of ${JSON.stringify(batch)}`,
      );
      break;
    }
    await control();
  } finally {
    await bench.close();
    await ground.close();
  }
  return {
    tried,
    contained: tried - escaped.length,
    escaped,
    controls: { tried: controls, failed },
  };
}

interface Attempt {
  readonly tool: Tool;
  readonly input: JsonObject;
  /** What the answer must be where the line is a mere value. */
  readonly expected?: (output: JsonObject) => boolean;
}

function attemptsWith(line: string, kind: Ground["kind"]): Attempt[] {
  const mark = kind === "sqlite" ? "?" : "$1";
  const none = (output: JsonObject) => output["matched"] === 0;
  return [
    { tool: query, input: { query: line } },
    { tool: query, input: { query: `select name from customers where name = '${line}'` } },
    { tool: query, input: { query: `select name from customers where id = ${line}` } },
    {
      tool: query,
      input: { query: `select ${mark} as given`, params: [line] },
      expected: (output) => same(output["rows"], [[line]]),
    },
    {
      tool: query,
      input: { query: `select id from customers where name = ${mark}`, params: [line] },
      expected: (output) => same(output["rows"], []),
    },
    {
      tool: insert,
      input: { table: "guests", rows: [{ note: line }], returning: ["note"] },
      expected: (output) => same(output["returned"], [{ note: line }]),
    },
    { tool: insert, input: { table: line, rows: [{ note: 1 }] } },
    { tool: insert, input: { table: "customers", rows: [{ [line]: 1 }], returning: [line] } },
    {
      tool: update,
      input: { table: "customers", set: { city: line }, where: { name: line } },
      expected: none,
    },
    { tool: update, input: { table: "customers", set: { [line]: 1 }, where: { id: 1 } } },
    {
      tool: remove,
      input: { table: "orders", where: { code: { op: "in", value: [line] } } },
      expected: none,
    },
    { tool: remove, input: { table: "orders", where: { [line]: 1 } } },
    { tool: remove, input: { table: "orders", where: { id: { op: line, value: 1 } } } },
    { tool: tables, input: { schema: line, pattern: line } },
    { tool: schema, input: { table: line, schema: line } },
  ];
}

/** Null when it was contained: refused with a typed error, or answered with no more than the call may give. */
async function faultOf(
  work: () => Promise<JsonObject>,
  { expected }: Attempt,
): Promise<string | null> {
  const began = performance.now();
  try {
    const output = await work();
    const elapsed = performance.now() - began;
    if (/root:[x*]:0:0:/.test(JSON.stringify(output))) return "a file of the host was read";
    if (elapsed > SLEPT_MS) return `it waited for ${Math.round(elapsed)} ms`;
    return expected === undefined || expected(output) ? null : "the value was not taken as a value";
  } catch (cause) {
    if (!(cause instanceof AppError))
      return `an untyped error (${cause instanceof Error ? cause.name : typeof cause})`;
    return cause.code === "INTERNAL_SERVER_ERROR" ? "an unforeseen error" : null;
  }
}

const same = (one: Json | undefined, other: Json) => JSON.stringify(one) === JSON.stringify(other);

function sqliteGround(): Ground {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-corpus-"));
  const file = join(folder, "shop.db");
  const db = new DatabaseSync(file, { readBigInts: true });
  for (const statement of [...shopStatements("sqlite"), GUESTS]) db.exec(statement);
  const looks = [
    "select * from customers order by id",
    "select * from orders order by id",
    "select * from sqlite_schema",
  ].map((sql) => db.prepare(sql));
  return {
    kind: "sqlite",
    url: `sqlite:${file}`,
    canary: () =>
      Promise.resolve(
        JSON.stringify([looks.map((look) => look.all()), filesIn(folder), readdirSync("/")], plain),
      ),
    close() {
      db.close();
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  };
}

/** SQLite's own files beside a database come and go. */
const filesIn = (folder: string) =>
  readdirSync(folder).filter((name) => !/-(journal|wal|shm)$/.test(name));
const plain = (_key: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

async function postgresGround(server: string): Promise<Ground> {
  const name = `corpus_${randomUUID().replaceAll("-", "")}`;
  const admin = new pg.Client(server);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const client = new pg.Client(url.href);
  await client.connect();
  for (const statement of [...shopStatements("postgres"), GUESTS]) await client.query(statement);
  const looks = [
    "select * from customers order by id",
    "select * from orders order by id",
    "select relname from pg_class where relnamespace = 'public'::regnamespace order by 1",
    "select proname from pg_proc where pronamespace = 'public'::regnamespace order by 1",
    "select rolname, rolsuper from pg_roles order by 1",
    "select last_value from customers_id_seq",
    "select count(*) from pg_largeobject_metadata",
  ];
  return {
    kind: "postgres",
    url: url.href,
    async canary() {
      const seen: unknown[] = [];
      for (const look of looks) seen.push((await client.query(look)).rows);
      return JSON.stringify(seen);
    },
    async close() {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
