// Preview equals effect: random calls are previewed, then agreed to, and what really happened is compared.
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DatabaseEffect, FileChange, FilesEffect } from "../../src/contract/effect.ts";
import { unifiedDiff } from "../../src/util/text/unified-diff.ts";
import { textOf } from "../../src/util/text/text.ts";
import { agreedAgent, patientGovernance, reasonOf, type Agent } from "../fixtures/agreed.ts";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { hold, type Held } from "../fixtures/previews.ts";
import { Random } from "../fixtures/random.ts";

const CALLS = 1_000;
const LIMIT_MS = 900_000;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000_007);
console.info(`seed ${seed}: SEED=${seed} repeats it`);

let app: StartedApp;
let agent: Agent;
let skewMs = 0;
const outside = mkdtempSync(join(tmpdir(), "ostiary-outside-"));
const shop = join(outside, "shop.db");
beforeAll(async () => {
  makeShop();
  const databases = JSON.stringify({
    shop: { url: `sqlite:${shop}`, readOnly: false, default: true },
  });
  const governance = patientGovernance({
    "\ntools:\n": "\ntools:\n  database/query: { modes: { NORMAL: approval } }\n",
  });
  app = await startApp({ flags: { governance, databases }, now: () => Date.now() + skewMs });
  agent = await agreedAgent(app);
});
afterAll(async () => {
  await app.close();
  rmSync(outside, { recursive: true, force: true });
});

/** Null: the gate refuses it at once, or needs nobody. */
async function held(name: string, args: object): Promise<Held | null> {
  // So many previews are made in an hour, not in a minute.
  skewMs += 3_000;
  return hold(app, agent.key, name, args).catch((cause: unknown) => {
    if (/is not held/.test(String(cause))) return null;
    throw cause;
  });
}

const failed = ({ body }: ApiAnswer) => ({ code: body.errorCode, reason: body.errorReason });

interface Entry {
  readonly type: "file" | "dir" | "link";
  readonly content: Buffer | string | null;
}
type Tree = Map<string, Entry>;

const NAMES = ["a", "b", "c.txt", "d.txt", "HEAD", "objects", "refs", "ä.md"];
const WORDS = ["one", "two", "three", "", "four\r", "fünf", "  six"];

/** Links are entries, never ways. */
function treeNow(folder = "", tree: Tree = new Map()): Tree {
  for (const entry of readdirSync(join(app.workspace, folder))) {
    const name = join(folder, entry);
    const path = join(app.workspace, name);
    const stat = lstatSync(path);
    if (stat.isDirectory()) treeNow(name, tree.set(name, { type: "dir", content: null }));
    else if (stat.isSymbolicLink()) tree.set(name, { type: "link", content: readlinkSync(path) });
    else tree.set(name, { type: "file", content: readFileSync(path) });
  }
  return tree;
}

const shapeOf = (tree: Tree): string[] =>
  [...tree].map(([path, { type, content }]) => `${path} ${type} ${sizeOf(content)}`).sort();
const sizeOf = (content: Entry["content"]): number =>
  Buffer.isBuffer(content) ? content.length : 0;

const textFrom = (random: Random): string =>
  random.times(0, 8, () => `${random.pick(WORDS)}\n`).join("");
const pathFrom = (random: Random): string => random.times(1, 3, () => random.pick(NAMES)).join("/");

function plant(random: Random): void {
  rmSync(app.workspace, { recursive: true, force: true });
  mkdirSync(app.workspace);
  for (let count = 0; count < 14; count++) {
    const path = join(app.workspace, pathFrom(random));
    try {
      mkdirSync(join(path, ".."), { recursive: true });
      const roll = random.below(10);
      if (roll === 0) symlinkSync(random.pick(["c.txt", "../a", join(outside, "none")]), path);
      else if (roll === 1) writeFileSync(path, Buffer.from([0, random.below(256), 1]));
      else if (roll < 8) writeFileSync(path, textFrom(random));
      else mkdirSync(path);
    } catch {
      // Something is there already.
    }
  }
}

