// Who is calling, through the real store and directory.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { mandateOf, type Caller } from "../../contract/call.ts";
import { createCapsules } from "./capsules.ts";
import { createIdentity } from "./index.ts";
import { createSessions } from "./sessions.ts";

let app: StartedApp;
let admin: Caller;
let clock = Date.now();

beforeAll(async () => {
  app = await startApp({ listen: false, now: () => clock });
  admin = await app.callerOf(app.adminKey);
});
afterAll(() => app.close());

const bearer = (key: string) => ({ authorization: `Bearer ${key}`, cookie: undefined });
const identify = async (key: string): Promise<Caller> => app.doors.identity.identify(bearer(key));
const refused = (reason: string) => ({ fault: { code: "UNAUTHORIZED", reason } });
const newUser = async (change: object = {}) =>
  (await app.doors.directory.createUser(admin, { name: "Ada", ...change })).id;
const newKey = (userId: string, change: object = {}) =>
  app.doors.directory.createKey(admin, {
    userId,
    name: "test",
    scopes: ["agent:execute:safe"],
    ...change,
  });

describe("keys", () => {
  test("C50: the first start's keys stand for owner and cli, each with its capsule", async () => {
    expect(admin).toMatchObject({
      userId: "owner",
      role: "admin",
      level: "admin",
      capsuleId: "all",
      tenantId: "local",
      via: "key",
    });
    expect(await app.callerOf(app.cliKey)).toMatchObject({
      userId: "cli",
      role: "user",
      level: "admin",
      capsuleId: "all",
    });
  });

  test("R050: no credential, another scheme, and unknown keys are refused", async () => {
    const identity = app.doors.identity;
    expect(() => identity.identify({ authorization: undefined, cookie: undefined })).toThrow(
      /needs a credential/,
    );
    expect(() => identity.identify({ authorization: "Basic abc", cookie: undefined })).toThrow(
      /Bearer/,
    );
    await expect(identify("short")).rejects.toMatchObject(refused("bad_credentials"));
    await expect(identify("x".repeat(40))).rejects.toMatchObject(refused("bad_credentials"));
    const wrong = `${app.adminKey.slice(0, -1)}${app.adminKey.endsWith("a") ? "b" : "a"}`;
    await expect(identify(wrong)).rejects.toMatchObject(refused("bad_credentials"));
  });

  test("a connection's key is remembered, and looked at again when it changes or was revoked", async () => {
    const { identity, directory } = app.doors;
    const userId = await newUser();
    const [one, two] = [await newKey(userId), await newKey(userId)];
    const connection = {};
    const come = async (secret: string) => identity.identify(bearer(secret), connection);
    for (const { key, secret } of [one, one, one, two, two, one])
      expect(await come(secret)).toMatchObject({ keyId: key.id });
    await directory.revokeKey(admin, one.key.id);
    await expect(come(one.secret)).rejects.toMatchObject(refused("key_inactive"));
    expect(await come(two.secret)).toMatchObject({ keyId: two.key.id });
  });

  test("C39: who asked is looked up again: gone with the user, the key, or another's key", async () => {
    const { identity, directory } = app.doors;
    const userId = await newUser();
    const { key } = await newKey(userId);
    const left = (who: string, keyId: string | null) =>
      ({
        tenantId: "local",
        userId: who,
        keyId,
        role: "user",
        level: "admin",
        scopes: ["*"],
        capsuleId: "all",
        via: keyId === null ? "console" : "key",
      }) as const;
    expect(await identity.again(left(userId, key.id))).toMatchObject({ userId, keyId: key.id });
    expect(await identity.again(left(userId, null))).toMatchObject({ userId, keyId: null });
    expect(await identity.again(left("nobody", null))).toBeNull();
    expect(await identity.again(left("cli", key.id))).toBeNull();
    expect(await identity.again(left(userId, "key_none"))).toBeNull();
    await directory.revokeKey(admin, key.id);
    expect(await identity.again(left(userId, key.id))).toBeNull();
  });

  test("R033: a tool is switched by whoever may configure it, and must exist", async () => {
    const { directory } = app.doors;
    const { secret } = await newKey(await newUser(), { scopes: ["*"], level: "admin" });
    await expect(
      directory.switchTool(await identify(secret), "system/echo", false),
    ).rejects.toMatchObject({ fault: { code: "FORBIDDEN", reason: "permission_missing" } });
    await expect(directory.switchTool(admin, "no/such", false)).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    await directory.switchTool(admin, "system/time", false);
    await directory.switchTool(admin, "system_time", true);
  });

  test("R053: a revoked key is refused before the revocation is acknowledged", async () => {
    const { key, secret } = await newKey(await newUser({ plan: "free" }));
    expect(await identify(secret)).toMatchObject({
      keyId: key.id,
      level: "execute_basic",
      capsuleId: "starter",
    });
    const revoked = await app.doors.directory.revokeKey(admin, key.id);
    await expect(identify(secret)).rejects.toMatchObject(refused("key_inactive"));
    expect((await app.doors.directory.revokeKey(admin, key.id)).revokedAt).toBe(revoked.revokedAt);
    await expect(app.doors.directory.rotateKey(admin, key.id, 0)).rejects.toMatchObject({
      fault: { code: "CONFLICT" },
    });
  });

  test("an expired key is refused, known or not", async () => {
    const { secret } = await newKey(await newUser(), { expiresAt: clock + 1_000 });
    const later = await newKey(await newUser(), { expiresAt: clock + 1_000 });
    await identify(secret);
    clock += 1_000;
    await expect(identify(secret)).rejects.toMatchObject(refused("key_inactive"));
    await expect(identify(later.secret)).rejects.toMatchObject(refused("key_inactive"));
    await expect(newKey(await newUser(), { expiresAt: clock })).rejects.toMatchObject({
      fault: { errors: [{ path: "/expiresAt" }] },
    });
  });

  test("a key lives 90 days unless told otherwise, and rotates with an overlap", async () => {
    const userId = await newUser();
    const capsule = await app.doors.directory.createCapsule(admin, {
      name: "one",
      capabilities: ["echo"],
    });
    const old = await newKey(userId, { level: "execute_advanced", capsuleId: capsule.id });
    expect(old.key.expiresAt).toBe(clock + 90 * 86_400_000);
    const next = await app.doors.directory.rotateKey(admin, old.key.id, 60);
    expect(await identify(old.secret)).toMatchObject({ userId });
    expect(await identify(next.secret)).toMatchObject({
      userId,
      level: "execute_advanced",
      capsuleId: capsule.id,
    });
    clock += 60_000;
    await expect(identify(old.secret)).rejects.toMatchObject(refused("key_inactive"));
    expect(await identify(next.secret)).toMatchObject({ userId });
  });

  test("last use is written in batches", async () => {
    const { key, secret } = await newKey(await newUser());
    await identify(secret);
    await app.doors.identity.flush();
    expect((await app.doors.directory.getKey(admin, key.id)).lastUsedAt).toBe(clock);
    await app.doors.identity.flush();
  });

  test("R067 C8: the plan gives the level; a key may be given another one", async () => {
    const levels = {
      free: "execute_basic",
      starter: "execute_basic",
      team: "execute_advanced",
      enterprise: "execute_advanced",
    } as const;
    for (const [plan, level] of Object.entries(levels)) {
      const { secret } = await newKey(await newUser({ plan }));
      expect((await identify(secret)).level).toBe(level);
    }
    const { secret } = await newKey(await newUser({ plan: "free" }), { level: "view_only" });
    expect((await identify(secret)).level).toBe("view_only");
    const boss = await newUser({ role: "admin" });
    expect((await identify((await newKey(boss)).secret)).role).toBe("user");
    expect(await identify((await newKey(boss, { scopes: ["*"] })).secret)).toMatchObject({
      role: "admin",
      level: "admin",
    });
    expect((await identify((await newKey(boss, { scopes: ["admin"] })).secret)).role).toBe("admin");
  });

  test("a changed user is somebody else at the next request", async () => {
    const userId = await newUser({ plan: "free" });
    const { secret } = await newKey(userId);
    expect((await identify(secret)).level).toBe("execute_basic");
    await app.doors.directory.updateUser(admin, userId, { plan: "team" });
    expect((await identify(secret)).level).toBe("execute_advanced");
  });
});

