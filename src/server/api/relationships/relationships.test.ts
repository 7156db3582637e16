// What an administrator may write and see: the tenant's own. Over REST and tRPC it is proved in test/e2e.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { z } from "zod";
import type { Caller } from "../../../contract/call.ts";
import { AppError, type Fault } from "../../../contract/errors.ts";
import { createDirectory } from "../../../core/identity/directory.ts";
import { openEmbeddedRelations } from "../../../governance/relations/embedded/index.ts";
import type { Relations } from "../../../governance/relations/relation.ts";
import { openStore, type Store } from "../../../storage/store/store.ts";
import { createIds } from "../../../util/ids.ts";
import type { Doors } from "../../doors.ts";
import { type Endpoint, parseInput } from "../endpoint.ts";
import {
  checkRelationship,
  expandRelationship,
  getRelationSchema,
  listRelationships,
  lookupResources,
  lookupSubjects,
  writeRelationships,
} from "./relationships.ts";

const SCHEMA = `use expiration

definition user {}

definition group {
  relation member: user | group#member
}

caveat office(ip ipaddress, net string) {
  ip.in_cidr(net)
}

definition tenant {
  relation admin: user
}

definition capsule {
  relation holder: user
}

definition tool {
  relation owner: user
  relation executor: user | user:* | group#member | capsule#holder | user with office | user with expiration
  permission execute = owner + executor
}
`;

interface Audited {
  action: string;
  who: string;
  body: unknown;
}

