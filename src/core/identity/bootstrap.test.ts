import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startApp } from "../../../test/fixtures/app.ts";
import { testTool } from "../../../test/fixtures/gate.ts";
import type { RelationChange } from "../../governance/relations/relation.ts";
import { openStore, type Store } from "../../storage/store/store.ts";
import { freezeTool, type Tool } from "../../contract/tool.ts";
import { bootstrap, type Bootstrapped } from "./bootstrap.ts";
import { starterRelations } from "./starter-relations.ts";

test("a first start makes keys in 0600 files; the next start keeps them", async () => {
  const first = await startApp({ listen: false });
  expect(first.app.newAdminKey).toBe(first.adminKey);
  for (const file of ["admin.key", "cli.key", "instance.id", "owner.json"]) {
    expect(statSync(join(first.dataDir, file)).mode & 0o777).toBe(0o600);
  }
  await first.stop();
  const second = await startApp({ listen: false, dataDir: first.dataDir });
  expect(second.app.newAdminKey).toBeNull();
  expect(second.adminKey).toBe(first.adminKey);
  expect(await second.callerOf(first.cliKey)).toMatchObject({ userId: "cli" });
  await second.close();
});

test("a preset administrator key is taken as it stands and never printed", async () => {
  const preset = "correct-horse-battery-staple-and-more";
  const app = await startApp({ listen: false, flags: { adminKey: preset } });
  expect(app.app.newAdminKey).toBeNull();
  expect(await app.callerOf(preset)).toMatchObject({ userId: "owner", role: "admin" });
  await app.stop();
  const again = await startApp({
    listen: false,
    dataDir: app.dataDir,
    flags: { adminKey: preset },
  });
  const owner = await again.callerOf(preset);
  const keys = await again.doors.directory.listKeys(owner, { limit: 100, userId: "owner" });
  expect(keys).toHaveLength(1);
  await again.close();
});

test("the keys are found among hundreds of others of the same user", async () => {
  const first = await startApp({ listen: false });
  const owner = await first.callerOf(first.adminKey);
  for (let i = 0; i < 120; i++)
    await first.doors.directory.createKey(owner, { userId: "owner", name: `k${i}`, scopes: ["*"] });
  await first.stop();
  const preset = "correct-horse-battery-staple-and-more";
  const { dataDir } = first;
  const second = await startApp({ listen: false, dataDir, flags: { adminKey: preset } });
  expect(await second.callerOf(preset)).toMatchObject({ userId: "owner", role: "admin" });
  await second.stop();
  const third = await startApp({ listen: false, dataDir });
  expect(third.app.newAdminKey).toBeNull();
  expect(await third.callerOf(first.adminKey)).toMatchObject({ userId: "owner" });
  await third.close();
});

test("A6: a preset key that was revoked stays revoked at the next start; another one is taken", async () => {
  const [preset, other] = [
    "correct-horse-battery-staple-and-more",
    "another-horse-battery-staple-and-more",
  ];
  const first = await startApp({ listen: false, flags: { adminKey: preset } });
  const owner = await first.callerOf(preset);
  await first.doors.directory.revokeKey(owner, owner.keyId ?? "");
  await first.stop();
  const { dataDir } = first;
  const second = await startApp({ listen: false, dataDir, flags: { adminKey: preset } });
  await expect(second.callerOf(preset)).rejects.toMatchObject({ fault: { code: "UNAUTHORIZED" } });
  await second.stop();
  const third = await startApp({ listen: false, dataDir, flags: { adminKey: other } });
  expect(await third.callerOf(other)).toMatchObject({ userId: "owner" });
  await expect(third.callerOf(preset)).rejects.toMatchObject({ fault: { code: "UNAUTHORIZED" } });
  await third.close();
});

test("a lost or revoked key file is replaced at the next start", async () => {
  const first = await startApp({ listen: false });
  const owner = await first.callerOf(first.adminKey);
  const cli = await first.callerOf(first.cliKey);
  await first.doors.directory.revokeKey(owner, cli.keyId ?? "");
  await first.stop();
  const second = await startApp({ listen: false, dataDir: first.dataDir });
  expect(second.cliKey).not.toBe(first.cliKey);
  expect(await second.callerOf(second.cliKey)).toMatchObject({ userId: "cli" });
  await second.close();
});

/** A database that several instances start on, each with a data directory of its own. */
async function withShared(
  work: (
    start: (secrets: Map<string, string>, change?: Partial<Store>) => Promise<Bootstrapped>,
    store: Store,
  ) => Promise<void>,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-test-"));
  const store = await openStore("sqlite:a.db", { dataDir });
  const start = (secrets: Map<string, string>, change: Partial<Store> = {}) =>
    bootstrap({
      store: { ...store, shared: true, ...change },
      serverSecret: "s".repeat(64),
      now: () => 1_000,
      tools: [],
      presetAdminKey: null,
      readSecret: (name) => secrets.get(name) ?? null,
      writeSecret: (name, value) => void secrets.set(name, value),
    });
  await work(start, store);
  await store.close();
  rmSync(dataDir, { recursive: true });
}