function fileCall(random: Random, tree: Tree): [string, object] {
  const there = [...tree.keys()];
  const known = (): string =>
    there.length > 0 && random.chance(0.85) ? random.pick(there) : pathFrom(random);
  const overwrite = random.chance(0.5);
  switch (random.below(5)) {
    case 0: {
      const mode = random.pick(["overwrite", "append", "create"]);
      const path = random.chance(0.5) ? known() : pathFrom(random);
      return [
        "file/write",
        { path, content: textFrom(random), mode, createDirectories: random.chance(0.7) },
      ];
    }
    case 1: {
      const path = known();
      const content = tree.get(path)?.content;
      const lines = Buffer.isBuffer(content) ? content.toString("utf8").split("\n") : [];
      const oldContent = lines.find((line) => line !== "") ?? "missing";
      const newContent = `${random.pick(WORDS)}!`;
      return ["file/edit", { path, oldContent, newContent, replaceAll: random.chance(0.6) }];
    }
    case 2:
      return [
        "file/move",
        { from: known(), to: random.chance(0.4) ? known() : pathFrom(random), overwrite },
      ];
    case 3: {
      const to = random.chance(0.4) ? known() : pathFrom(random);
      return ["file/copy", { from: known(), to, overwrite, recursive: random.chance(0.7) }];
    }
    default:
      return ["file/delete", { path: known(), recursive: random.chance(0.5) }];
  }
}

/** What the tree becomes when exactly this happens to it. */
function applied(tree: Tree, { changes }: FilesEffect): string[] {
  const sizes = new Map<string, { type: string; size: number }>(
    [...tree].map(([path, { type, content }]) => [path, { type: type, size: sizeOf(content) }]),
  );
  const order: FileChange["change"][] = ["moved", "removed", "created", "changed"];
  for (const change of order)
    for (const one of changes.filter((each) => each.change === change)) {
      if (one.change === "moved") {
        const from = String(one.from);
        for (const [path, entry] of [...sizes])
          if (path === from || path.startsWith(`${from}/`)) {
            sizes.delete(path);
            sizes.set(`${one.path}${path.slice(from.length)}`, entry);
          }
      } else if (one.change === "removed") expect(sizes.delete(one.path)).toBe(true);
      else {
        expect(sizes.has(one.path)).toBe(one.change === "changed");
        sizes.set(one.path, { type: one.type, size: one.sizeBytes ?? 0 });
      }
    }
  return [...sizes].map(([path, { type, size }]) => `${path} ${type} ${size}`).sort();
}

function expectDiffs(before: Tree, after: Tree, { changes }: FilesEffect): void {
  for (const { change, type, path, diff, note } of changes) {
    if (type !== "file" || change === "moved") continue;
    const [was, is] = [before, after].map((tree) => {
      const content = tree.get(path)?.content;
      return Buffer.isBuffer(content) ? textOf(content) : "";
    });
    if (was === null || is === null) expect(note).toContain("binary");
    else expect(diff).toBe(unifiedDiff(was ?? "", is ?? "", { maxLines: 400 }).diff);
  }
}

