// A key that may ask: its scopes fit its level unless they are named, so that what is dangerous waits for a person.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms } from "../fixtures/contract.ts";

const [SAFE, MODERATE, DANGEROUS] = [
  "agent:execute:safe",
  "agent:execute:moderate",
  "agent:execute:dangerous",
] as const;

/** One call of each risk. */
const CALLS = {
  safe: { name: "system/echo", arguments: { text: "a" } },
  moderate: { name: "memory/store", arguments: { key: "a", value: 1 } },
  dangerous: { name: "file/write", arguments: { path: "a.md", content: "b" } },
} as const;

const LEVELS_AND_SCOPES: [string, string[], number[]][] = [
  ["view_only", [], [403, 403, 403]],
  ["execute_basic", [SAFE], [200, 403, 403]],
  ["execute_advanced", [SAFE, MODERATE], [200, 200, 403]],
  ["admin", [SAFE, MODERATE, DANGEROUS], [200, 200, 202]],
];

describe("item 14: keys whose scopes fit their level", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let home: string;
  const cli = (...args: string[]) =>
    runBin([...args, "--data-dir", app.dataDir], { env: { HOME: home }, cwd: home });
  const statuses = async (key: string): Promise<number[]> => {
    const answers = [];
    for (const body of Object.values(CALLS))
      answers.push((await app.api("POST", "/executions", { key, body })).status);
    return answers;
  };

  beforeAll(async () => {
    app = await startApp({ flags: { "rateLimit.enabled": "false" } });
    home = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-home-")));
    mkdirSync(join(home, ".cursor"));
    // One that is refused much is throttled: each part has a user of its own.
    for (const id of ["bot", "other", "worker"])
      await app.api("POST", "/users", { body: { id, name: id } });
  });
  afterAll(async () => {
    await app.close();
    rmSync(home, { recursive: true, force: true });
  });

  test.each(LEVELS_AND_SCOPES)(
    "level %s: what it may call runs, and what is dangerous asks",
    async (level, scopes, expected) => {
      const made = await app.api("POST", "/keys", { body: { userId: "bot", name: level, level } });
      expect(made.status).toBe(201);
      conforms("keys.createKey", made.body);
      expect(made.body.scopes).toEqual(scopes);
      expect(await statuses(made.body.secret as string)).toEqual(expected);
    },
  );

  test("the page on levels says the same, and the README's clients have keys of their own", () => {
    const read = (file: string) => readFileSync(join(import.meta.dirname, "../..", file), "utf8");
    const row = (level: string) =>
      read("docs/access.md")
        .split("\n")
        .find((line) => line.startsWith(`| \`${level}\``));
    for (const [level, scopes] of LEVELS_AND_SCOPES)
      expect(row(level)?.match(/agent:execute:\w+/g) ?? []).toEqual(scopes);
    expect(read("README.md")).not.toMatch(/KEY=.*admin\.key/);
  });

  test("without a level it has its user's; scopes that are named count alone, also none", async () => {
    const plain = await app.api("POST", "/keys", { body: { userId: "other", name: "plain" } });
    expect(plain.body).toMatchObject({ level: null, scopes: [SAFE, MODERATE] });
    expect(await statuses(plain.body.secret as string)).toEqual([200, 200, 403]);
    const owner = await app.api("POST", "/keys", { body: { userId: "owner", name: "plain" } });
    expect(owner.body.scopes).toEqual([SAFE, MODERATE, DANGEROUS]);
    // No administrator by accident, whoever it belongs to.
    expect((await app.api("GET", "/users", { key: owner.body.secret })).status).toBe(403);
    const none = await app.api("POST", "/keys", {
      body: { userId: "other", name: "none", scopes: [], level: "admin" },
    });
    expect(none.body.scopes).toEqual([]);
    expect(await statuses(none.body.secret as string)).toEqual([403, 403, 403]);
  });

  test("`ostiary keys create --level` makes such a key", async () => {
    const made = await cli("keys", "create", "worker", "--user", "worker", "--level", "admin");
    expect(made.code).toBe(0);
    expect(await statuses(made.stdout.trim())).toEqual([200, 200, 202]);
    const named = await cli(
      "keys",
      "create",
      "narrow",
      "--user",
      "worker",
      "--level",
      "admin",
      "--scope",
      String(SAFE),
      "--json",
    );
    expect(named.json()).toMatchObject({ level: "admin", scopes: [SAFE] });
  });

  test("the first agent of `ostiary connect` may ask, administers nothing, and decides nothing", async () => {
    const made = await cli("connect", "cursor");
    expect(made.stderr).toContain("level admin: dangerous tools ask a person");
    expect(made.code).toBe(0);
    const key = readFileSync(join(app.dataDir, "connections/cursor.key"), "utf8").trim();
    expect(await statuses(key)).toEqual([200, 200, 202]);
    expect((await app.api("GET", "/whoami", { key })).body).toMatchObject({
      userId: "cursor",
      role: "user",
      level: "admin",
    });
    const [waiting] = (await app.api("GET", "/approvals?state=pending")).body.items.filter(
      (item: { requester: string }) => item.requester === "cursor",
    );
    expect(
      (await app.api("POST", `/approvals/${waiting.id}/approve`, { key, body: {} })).status,
    ).toBe(403);
    const narrower = await cli("connect", "cursor", "--level", "execute_basic");
    expect(narrower.code).toBe(0);
    const other = readFileSync(join(app.dataDir, "connections/cursor.key"), "utf8").trim();
    expect(await statuses(other)).toEqual([200, 403, 403]);
  });
});