test("a further instance on a shared database gets no keys; the first one keeps its own", () =>
  withShared(async (start) => {
    const [first, second] = [new Map<string, string>(), new Map<string, string>()];
    const { newAdminKey } = await start(first);
    expect([first.get("admin.key"), first.size]).toEqual([newAdminKey, 2]);
    expect(await start(second)).toMatchObject({ newAdminKey: null, adminKeyElsewhere: true });
    expect(second.size).toBe(0);
    expect(await start(first)).toMatchObject({ newAdminKey: null, adminKeyElsewhere: false });
  }));

test("of several instances that find no key at the same moment one makes it", () =>
  withShared(async (start, store) => {
    const folders = Array.from({ length: 5 }, () => new Map<string, string>());
    let looking = 0;
    const list: Store["keys"]["list"] = async (...args) => {
      const found = await store.keys.list(...args);
      looking++;
      // The first look of each, at the administrator's keys, ends when all have looked.
      await expect.poll(() => looking).toBeGreaterThanOrEqual(folders.length);
      return found;
    };
    const keys = { ...store.keys, list };
    const started = await Promise.all(folders.map((secrets) => start(secrets, { keys })));
    expect(started.filter(({ newAdminKey }) => newAdminKey !== null).length).toBe(1);
    expect(started.filter(({ adminKeyElsewhere }) => adminKeyElsewhere).length).toBe(4);
    expect(folders.filter((secrets) => secrets.has("admin.key")).length).toBe(1);
    expect((await store.keys.list("local", { limit: 100, userId: "owner" })).length).toBe(1);
  }));

test("a store that cannot write stops the start", () =>
  withShared(async (start, store) => {
    const create = () => Promise.reject(new Error("disk full"));
    const users = { ...store.users, create };
    await expect(start(new Map(), { users })).rejects.toThrow("disk full");
  }));

test("a preset key that looks like ours but is damaged stops the start", async () => {
  const damaged = `ost_local_${"a".repeat(49)}`;
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-test-"));
  await expect(
    startApp({ listen: false, dataDir, flags: { adminKey: damaged } }),
  ).rejects.toMatchObject({ fault: { code: "BAD_REQUEST" } });
  // Nothing is held: the same folder starts once the key is right.
  await (await startApp({ listen: false, dataDir })).close();
});

test("C50: the starter capsule leaves to people what can do anything or asks for a special permission", async () => {
  const tool = (name: string, more: Partial<Tool>) =>
    freezeTool({ ...testTool(), name, id: name, wireName: name.replace("/", "_"), ...more });
  const tools = [
    tool("system/plain", { risk: "dangerous", effects: "system_write" }),
    tool("system/shell", { effects: "system_dangerous" }),
    tool("system/special", { requiredPermissions: ["tool:create"] }),
  ];
  const app = await startApp({ listen: false, tools });
  const starter = await app.app.store.capsules.get("starter");
  expect(starter?.capabilities).toContain("system/echo");
  expect(starter?.capabilities).toContain("system/plain");
  expect(starter?.capabilities).not.toContain("system/shell");
  expect(starter?.capabilities).not.toContain("system/special");
  const seen = async (key: string) =>
    (await app.app.engine.discover(await app.callerOf(key))).map(({ name }) => name);
  const admin = await app.callerOf(app.adminKey);
  const { secret } = await app.doors.directory.createKey(admin, {
    userId: "cli",
    name: "starter",
    scopes: ["*"],
    capsuleId: "starter",
  });
  expect(await seen(secret)).not.toContain("system/shell");
  for (const key of [app.cliKey, app.adminKey]) expect(await seen(key)).toContain("system/shell");
  await app.close();
});

test("C6: the first relations are written for everybody, however many; later only those of new tools", async () => {
  const app = await startApp({ listen: false });
  const owner = await app.callerOf(app.adminKey);
  for (let i = 0; i < 120; i++)
    await app.doors.directory.createUser(owner, { id: `u${i}`, name: "x" });
  const { store } = app.app;
  const written: RelationChange[] = [];
  let largest = 0;
  const relations = {
    write: async (changes: readonly RelationChange[]) => {
      written.push(...changes);
      largest = Math.max(largest, changes.length);
      return { revision: "1" };
    },
  };
  let known: string | null = null;
  const facts = {
    ...store.facts,
    get: async () => known,
    set: async (_name: string, value: string) => void (known = value),
  };
  const tools = Array.from({ length: 300 }, (_, i) =>
    freezeTool({ ...testTool(), name: `system/t${i}` }),
  );
  await starterRelations({ store: { facts, users: store.users }, relations, tools });
  const members = written.filter(
    ({ relationship }) =>
      relationship.relation === "member" && relationship.resource.type === "tenant",
  );
  expect(members.length).toBe(122);
  expect(largest).toBeLessThanOrEqual(500);
  written.length = 0;
  await starterRelations({ store: { facts, users: store.users }, relations, tools });
  expect(written).toEqual([]);
  await starterRelations({
    store: { facts, users: store.users },
    relations,
    tools: [...tools, freezeTool({ ...testTool(), name: "system/new" })],
  });
  expect(new Set(written.map(({ relationship }) => relationship.resource.id))).toEqual(
    new Set(["system/new"]),
  );
  await app.close();
});
