// `explain --as` says what that caller would hear: compared with the calls themselves, over random callers.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LEVELS } from "../../src/contract/call.ts";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser } from "../fixtures/contract.ts";

const SEED = Number(process.env["OSTIARY_SEED"] ?? 1);

/** Small, repeatable, good enough to choose with. */
function chooser(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const one = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T;
  return {
    one,
    some: <T>(of: readonly T[]): T[] => of.filter(() => next() < 0.5),
    maybe: (p: number) => next() < p,
  };
}

const SCOPES = [
  "agent:execute:safe",
  "agent:execute:moderate",
  "agent:execute:dangerous",
  "tool:approve",
  "*",
];
const CAPSULES = ["starter", "all", "tiny", "none"];
const ROLES = [["tool_user"], [], ["tool_user", "auditor"]];
const CALLS: readonly { name: string; arguments: object }[] = [
  { name: "system/echo", arguments: { text: "a" } },
  { name: "system_echo", arguments: { text: "a" } },
  { name: "system/echo", arguments: { txt: 1 } },
  { name: "system/calculator", arguments: { expression: "1+1" } },
  { name: "file/read", arguments: { path: "notes.md" } },
  { name: "read_file", arguments: { path: "notes.md", max_size_mb: 1 } },
  { name: "file/read", arguments: { path: "/etc/passwd" } },
  { name: "file/write", arguments: { path: "out.md", content: "x" } },
  { name: "file/delete", arguments: { path: "out.md" } },
  { name: "memory/store", arguments: { key: "a", value: 1 } },
  { name: "shell/exec", arguments: { command: "rm -r x" } },
  { name: "web/get", arguments: { url: "http://127.0.0.1/" } },
  { name: "system/package_install", arguments: { packages: ["left-pad"], manager: "npm" } },
  { name: "no/such", arguments: {} },
];

/** What was decided, in the words both doors share. */
interface Decided {
  readonly verdict: "allow" | "deny" | "hold";
  readonly code?: string;
  readonly reason?: string;
}

/** Once it was let through, how it ended is the tool's affair. */
function ofCall({ status, body }: ApiAnswer): Decided {
  if (status === 202 && body.approval) return { verdict: "hold" };
  if (status === 200 || status === 202) return { verdict: "allow" };
  return { verdict: "deny", code: body.code, reason: body.reason };
}

function ofExplanation({ body }: ApiAnswer): Decided {
  const first = body.gates.find((gate: { verdict: string }) => gate.verdict !== "allow");
  if (body.verdict !== "deny") return { verdict: body.verdict };
  return { verdict: "deny", code: first.code, reason: first.reason };
}

/** On a crowded machine a stage may be too slow: that is no answer, and nothing has run. */
async function answered(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (tries === 10 || !JSON.stringify(answer.body).includes('"engine_unavailable"'))
      return answer;
  }
}