describe("relationships", () => {
  let store: Store;
  let relations: Relations;
  let doors: Doors;
  let folder: string;
  let several: boolean;
  let audited: Audited[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-relations-"));
    store = await openStore("sqlite:test.db", { dataDir: folder });
    relations = await openEmbeddedRelations({
      store,
      now: Date.now,
      schema: { load: () => Promise.resolve(SCHEMA) },
    });
    several = false;
    audited = [];
    const directory = createDirectory({
      store,
      ids: createIds(),
      now: Date.now,
      serverSecret: "",
      note: async () => {},
      changed() {},
    } as never);
    doors = {
      relations,
      directory,
      soleTenant: () => Promise.resolve(several ? null : "local"),
      audit: (action: string, who: Caller, body: unknown) => {
        audited.push({ action, who: who.userId, body });
        return Promise.resolve();
      },
    } as never;
    for (const [tenantId, id] of [
      ["local", "ada"],
      ["local", "bob"],
      ["acme", "zoe"],
    ] as const) {
      await store.tenants.ensure({ id: tenantId, name: tenantId, plan: null, createdAt: 0 });
      await store.users.create({
        id,
        tenantId,
        name: id,
        role: "user",
        roles: [],
        plan: null,
        preferences: {},
        createdAt: 0,
      });
    }
  });
  afterEach(async () => {
    await relations.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const by = (tenantId: string) =>
    ({ tenantId, userId: `admin-of-${tenantId}`, role: "admin" }) as Caller;
  const ask = async <I extends z.ZodObject, O extends z.ZodType>(
    e: Endpoint<I, O>,
    input: unknown,
    caller = by("local"),
  ): Promise<z.input<O>> =>
    e.run(parseInput(e, input), { caller, doors, reply: { headers: {} } } as never);
  const refused = async (work: Promise<unknown>): Promise<Fault> => {
    const cause = await work.then(
      () => expect.unreachable("it was accepted"),
      (error: unknown) => error,
    );
    if (!(cause instanceof AppError)) throw cause;
    return cause.fault;
  };
  const write = (...relationships: unknown[]) =>
    ask(writeRelationships, { changes: relationships.map((relationship) => ({ relationship })) });
  const texts = async (input: object = {}, caller = by("local")) =>
    (await ask(listRelationships, input, caller)).items.map(({ text }) => text);

  test("B07: a grant by text or in parts is effective, audited and listed; a delete takes it back", async () => {
    const answer = await write("tool:system/echo#executor@user:ada", {
      resource: { type: "tool", id: "file/read" },
      relation: "executor",
      subject: { type: "group", id: "eng", relation: "member" },
    });
    expect(answer).toMatchObject({ changed: 2 });
    expect(audited).toEqual([
      {
        action: "relations.changed",
        who: "admin-of-local",
        body: {
          revision: answer.revision,
          changes: [
            "touch tool:system/echo#executor@user:ada",
            "touch tool:file/read#executor@group:eng#member",
          ],
        },
      },
    ]);
    const question = { resource: "tool:system/echo", permission: "execute", subject: "user:ada" };
    expect(await ask(checkRelationship, question)).toEqual({ has: "yes", missing: [] });
    expect(await texts()).toEqual(
      expect.arrayContaining([
        "tool:system/echo#executor@user:ada",
        "tool:file/read#executor@group:eng#member",
      ]),
    );
    expect(await texts({ resource: "tool:file/read" })).toHaveLength(1);
    expect(await texts({ subject: "group#member" })).toEqual([
      "tool:file/read#executor@group:eng#member",
    ]);
    expect(await texts({ relation: "owner" })).toEqual([]);

    await ask(writeRelationships, {
      changes: [{ operation: "delete", relationship: "tool:system/echo#executor@user:ada" }],
    });
    expect(await ask(checkRelationship, question)).toEqual({ has: "no", missing: [] });
    expect(audited).toHaveLength(2);
  });

  test("caveats and ends travel both ways", async () => {
    const expiresAt = "2099-01-31T08:00:00.000Z";
    await write(
      {
        resource: "tool:a",
        relation: "executor",
        subject: "user:ada",
        caveat: { name: "office", context: { net: "10.0.0.0/8" } },
      },
      { resource: "tool:b", relation: "executor", subject: "user:ada", expiresAt },
    );
    const { items } = await ask(listRelationships, { resource: "tool", limit: 10 });
    expect(items).toEqual([
      {
        text: 'tool:a#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
        resource: { type: "tool", id: "a" },
        relation: "executor",
        subject: { type: "user", id: "ada" },
        caveat: { name: "office", context: { net: "10.0.0.0/8" } },
        expiresAt: null,
      },
      expect.objectContaining({
        text: `tool:b#executor@user:ada[expiration:${expiresAt}]`,
        caveat: null,
        expiresAt,
      }),
    ]);
    const question = { resource: "tool:a", permission: "execute", subject: "user:ada" };
    expect(await ask(checkRelationship, question)).toEqual({ has: "conditional", missing: ["ip"] });
    expect(await ask(checkRelationship, { ...question, context: { ip: "10.1.1.1" } })).toEqual({
      has: "yes",
      missing: [],
    });
  });

  test("lookups, the tree and the schema", async () => {
    await write("tool:a#executor@user:*", "tool:b#owner@user:ada");
    const { items } = await ask(lookupResources, {
      type: "tool",
      permission: "execute",
      subject: "user:ada",
    });
    expect(items.map(({ id }) => id).sort()).toEqual(["a", "b"]);
    expect(
      await ask(lookupSubjects, { resource: "tool:a", permission: "execute", subjectType: "user" }),
    ).toEqual({ items: [{ id: "*", has: "yes", missing: [], except: [] }] });
    const tree = await ask(expandRelationship, { resource: "tool:b", permission: "execute" });
    expect(tree).toMatchObject({ name: "execute", operation: "union" });
    expect(JSON.stringify(tree.children)).toContain('"id":"ada"');
    expect(await ask(getRelationSchema, {})).toEqual({ engine: "embedded", schema: SCHEMA });
  });

  test("preconditions guard a change", async () => {
    await write("tool:a#owner@user:ada");
    const changes = [{ relationship: "tool:a#owner@user:bob" }];
    const free = { operation: "must_not_match", filter: { resource: "tool:a", relation: "owner" } };
    expect(
      await refused(ask(writeRelationships, { changes, preconditions: [free] })),
    ).toMatchObject({ code: "CONFLICT", reason: "stale" });
    expect(
      await refused(ask(writeRelationships, { changes, preconditions: [{ ...free, filter: {} }] })),
    ).toMatchObject({ code: "BAD_REQUEST" });
    expect(audited).toHaveLength(1);
  });

  test.each([
    [{ changes: [] }, "/changes"],
    [{ changes: [{ relationship: "tool:a#executor" }] }, "/changes/0/relationship"],
    [
      { changes: [{ relationship: { resource: "tool", relation: "x", subject: "user:ada" } }] },
      "/changes/0/relationship",
    ],
    [
      { changes: [{ operation: "put", relationship: "tool:a#owner@user:ada" }] },
      "/changes/0/operation",
    ],
    [{ changes: [{ relationship: "tool:a#owner@user:ada" }], precondition: [] }, "/precondition"],
  ])("%j is refused at its field", async (input, path) => {
    const { errors, code } = await refused(ask(writeRelationships, input));
    expect(code).toBe("BAD_REQUEST");
    expect(errors?.[0]?.path.startsWith(path)).toBe(true);
  });

  test("a text that is no relationship says how to write it", async () => {
    const { errors } = await refused(write("tool:a#executor"));
    expect(errors).toEqual([
      {
        path: "/changes/0/relationship",
        message:
          'expected a relationship, got "tool:a#executor"; write it like tool:system/echo#executor@user:ada',
      },
    ]);
    const list = await refused(ask(listRelationships, { resource: "a b" }));
    expect(list.errors?.[0]).toMatchObject({ path: "/resource" });
  });

  test("what the schema does not know is refused, and nothing is audited", async () => {
    for (const text of [
      "tool:a#nope@user:ada",
      "nope:a#owner@user:ada",
      "tool:a#owner@group:g#member",
    ])
      expect(await refused(write(text))).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_input",
      });
    expect(audited).toEqual([]);
  });

  test("only users and the tenant of the administrator can be named", async () => {
    const unknown = await refused(write("tool:a#owner@user:ada", "tool:a#owner@user:nobody"));
    expect(unknown.errors).toMatchObject([
      { path: "/changes/1/relationship/subject", message: "there is no user 'nobody'" },
    ]);
    expect(await texts()).toEqual([]);
    expect(await refused(write("tool:a#owner@user:zoe"))).toMatchObject({ code: "BAD_REQUEST" });
    const tenant = await refused(write("tenant:acme#admin@user:ada"));
    expect(tenant.errors).toMatchObject([
      { path: "/changes/0/relationship/resource", message: "tenant 'acme' is not yours" },
    ]);
    await write("tenant:local#admin@user:ada");
    const capsule = await refused(write("tool:a#executor@capsule:none#holder"));
    expect(capsule.errors?.[0]?.message).toBe("there is no capsule 'none'");
    expect(
      await refused(
        ask(writeRelationships, {
          changes: [{ operation: "delete", relationship: "tenant:acme#admin@user:ada" }],
        }),
      ),
    ).toMatchObject({ code: "BAD_REQUEST" });
  });

  test("what names nobody can still be removed in a house with one tenant", async () => {
    await relations.write([
      {
        operation: "touch",
        relationship: {
          resource: { type: "tool", id: "a" },
          relation: "owner",
          subject: { type: "user", id: "gone" },
        },
      },
    ]);
    const changes = [{ operation: "delete", relationship: "tool:a#owner@user:gone" }];
    several = true;
    expect(await refused(ask(writeRelationships, { changes }))).toMatchObject({
      code: "BAD_REQUEST",
    });
    several = false;
    expect(await ask(writeRelationships, { changes })).toMatchObject({ changed: 1 });
  });

  test("everybody is granted something only where there is one tenant", async () => {
    await write("tool:a#executor@user:*");
    several = true;
    const { errors } = await refused(write("tool:b#executor@user:*"));
    expect(errors?.[0]?.message).toContain("user:* would reach the users of other tenants");
    await write("tool:b#executor@group:eng#member");
  });

  test("with several tenants nobody sees another's users", async () => {
    await write("tool:a#executor@user:ada", "group:g#member@user:ada");
    several = true;
    const acme = by("acme");
    await ask(
      writeRelationships,
      { changes: [{ relationship: "tool:a#executor@user:zoe" }] },
      acme,
    );
    expect(await texts({ resource: "tool" })).toEqual(["tool:a#executor@user:ada"]);
    expect(await texts({ resource: "tool" }, acme)).toEqual(["tool:a#executor@user:zoe"]);
    const question = { resource: "tool:a", permission: "execute", subject: "user:zoe" };
    expect((await ask(checkRelationship, question)).has).toBe("no");
    expect((await ask(checkRelationship, question, acme)).has).toBe("yes");
    const who = { resource: "tool:a", permission: "execute", subjectType: "user" };
    expect((await ask(lookupSubjects, who)).items.map(({ id }) => id)).toEqual(["ada"]);
    expect(
      (await ask(lookupResources, { type: "tool", permission: "execute", subject: "user:zoe" }))
        .items,
    ).toEqual([]);
    const tree = JSON.stringify(
      await ask(expandRelationship, { resource: "tool:a", permission: "execute" }),
    );
    expect(tree).toContain("ada");
    expect(tree).not.toContain("zoe");
    const filter = { subject: "user:zoe" };
    const changes = [{ relationship: "tool:b#owner@user:ada" }];
    const probe = { changes, preconditions: [{ operation: "must_match", filter }] };
    expect((await refused(ask(writeRelationships, probe))).errors?.[0]?.path).toBe(
      "/preconditions/0/filter/subject",
    );
  });
});
