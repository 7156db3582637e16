// Users, keys and capsules over REST and tRPC (requirements §2.12).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

describe("users, keys and capsules", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp();
    ann = await newUser(app, "ann");
  });
  afterAll(() => app.close());

  const post = (path: string, body: object, key = app.adminKey) =>
    app.api("POST", path, { body, key });

  test("creates, reads, changes and lists users", async () => {
    const made = await post("/users", { id: "carl", name: "Carl" });
    expect(made.status).toBe(201);
    conforms("users.createUser", made.body);
    expect(made.headers.get("location")).toBe("/api/v1/users/carl");
    expect(made.body).toMatchObject({ id: "carl", role: "user", roles: ["tool_user"], plan: null });
    const unnamed = await post("/users", { name: "Dora", role: "admin", roles: [], plan: "team" });
    expect(unnamed.body).toMatchObject({ role: "admin", roles: [], plan: "team" });
    expect(unnamed.body.id).toMatch(/^usr_/);
    expect((await app.api("GET", "/users/carl")).body).toEqual(made.body);

    const changed = await app.api("PATCH", "/users/carl", { body: { plan: "free", name: "Karl" } });
    expect(changed.status).toBe(200);
    conforms("users.updateUser", changed.body);
    expect(changed.body).toMatchObject({ name: "Karl", plan: "free", role: "user" });
    const cleared = await app.api("PATCH", "/users/carl", { body: { plan: null } });
    expect(cleared.body).toMatchObject({ name: "Karl", plan: null });

    const trpc = trpcClient(app).users;
    await trpc.createUser.mutate({ id: "eve", name: "Eve" });
    expect((await trpc.getUser.query({ id: "eve" })).name).toBe("Eve");
    expect((await trpc.updateUser.mutate({ id: "eve", role: "admin" })).role).toBe("admin");
    const all = await trpc.listUsers.query();
    expect(all.items.map((user) => user.id)).toEqual(
      expect.arrayContaining(["ann", "carl", "eve", "owner"]),
    );
  });

  test("lists in pages; a cursor that is not ours is refused", async () => {
    const seen: string[] = [];
    let after = "";
    for (let pages = 0; pages < 20; pages++) {
      const { body } = await app.api("GET", `/users?limit=2${after}`);
      conforms("users.listUsers", body);
      expect(body.items.length).toBeLessThanOrEqual(2);
      seen.push(...body.items.map((user: { id: string }) => user.id));
      if (body.next === null) break;
      after = `&after=${body.next}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    const { body } = await app.api("GET", "/users?limit=100");
    expect(seen).toHaveLength(body.items.length as number);
    const bad = await app.api("GET", "/users?after=nonsense");
    expect(bad.status).toBe(400);
    expect(bad.body.errors[0].path).toBe("/after");
  });

  test("R055: a key's secret is shown once; listed keys have a prefix and no hash", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await post("/keys", {
      userId: "ann",
      name: "laptop",
      scopes: ["agent:execute:safe"],
      level: "execute_basic",
      capsuleId: "starter",
      expiresAt,
    });
    expect(made.status).toBe(201);
    conforms("keys.createKey", made.body);
    const { secret, ...rest } = made.body as { secret: string; id: string; prefix: string };
    expect(secret.startsWith(rest.prefix)).toBe(true);
    expect(rest).toMatchObject({
      name: "laptop",
      level: "execute_basic",
      capsuleId: "starter",
      expiresAt,
      revokedAt: null,
    });
    const read = await app.api("GET", `/keys/${rest.id}`);
    conforms("keys.getKey", read.body);
    const list = await app.api("GET", "/keys?userId=ann");
    conforms("keys.listKeys", list.body);
    for (const text of [JSON.stringify(read.body), JSON.stringify(list.body)]) {
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/"(hash|salt|secret)"/);
    }
    expect((await app.api("GET", "/whoami", { key: secret })).body).toMatchObject({
      level: "execute_basic",
      scopes: ["agent:execute:safe"],
      capsuleId: "starter",
    });
    const trpc = await trpcClient(app).keys.createKey.mutate({
      userId: "ann",
      name: "t",
      scopes: [],
    });
    expect(trpc.secret).toMatch(/^ost_/);
    expect(Date.parse(trpc.expiresAt ?? "") - Date.now()).toBeGreaterThan(80 * 86_400_000);
  });

  test("a revoked key is refused before the answer; revoking again says the same", async () => {
    const { body } = await post("/keys", { userId: "ann", name: "gone", scopes: ["*"] });
    expect((await app.api("GET", "/whoami", { key: body.secret as string })).status).toBe(200);
    const revoked = await app.api("DELETE", `/keys/${body.id}`);
    expect(revoked.status).toBe(200);
    conforms("keys.revokeKey", revoked.body);
    expect(revoked.body.revokedAt).toMatch(/Z$/);
    expect((await app.api("GET", "/whoami", { key: body.secret as string })).status).toBe(401);
    const again = await trpcClient(app).keys.revokeKey.mutate({ id: body.id as string });
    expect(again.revokedAt).toBe(revoked.body.revokedAt);
  });

  test("rotation gives a new secret with the same rights; the old one lives on for the overlap", async () => {
    const { body: old } = await post("/keys", {
      userId: "ann",
      name: "r",
      scopes: ["agent:execute:safe"],
    });
    const rotated = await post(`/keys/${old.id}/rotate`, { overlapSeconds: 60 });
    expect(rotated.status).toBe(201);
    conforms("keys.rotateKey", rotated.body);
    expect(rotated.body).toMatchObject({
      name: "r",
      scopes: ["agent:execute:safe"],
      userId: "ann",
    });
    for (const key of [old.secret, rotated.body.secret] as string[]) {
      expect((await app.api("GET", "/whoami", { key })).status).toBe(200);
    }
    const { body: after } = await app.api("GET", `/keys/${old.id}`);
    expect(Date.parse(after.expiresAt as string) - Date.now()).toBeLessThanOrEqual(60_000);
    const now = await post(`/keys/${rotated.body.id}/rotate`, { overlapSeconds: 0 });
    expect(now.status).toBe(201);
    expect((await app.api("GET", "/whoami", { key: rotated.body.secret as string })).status).toBe(
      401,
    );
  });

  test("C50: a capsule decides what its holder sees, from the moment it is changed", async () => {
    const made = await post("/capsules", {
      id: "two",
      name: "Two",
      capabilities: ["system_echo", "system/time"],
    });
    expect(made.status).toBe(201);
    conforms("capsules.createCapsule", made.body);
    expect(made.body).toMatchObject({
      id: "two",
      version: 1,
      status: "active",
      default: false,
      capabilities: ["system/echo", "system/time"],
    });
    const { body: key } = await post("/keys", {
      userId: "ann",
      name: "c",
      scopes: ["*"],
      capsuleId: "two",
    });
    const names = async (): Promise<string[]> => {
      const { body } = await app.api("GET", "/tools", { key: key.secret as string });
      return (body as { tools: { name: string }[] }).tools.map((tool) => tool.name);
    };
    expect(await names()).toEqual(["system/echo", "system/time"]);
    const changed = await app.api("PATCH", "/capsules/two", {
      body: { capabilities: ["system/echo"] },
    });
    conforms("capsules.updateCapsule", changed.body);
    expect(changed.body.version).toBe(2);
    expect(await names()).toEqual(["system/echo"]);
    const trpc = trpcClient(app).capsules;
    expect(await trpc.getCapsule.query({ id: "two" })).toEqual(changed.body);
    expect((await trpc.listCapsules.query({ limit: 100 })).items.map((c) => c.id)).toEqual(
      expect.arrayContaining(["all", "starter", "two"]),
    );
    const fresh = await trpc.createCapsule.mutate({ name: "fresh", capabilities: [] });
    expect(fresh.id).toMatch(/^cap_/);
    expect((await trpc.updateCapsule.mutate({ id: fresh.id, status: "archived" })).status).toBe(
      "archived",
    );
  });

  test("§2.12: a taken id is 409, an unknown field 400, a missing thing 404", async () => {
    for (const [path, body] of [
      ["/users", { id: "ann", name: "again" }],
      ["/capsules", { id: "starter", name: "again", capabilities: [] }],
    ] as const) {
      const taken = await post(path, body);
      expect(taken.status).toBe(409);
      expect(taken.body).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
    }
    const extra = await post("/users", { name: "x", admin: true });
    expect(extra.status).toBe(400);
    expect(extra.body.errors[0]).toMatchObject({ path: "/admin", message: "unknown field" });
    const badId = await post("/users", { id: "no spaces", name: "x" });
    expect(badId.body.errors[0].path).toBe("/id");
    for (const path of ["/users/nobody", "/keys/key_none", "/capsules/none"]) {
      expect((await app.api("GET", path)).status).toBe(404);
    }
    for (const [body, field] of [
      [{ userId: "nobody", name: "k", scopes: [] }, "/userId"],
      [{ userId: "ann", name: "k", scopes: [], capsuleId: "none" }, "/capsuleId"],
      [{ userId: "ann", name: "k", scopes: [], expiresAt: "2020-01-01T00:00:00Z" }, "/expiresAt"],
      [{ userId: "ann", name: "k", scopes: [], level: "root" }, "/level"],
    ] as const) {
      const answer = await post("/keys", body);
      expect(answer.status).toBe(400);
      expect(answer.body.errors[0].path).toBe(field);
    }
    const tool = await post("/capsules", { name: "x", capabilities: ["no/such"] });
    expect(tool.status).toBe(400);
    expect(tool.body.errors[0].path).toBe("/capabilities/0");
  });

  test("§2.12: only administrators, over REST and tRPC", async () => {
    const answer = await post("/users", { name: "x" }, ann);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: "FORBIDDEN", reason: "admin_only" });
    const failure = await trpcFailure(trpcClient(app, ann).users.listUsers.query());
    expect(failure).toMatchObject({
      code: "FORBIDDEN",
      httpStatus: 403,
      error: { code: "FORBIDDEN", reason: "admin_only" },
    });
  });
});

describe("the switch of a tool", () => {
  test("R033: what is switched off does not exist, for administrators too, until it is switched on", async () => {
    const own = await startApp();
    try {
      const echo = () =>
        own.api("POST", "/executions", { body: { name: "echo", arguments: { text: "x" } } });
      const flip = (enabled: boolean, key = own.adminKey) =>
        own.api("PATCH", "/tools/system/echo", { key, body: { enabled } });
      expect((await flip(false, own.cliKey)).status).toBe(403);
      expect((await echo()).status).toBe(200);
      expect((await flip(false)).body).toMatchObject({ name: "system/echo", enabled: false });
      expect((await echo()).body).toMatchObject({
        status: 404,
        code: "NOT_FOUND",
        detail: "Tool 'echo' not found",
      });
      expect((await own.api("GET", "/tools/system/echo")).status).toBe(404);
      expect((await flip(true)).status).toBe(200);
      expect((await echo()).status).toBe(200);
      expect(
        (await own.api("PATCH", "/tools/system/none", { body: { enabled: true } })).status,
      ).toBe(404);
    } finally {
      await own.close();
    }
  });
});