test(`preview equals effect: ${CALLS} random changes of files`, { timeout: LIMIT_MS }, async () => {
  const random = new Random(seed);
  const kinds = new Map<string, number>();
  for (let done = 0; done < CALLS;) {
    if (done % 25 === 0) plant(random);
    const before = treeNow();
    const [name, args] = fileCall(random, before);
    const call = await held(name, args);
    if (call === null) {
      plant(random);
      continue;
    }
    done++;
    const what = `seed ${seed}, call ${done}: ${name} ${JSON.stringify(args)}`;
    const { denied, effect } = await call.preview();
    expect([what, shapeOf(treeNow())]).toEqual([what, shapeOf(before)]);
    const ended = await call.approve();
    const after = treeNow();
    const kind = denied ? "denied" : (effect.kind as string);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (denied) {
      expect([what, failed(ended).reason]).toEqual([what, denied.reason]);
    } else if (effect.kind === "fails") {
      expect([what, failed(ended)]).toEqual([what, { code: effect.code, reason: effect.reason }]);
      const left = effect.leaves ? applied(before, effect.leaves) : shapeOf(before);
      expect([what, shapeOf(after)]).toEqual([what, left]);
    } else {
      expect([what, effect.kind, reasonOf(ended)]).toEqual([what, "files", "success"]);
      expect([what, applied(before, effect)]).toEqual([what, shapeOf(after)]);
      expectDiffs(before, after, effect);
    }
  }
  // Most of them do something.
  expect(kinds.get("files")).toBeGreaterThan(CALLS / 4);
  expect(kinds.get("fails")).toBeGreaterThan(CALLS / 20);
  console.info(`seed ${seed}: ${JSON.stringify(Object.fromEntries(kinds))}`);
});

const TABLES = ["items", "parts", "plain", "wide", "nowhere"];

function makeShop(): void {
  const db = new DatabaseSync(shop);
  db.exec(`create table items (id integer primary key, name text not null, n integer default 7, unique (name));
    create table parts (item integer not null references items (id) on delete cascade, no integer, note text,
      primary key (item, no)) without rowid;
    create table plain (x, y);
    create table wide (a text primary key, b real check (b < 100), c blob);
    create table log (what text);
    create trigger noted after insert on items begin
      insert into log values ('item ' || new.name);
      update items set n = n + 1 where id = new.id;
    end`);
  db.close();
}

type Dump = Record<string, Record<string, unknown>[]>;

function dump(): Dump {
  const db = new DatabaseSync(shop, { readOnly: true });
  try {
    const tables = db.prepare("select name from sqlite_schema where type = 'table'").all();
    return Object.fromEntries(
      tables.map(({ name }) => [name, db.prepare(`select * from "${String(name)}"`).all()]),
    );
  } finally {
    db.close();
  }
}

function value(random: Random): unknown {
  return random.pick([null, random.below(6), random.below(200) / 2, random.pick(NAMES), true]);
}

const COLUMNS: Record<string, string[]> = {
  items: ["id", "name", "n"],
  parts: ["item", "no", "note"],
  plain: ["x", "y"],
  wide: ["a", "b", "c"],
  nowhere: ["x"],
};

function statement(random: Random): [string, object] {
  const table = random.chance(0.95) ? random.pick(TABLES.slice(0, 4)) : "nowhere";
  const columns = COLUMNS[table] ?? [];
  const column = () => (random.chance(0.97) ? random.pick(columns) : "missing");
  const some = (): Record<string, unknown> =>
    Object.fromEntries(random.times(1, 2, () => [column(), value(random)]));
  const where = (): Record<string, unknown> =>
    random.chance(0.5)
      ? { [column()]: { op: random.pick(["gte", "lt", "ne"]), value: random.below(5) } }
      : some();
  switch (random.below(10)) {
    case 0:
      return [
        "database/query",
        {
          query: random.pick([
            "drop table items",
            "alter table items add column z",
            "create table z (x)",
            "delete from items",
            "select * from items; drop table items",
            "select name from items",
            "select missing from items",
          ]),
        },
      ];
    case 1:
    case 2:
    case 3:
    case 4: {
      const given = columns.filter(() => random.chance(0.8));
      const names = given.length > 0 ? given : columns.slice(0, 1);
      const rows = random.times(1, 4, () =>
        Object.fromEntries(names.map((name) => [name, value(random)])),
      );
      return [
        "database/insert",
        { table, rows, onConflict: random.pick(["error", "ignore", "ignore"]) },
      ];
    }
    case 5:
    case 6:
    case 7:
      return [
        "database/update",
        {
          table,
          set: some(),
          where: where(),
          maxRows: random.pick([1, 100]),
          dryRun: random.chance(0.1),
        },
      ];
    default:
      return ["database/delete", { table, where: where(), maxRows: random.pick([2, 100]) }];
  }
}