describe("the directory", () => {
  test("§2.12: refuses taken ids, unknown users, capsules and tools, each with its field", async () => {
    const { directory } = app.doors;
    await directory.createUser(admin, { id: "bob", name: "Bob" });
    await expect(directory.createUser(admin, { id: "bob", name: "B" })).rejects.toMatchObject({
      fault: { code: "CONFLICT", reason: "already_exists" },
    });
    await expect(newKey("nobody")).rejects.toMatchObject({
      fault: { errors: [{ path: "/userId" }] },
    });
    await expect(newKey("bob", { capsuleId: "none" })).rejects.toMatchObject({
      fault: { errors: [{ path: "/capsuleId" }] },
    });
    await expect(
      directory.createCapsule(admin, { name: "x", capabilities: ["echo", "no/tool"] }),
    ).rejects.toMatchObject({ fault: { errors: [{ path: "/capabilities/1" }] } });
    await expect(directory.getUser(admin, "nobody")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    await expect(directory.getCapsule(admin, "nothing")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    await expect(directory.getKey(admin, "key_0")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
  });

  test("T20: nothing of another tenant is seen or changed", async () => {
    const stranger = { ...admin, tenantId: "elsewhere" };
    await expect(app.doors.directory.getUser(stranger, "owner")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    await expect(
      app.doors.directory.updateCapsule(stranger, "all", { name: "mine" }),
    ).rejects.toMatchObject({ fault: { code: "NOT_FOUND" } });
    expect(await app.doors.directory.listUsers(stranger, { limit: 10 })).toEqual([]);
    await expect(app.doors.directory.callerFor(stranger, "owner")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
  });

  test("T20: a tenant that is not there has neither plan nor levels", async () => {
    const { directory } = app.doors;
    const stranger = { ...admin, tenantId: "elsewhere" };
    const missing = { fault: { code: "NOT_FOUND", reason: "unknown" } };
    await expect(directory.getTenant(stranger)).rejects.toMatchObject(missing);
    await expect(directory.updateTenant(stranger, { plan: "free" })).rejects.toMatchObject(missing);
    const user = await directory.getUser(admin, await newUser());
    expect((await directory.levels(stranger))(user)).toBe("view_only");
    expect((await directory.levels(admin))(user)).toBe("execute_advanced");
  });

  test("a user of a tenant without plan and default capsule may only look, and has no tools", async () => {
    const row = { id: "bare", name: "Bare", role: "user", roles: [], plan: null } as const;
    await app.app.store.users.create({
      ...row,
      tenantId: "bare",
      preferences: {},
      createdAt: clock,
    });
    const mandate = { ...mandateOf(admin), tenantId: "bare", userId: "bare", keyId: null };
    const caller = await app.doors.identity.again({ ...mandate, via: "console" });
    expect(caller).toMatchObject({ level: "view_only", capsuleId: null, plan: null, role: "user" });
    expect(await app.app.engine.discover(caller as Caller)).toEqual([]);
  });

  test("a capsule may hold every tool, or one as it is pinned; a pin that is none is refused", async () => {
    const { directory } = app.doors;
    const create = (...capabilities: string[]) =>
      directory.createCapsule(admin, { name: "pinned", capabilities });
    const { capabilities } = await create("*", "echo@0123456789ab");
    expect(capabilities).toEqual(["*", "system/echo@0123456789ab"]);
    await expect(create("echo", "system/echo@newest")).rejects.toMatchObject({
      fault: {
        errors: [
          {
            path: "/capabilities/1",
            message: expect.stringContaining("first 12 characters of a pin") as string,
            suggestion: "see its pins: ostiary servers tools system",
          },
        ],
      },
    });
  });

  test("a key without an end, such as the installation's own, gets 90 days when it is rotated", async () => {
    const { directory } = app.doors;
    const { keyId } = await app.callerOf(app.cliKey);
    expect((await directory.getKey(admin, keyId ?? "")).expiresAt).toBeNull();
    const { key } = await directory.rotateKey(admin, keyId ?? "", 60);
    expect(key.expiresAt).toBe(clock + 90 * 86_400_000);
    expect((await directory.getKey(admin, keyId ?? "")).expiresAt).toBe(clock + 60_000);
  });

  test("a user is taken for the key they used last, of unused ones for the newest", async () => {
    const { directory } = app.doors;
    const userId = await newUser();
    const keyNow = async () => (await directory.callerFor(admin, userId)).keyId;
    expect(await keyNow()).toBeNull();
    const first = await newKey(userId);
    clock += 1;
    const second = await newKey(userId);
    clock += 1;
    expect(await keyNow()).toBe(second.key.id);
    await identify(first.secret);
    expect(await keyNow()).toBe(first.key.id);
    clock += 1;
    await identify(second.secret);
    expect(await keyNow()).toBe(second.key.id);
    await directory.revokeKey(admin, second.key.id);
    expect(await keyNow()).toBe(first.key.id);
  });

  test("what a key may do is told to its owner and to administrators, and whether it lets anybody in", async () => {
    const { directory } = app.doors;
    const userId = await newUser();
    const [mine, brief] = [await newKey(userId), await newKey(userId, { expiresAt: clock + 10 })];
    const owner = await identify(mine.secret);
    const active = async (actor: Caller, keyId: string) =>
      (await directory.callerWithKey(actor, keyId)).isActive;
    expect(await directory.callerWithKey(owner, mine.key.id)).toMatchObject({
      caller: { userId, keyId: mine.key.id },
      isActive: true,
    });
    expect(await active(admin, brief.key.id)).toBe(true);
    expect(await active(admin, admin.keyId ?? "")).toBe(true);
    clock += 10;
    expect(await active(owner, brief.key.id)).toBe(false);
    await directory.revokeKey(admin, mine.key.id);
    expect(await active(owner, mine.key.id)).toBe(false);
    for (const keyId of [admin.keyId ?? "", "key_none"])
      await expect(directory.callerWithKey(owner, keyId)).rejects.toMatchObject({
        fault: { code: "NOT_FOUND", reason: "unknown" },
      });
  });

  test("capsules hold canonical names; a change is effective at the next call", async () => {
    const { directory } = app.doors;
    const capsule = await directory.createCapsule(admin, {
      id: "tiny",
      name: "Tiny",
      capabilities: ["echo"],
    });
    expect(capsule).toMatchObject({
      id: "tiny",
      version: 1,
      status: "active",
      capabilities: ["system/echo"],
    });
    const { secret } = await newKey("bob", { capsuleId: "tiny" });
    const seen = async () =>
      (await app.app.engine.discover(await identify(secret))).map((tool) => tool.name);
    expect(await seen()).toEqual(["system/echo"]);
    await directory.updateCapsule(admin, "tiny", { capabilities: ["system_time", "system/info"] });
    expect(await seen()).toEqual(["system/info", "system/time"]);
    expect(await directory.updateCapsule(admin, "tiny", { status: "archived" })).toMatchObject({
      version: 3,
    });
    expect(await seen()).toEqual([]);
    expect((await directory.listCapsules(admin, { limit: 100 })).map((row) => row.id)).toContain(
      "tiny",
    );
  });

  test("the default capsule may move", async () => {
    // Whoever has a key is asked about with that key's capsule.
    await app.doors.directory.createUser(admin, { id: "keyless", name: "Keyless" });
    await app.doors.directory.createCapsule(admin, {
      id: "fresh",
      name: "Fresh",
      capabilities: [],
      default: true,
    });
    expect((await app.doors.directory.callerFor(admin, "keyless")).capsuleId).toBe("fresh");
    expect((await app.doors.directory.getCapsule(admin, "starter")).isDefault).toBe(false);
    await app.doors.directory.updateCapsule(admin, "starter", { isDefault: true });
    expect((await app.doors.directory.callerFor(admin, "keyless")).capsuleId).toBe("starter");
  });
});

const OWNER = { tenantId: "local", userId: "owner", keyId: null };
let signIns = 0;
const newId = (): string => `sgn_${++signIns}`;

describe("console sessions", () => {
  test("the one-time link works once and becomes a session of the owner", async () => {
    const { identity } = app.doors;
    const { token } = await identity.createLoginToken(await app.callerOf(app.adminKey));
    const session = await identity.redeemLoginToken(token);
    expect(await identity.redeemLoginToken(token)).toBeNull();
    using log = new DatabaseSync(join(app.dataDir, "ostiary.db"), { readOnly: true });
    const used = log.prepare("select actor from events where action = 'login.used'").all();
    expect(used.map((event) => event["actor"])).toEqual(["owner"]);
    const cookie = `theme=dark; ostiary_session=${session?.cookie}`;
    expect(await identity.identify({ authorization: undefined, cookie })).toMatchObject({
      userId: "owner",
      via: "console",
      role: "admin",
      capsuleId: "all",
      keyId: null,
    });
    await identity.signOut(cookie);
    await expect(async () =>
      identity.identify({ authorization: undefined, cookie }),
    ).rejects.toMatchObject(refused("no_credentials"));
    await identity.signOut(undefined);
  });

  test("what was asked for in a session outlives signing out, and ends when somebody ends the sign-in", async () => {
    const { identity } = app.doors;
    const signIn = async () => {
      const { token } = await identity.createLoginToken(admin);
      const cookie = `ostiary_session=${(await identity.redeemLoginToken(token))?.cookie}`;
      return { cookie, caller: await identity.identify({ authorization: undefined, cookie }) };
    };
    const left = await signIn();
    expect(await identity.standOf(mandateOf(left.caller))).toMatchObject({
      caller: { userId: "owner" },
      until: expect.any(Number) as number,
    });
    await identity.signOut(left.cookie);
    expect(await identity.standOf(mandateOf(left.caller))).toBeNull();
    expect(await identity.again(mandateOf(left.caller))).toMatchObject({ userId: "owner" });
    const ended = await signIn();
    const id = ended.caller.signIn?.id ?? "";
    await identity.endSignIn(admin, id);
    expect(await identity.again(mandateOf(ended.caller))).toBeNull();
    await expect(identity.endSignIn(admin, id)).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
    const another = { ...mandateOf(left.caller), userId: await newUser() };
    expect(await identity.again(another)).toBeNull();
  });

  test("sign-ins of others are for administrators", async () => {
    const { identity } = app.doors;
    const { secret } = await newKey(await newUser());
    const user = await identify(secret);
    expect(await identity.listSignIns(user, { userId: "owner", limit: 10 })).toEqual([]);
    await identity.redeemLoginToken((await identity.createLoginToken(admin)).token);
    const [open] = await identity.listSignIns(admin, { userId: "owner", limit: 10 });
    await expect(identity.endSignIn(user, open?.id ?? "")).rejects.toMatchObject({
      fault: { code: "NOT_FOUND" },
    });
  });

  test("a link made within a session proves nobody anew; one whose session is unknown proves nothing", async () => {
    const sessions = createSessions({ store: app.app.store, now: () => clock, newId });
    const within = async (parent: { id: string; keyId: string | null } | null) => {
      const maker = parent === null ? OWNER : { ...OWNER, signIn: parent };
      const { token } = await sessions.createLoginToken(maker);
      return (await sessions.redeemLoginToken(token))?.signIn ?? null;
    };
    const first = await within(null);
    const provenAt = clock;
    clock += 1_000;
    const second = await within(first);
    expect(second?.createdAt).toBe(clock);
    expect(second && (await sessions.provenAt(second))).toBe(provenAt);
    expect(await within({ id: "sgn_none", keyId: null })).toBeNull();
    expect(second && (await sessions.provenAt({ ...second, parentId: "sgn_none" }))).toBe(0);
  });

  test("a link runs out after 15 minutes, a session when idle or too old", async () => {
    const sessions = createSessions({ store: app.app.store, now: () => clock, newId });
    const { token: stale } = await sessions.createLoginToken(OWNER);
    clock += 15 * 60_000;
    expect(await sessions.redeemLoginToken(stale)).toBeNull();
    const open = async () =>
      `ostiary_session=${(await sessions.redeemLoginToken((await sessions.createLoginToken(OWNER)).token))?.cookie}`;
    const idle = await open();
    const busy = await open();
    for (let minutes = 0; minutes < 11 * 60; minutes += 60) {
      clock += 3_600_000;
      expect((await sessions.ofCookie(busy))?.userId).toBe("owner");
    }
    expect(await sessions.ofCookie(idle)).toBeNull();
    clock += 2 * 3_600_000;
    expect(await sessions.ofCookie(busy)).toBeNull();
    expect(await sessions.ofCookie("nothing=1")).toBeNull();
  });
});

describe("when things are missing", () => {
  const broken = new Proxy({}, { get: () => () => Promise.reject(new Error("disk on fire")) });
  const powers = () => ({
    store: {
      keys: broken,
      users: broken,
      tenants: broken,
      capsules: broken,
      shared: false,
    } as never,
    serverSecret: "s",
    sessions: createSessions({ store: app.app.store, now: () => clock, newId }),
    now: () => clock,
    onSignIn: () => Promise.resolve(),
    onSignInEnded: () => Promise.resolve(),
    anonymousUserId: null,
  });

  test("a store that does not answer is 503, never anonymous and never 401", async () => {
    const identity = createIdentity(powers());
    await expect(async () => identity.identify(bearer(app.adminKey))).rejects.toMatchObject({
      fault: { code: "UNAVAILABLE", reason: "engine_unavailable" },
    });
  });

  test("without authentication (loopback only) a request without credential acts as the owner", async () => {
    const store = { ...app.app.store, shared: true };
    const open = createIdentity({ ...powers(), store, anonymousUserId: "owner" });
    expect(await open.identify({ authorization: undefined, cookie: undefined })).toMatchObject({
      userId: "owner",
      via: "anonymous",
    });
    const left = { ...mandateOf(admin), keyId: null, via: "anonymous" } as const;
    expect(await open.again(left)).toMatchObject({ userId: "owner", via: "anonymous" });
    const closed = createIdentity({ ...powers(), store });
    expect(await closed.again(left)).toBeNull();
    const nobody = createIdentity({ ...powers(), store, anonymousUserId: "ghost" });
    await expect(async () =>
      nobody.identify({ authorization: undefined, cookie: undefined }),
    ).rejects.toMatchObject(refused("no_credentials"));
  });

  test("on a shared store another instance's revocation is seen within its lease", async () => {
    const facts = await app.app.store.facts.get("server.secret");
    const store = { ...app.app.store, shared: true };
    const other = createIdentity({ ...powers(), store, serverSecret: facts ?? "" });
    const { key, secret } = await newKey("bob");
    expect(await other.identify(bearer(secret))).toMatchObject({ keyId: key.id });
    await app.doors.directory.revokeKey(admin, key.id);
    expect(await other.identify(bearer(secret))).toMatchObject({ keyId: key.id });
    clock += 900;
    await expect(async () => other.identify(bearer(secret))).rejects.toMatchObject(
      refused("key_inactive"),
    );
    const capsules = createCapsules({
      store,
      now: () => clock,
      tool: () => null,
    });
    expect((await capsules.find("fresh"))?.has("system/echo")).toBe(false);
    await app.doors.directory.updateCapsule(admin, "fresh", { capabilities: ["echo"] });
    clock += 900;
    expect((await capsules.find("fresh"))?.has("system/echo")).toBe(true);
  });
});