describe("item 10: explain --as", { timeout: 240_000 }, () => {
  let app: StartedApp;
  const explain = (body: object) => app.api("POST", "/explain", { body });
  const keyId = async (key: string): Promise<string> =>
    (await app.api("GET", "/whoami", { key })).body.keyId;

  beforeAll(async () => {
    app = await startApp({ flags: { "rateLimit.enabled": "false" } });
    await app.api("POST", "/capsules", {
      body: { id: "tiny", name: "t", capabilities: ["system/echo", "file/read", "shell/exec"] },
    });
    await app.api("POST", "/capsules", { body: { id: "none", name: "n", capabilities: [] } });
  });
  afterAll(() => app.close());

  test("agrees with the calls themselves, and --missing with the list, over random callers", async () => {
    const { one, some, maybe } = chooser(SEED);
    const counts: Record<string, number> = {};
    for (let n = 0; n < 30; n++) {
      if (n === 15) await app.api("PUT", "/mode", { body: { mode: "ALERT", reason: "drill" } });
      const id = `caller${n}`;
      await app.api("POST", "/users", {
        body: {
          id,
          name: id,
          role: maybe(0.2) ? "admin" : "user",
          roles: one(ROLES),
          plan: one([null, "free", "starter", "team", "enterprise"]),
        },
      });
      const body = {
        userId: id,
        name: "k",
        ...(maybe(0.2) ? {} : { scopes: maybe(0.5) ? SCOPES.slice(0, 3) : some(SCOPES) }),
        ...(maybe(0.3) ? {} : { level: one([...LEVELS, "admin"]) }),
        ...(maybe(0.3) ? {} : { capsuleId: one([...CAPSULES, "all"]) }),
      };
      const made = await app.api("POST", "/keys", { body: { scopes: [], ...body } });
      const key = made.body.secret as string;
      if (maybe(0.3)) {
        const relationship = `tool:${one(["shell/exec", "file/write"])}#executor@user:${id}`;
        await app.api("POST", "/relationships", {
          body: { changes: [{ operation: "touch", relationship }] },
        });
      }
      if (maybe(0.2)) {
        const relationship = `tenant:local#shell_executor@user:${id}`;
        await app.api("POST", "/relationships", {
          body: { changes: [{ operation: "touch", relationship }] },
        });
      }
      const as = one([id, made.body.id as string]);
      for (const call of CALLS) {
        const told = await answered(() =>
          explain({ tool: call.name, arguments: call.arguments, as }),
        );
        const ran = await answered(() =>
          app.api("POST", "/executions", { key, body: { ...call, wait: false } }),
        );
        const [expected, said] = [ofCall(ran), ofExplanation(told)];
        expect({ as, call, body, ...said }).toEqual({ as, call, body, ...expected });
        expect(told.body.who).toMatchObject({ userId: id, keyId: made.body.id as string });
        counts[expected.verdict] = (counts[expected.verdict] ?? 0) + 1;
      }
      const list = await app.api("GET", "/tools?includeDeprecated=true", { key });
      const missing = await app.api("POST", "/explain/missing", { body: { as } });
      conforms("explain.explainMissing", missing.body);
      const seen = (list.body.tools as { name: string }[]).map(({ name }) => name);
      const hidden = (missing.body.missing as { tool: string }[]).map(({ tool }) => tool);
      expect(missing.body.visible).toBe(seen.length);
      expect(hidden.filter((name) => seen.includes(name))).toEqual([]);
      expect(seen.length + hidden.length).toBe(app.doors.registry.all().length);
    }
    // A comparison in which everything is refused would say nothing.
    for (const verdict of ["allow", "deny", "hold"]) expect(counts[verdict]).toBeGreaterThan(9);
  });

  test("a user with several keys is decided with the one they used last; a key can be named; one that is gone is told", async () => {
    const weak = await newUser(app, "two", {
      scopes: ["agent:execute:safe"],
      level: "execute_basic",
    });
    const body = {
      userId: "two",
      name: "strong",
      scopes: ["agent:execute:safe", "agent:execute:moderate"],
      level: "execute_advanced",
    };
    const strong = (await app.api("POST", "/keys", { body })).body;
    const question = { tool: "memory/store", arguments: { key: "a", value: 1 }, mode: "NORMAL" };
    await app.api("GET", "/whoami", { key: weak });
    expect((await explain({ ...question, as: "two" })).body).toMatchObject({
      verdict: "deny",
      who: { keyId: await keyId(weak), level: "execute_basic" },
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await app.api("GET", "/whoami", { key: strong.secret });
    expect((await explain({ ...question, as: "two" })).body).toMatchObject({
      verdict: "allow",
      who: { keyId: strong.id },
    });
    expect((await explain({ ...question, as: await keyId(weak) })).body.verdict).toBe("deny");
    await app.api("DELETE", `/keys/${strong.id}`);
    const gone = await explain({ ...question, as: strong.id });
    expect([gone.status, gone.body.code]).toEqual([409, "CONFLICT"]);
    expect((await explain({ ...question, as: "two" })).body.who.keyId).toBe(await keyId(weak));
  });

  test("at the command line: the caller is named, and --missing is about whom `tools` lists for", async () => {
    const cli = (...args: string[]) => runBin([...args, "--data-dir", app.dataDir]);
    const told = await cli("explain", "shell/exec", "command=rm -r x", "--as", "cli");
    expect(told.code).toBe(4);
    expect(told.stdout).toMatch(/as\s+cli with key key_cli_1, level admin, capsule all/);
    const listed = (await cli("tools", "--json")).json();
    const missing = (await cli("explain", "--missing", "--json")).json();
    expect(missing).toMatchObject({ user: "cli", visible: listed.totalCount });
  });
});

describe(
  "item 10: arguments from the command line have the types of the tool",
  { timeout: 120_000 },
  () => {
    let app: StartedApp;
    beforeAll(async () => {
      app = await startApp({ flags: { "rateLimit.enabled": "false" } });
    });
    afterAll(async () => {
      await app.close();
    });

    test("also of a tool that only the other user sees", async () => {
      await newUser(app, "bot", { scopes: ["*"], level: "admin", capsuleId: "all" });
      // Taken from everybody, given to one.
      const change = (operation: string, relationship: string) => ({ operation, relationship });
      const changes = [
        change("delete", "tool:system/time#executor@tenant:local#member"),
        change("touch", "tool:file/read#executor@user:bot"),
        change("delete", "tool:file/read#executor@tenant:local#member"),
      ];
      expect((await app.api("POST", "/relationships", { body: { changes } })).status).toBe(200);
      expect((await app.api("GET", "/tools/file/read")).status).toBe(404);
      const told = await runBin([
        "explain",
        "file/read",
        "path=notes.md",
        "maxBytes=10",
        "--as",
        "bot",
        "--data-dir",
        app.dataDir,
        "--json",
      ]);
      expect(told.json()).toMatchObject({ verdict: "allow", who: { userId: "bot" } });
    });
  },
);