/** Rows of a table that are only in one of the two. */
function onlyIn(one: Dump, other: Dump, table: string): number {
  const left = (other[table] ?? []).map((row) => JSON.stringify(row));
  return (one[table] ?? []).filter((row) => {
    const at = left.indexOf(JSON.stringify(row));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  }).length;
}

function expectRows(
  effect: DatabaseEffect,
  before: Dump,
  after: Dump,
  output: { readonly updated?: number },
): void {
  const table = String(effect.table);
  const [gone, come] = [onlyIn(before, after, table), onlyIn(after, before, table)];
  if (effect.action === "insert") {
    expect(output).toMatchObject({ inserted: effect.rows, skipped: effect.skipped ?? 0 });
    expect(come).toBe(effect.rows);
  }
  if (effect.action === "delete") {
    expect(output).toMatchObject({ deleted: effect.rows });
    expect(gone).toBe(effect.rows);
  }
  if (effect.action === "update") {
    expect(output.updated).toBe(effect.rows);
    expect(gone).toBeLessThanOrEqual(effect.rows);
  }
  const named = (row: readonly unknown[]) =>
    JSON.stringify(Object.fromEntries(effect.columns.map((name, index) => [name, row[index]])));
  const rowsOf = (all: Dump) => (all[table] ?? []).map((row) => JSON.stringify(row));
  for (const row of effect.before) expect(rowsOf(before)).toContain(named(row));
  for (const row of effect.after) expect(rowsOf(after)).toContain(named(row));
  const most = Math.min(effect.rows, 10);
  expect(effect.before).toHaveLength(effect.action === "insert" ? 0 : most);
  expect(effect.after).toHaveLength(effect.action === "delete" ? 0 : most);
  const others = Object.keys(before).filter((name) => name !== table);
  const changed = others.reduce(
    (sum, name) => sum + Math.max(onlyIn(before, after, name), onlyIn(after, before, name)),
    0,
  );
  if (changed > 0) expect(effect.otherRows).toBeGreaterThanOrEqual(changed);
}

test(
  `preview equals effect: ${CALLS} random statements on SQLite`,
  { timeout: LIMIT_MS },
  async () => {
    const random = new Random(seed + 1);
    const kinds = new Map<string, number>();
    for (let done = 0; done < CALLS;) {
      const [name, args] = statement(random);
      const call = await held(name, args);
      if (call === null) continue;
      done++;
      const what = `seed ${seed}, statement ${done}: ${name} ${JSON.stringify(args)}`;
      const before = dump();
      const { denied, effect } = await call.preview();
      expect([what, denied]).toEqual([what, null]);
      expect([what, dump()]).toEqual([what, before]);
      const ended = await call.approve();
      const after = dump();
      kinds.set(effect.kind, (kinds.get(effect.kind) ?? 0) + 1);
      if (effect.kind === "fails") {
        expect([what, failed(ended)]).toEqual([what, { code: effect.code, reason: effect.reason }]);
        expect([what, after]).toEqual([what, before]);
        continue;
      }
      expect([what, effect.kind, reasonOf(ended)]).toEqual([what, "database", "success"]);
      if (effect.action === "read" || (args as { dryRun?: boolean }).dryRun)
        expect([what, effect.rows, after]).toEqual([what, 0, before]);
      else expectRows(effect, before, after, ended.body.result);
    }
    expect(kinds.get("database")).toBeGreaterThan(CALLS / 4);
    expect(kinds.get("fails")).toBeGreaterThan(CALLS / 20);
    console.info(`seed ${seed}: ${JSON.stringify(Object.fromEntries(kinds))}`);
  },
);
