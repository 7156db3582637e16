// The embedded engine over SQLite: the port's suite, and what only it promises.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { generateWorld } from "../../../test/agreement/relations-generator.ts";
import { emptied } from "../../../test/fixtures/spicedb.ts";
import type { JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { createFollower, type Follower } from "../../storage/store/follow.ts";
import { openStore, type Store } from "../../storage/store/store.ts";
import { openEmbeddedRelations, type EmbeddedPowers } from "./embedded/index.ts";
import type { CheckResult, Relations } from "./relation.ts";
import { relationSuite } from "./relation.suite.ts";
import { parseObject, parseRelationship, parseSubject } from "./text.ts";

const NOBODY = "definition nobody {}\n";
const dataDir = mkdtempSync(join(tmpdir(), "ostiary-relations-"));
let store: Store;
beforeAll(async () => {
  store = await openStore("sqlite:ostiary.db", { dataDir });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true });
});

relationSuite("embedded, SQLite", async () => {
  let ahead = 0;
  const relations = await openEmbeddedRelations({
    store,
    now: () => Date.now() + ahead,
    schema: { load: () => Promise.resolve(NOBODY) },
  });
  return {
    relations,
    pass: async (ms) => void (ahead += ms),
    async dispose() {
      await emptied(relations, NOBODY);
      await relations.close();
    },
  };
});

const open = (schema: string, powers: Partial<EmbeddedPowers> = {}): Promise<Relations> =>
  openEmbeddedRelations({
    store,
    now: Date.now,
    schema: { load: () => Promise.resolve(schema) },
    ...powers,
  });
const touch = (relations: Relations, ...texts: string[]) =>
  relations.write(
    texts.map((text) => ({ operation: "touch", relationship: parseRelationship(text) })),
  );
const remove = (relations: Relations, ...texts: string[]) =>
  relations.write(
    texts.map((text) => ({ operation: "delete", relationship: parseRelationship(text) })),
  );
/** The embedded engine answers at once: no promise. */
const ask = (relations: Relations, text: string, context?: JsonObject): CheckResult => {
  const { resource, relation, subject } = parseRelationship(text);
  const answer = relations.check({
    resource,
    permission: relation,
    subject,
    ...(context && { context }),
  });
  if (answer instanceof Promise) throw new Error("the check was not synchronous");
  return answer;
};
const has = (relations: Relations, text: string, context?: JsonObject) =>
  ask(relations, text, context).has;
const faultOf = (work: () => unknown) => {
  try {
    work();
  } catch (cause) {
    if (cause instanceof AppError) return cause.fault;
    throw cause;
  }
  return expect.unreachable("it was accepted");
};

describe("the engine", () => {
  let relations: Relations;
  const start = async (schema: string) => (relations = await open(schema));
  afterEach(async () => {
    await emptied(relations, NOBODY);
    await relations.close();
  });

  test("R036 C42: the shipped schema: owner and executor make execute; the rest follows from tenant and capsule", async () => {
    await start(readFileSync("governance/schema.zed", "utf8"));
    await touch(
      relations,
      "tenant:local#admin@user:root",
      "tenant:local#member@user:ada",
      "tenant:local#shell_executor@role:dev#member",
      "role:dev#member@group:eng#member",
      "group:eng#member@user:ada",
      "tool:system/echo#tenant@tenant:local",
      "tool:system/echo#executor@tenant:local#member",
      "tool:file/read#owner@user:bob",
      "capsule:c1#tenant@tenant:local",
      "capsule:c1#holder@user:eve",
      "tool:file/read#executor@capsule:c1#hold[expiration:2301-01-01T00:00:00Z]",
    );
    const yes = [
      "tool:system/echo#execute@user:ada",
      "tool:system/echo#view@user:ada",
      "tool:file/read#execute@user:bob",
      "tool:file/read#execute@user:eve",
      "tenant:local#shell_execute@user:ada",
      "tenant:local#shell_execute@user:root",
      "tenant:local#tool_create@user:root",
      "tenant:local#package_install@user:root",
      "tool:system/echo#configure@user:root",
      "tool:system/echo#approve@user:root",
      "capsule:c1#configure@user:root",
    ];
    const no = [
      "tool:system/echo#execute@user:bob",
      "tool:file/read#execute@user:ada",
      "tenant:local#package_install@user:ada",
      "tenant:local#shell_execute@user:bob",
      "tenant:local#tool_create@user:ada",
      "tool:file/read#configure@user:root",
      "tool:system/echo#configure@user:ada",
      "tenant:local#approve@user:ada",
    ];
    expect(yes.map((text) => has(relations, text))).toEqual(yes.map(() => "yes"));
    expect(no.map((text) => has(relations, text))).toEqual(no.map(() => "no"));
  });

  test("relationships outlive the process, revisions tell states apart", async () => {
    await start("definition user {}\ndefinition doc {\n  relation viewer: user\n}\n");
    const { revision } = await touch(relations, "doc:d1#viewer@user:ada");
    expect(relations.revision).toBe(revision);
    await relations.close();
    await start("definition user {}\ndefinition doc {\n  relation viewer: user\n}\n");
    expect(has(relations, "doc:d1#viewer@user:ada")).toBe("yes");
    expect(relations.revision).toBe(revision);
    await touch(relations, "doc:d1#viewer@user:bob");
    expect(relations.revision).not.toBe(revision);
  });

  test("what has ended may be created anew, and is swept from memory", async () => {
    let now = Date.UTC(2026, 0, 1);
    relations = await open(
      "use expiration\ndefinition user {}\ndefinition doc {\n  relation viewer: user | user with expiration\n}\n",
      { now: () => now },
    );
    await touch(relations, "doc:d1#viewer@user:ada[expiration:2026-01-01T00:00:01Z]");
    now += 999;
    expect(has(relations, "doc:d1#viewer@user:ada")).toBe("yes");
    now += 1;
    expect(has(relations, "doc:d1#viewer@user:ada")).toBe("no");
    await relations.write([
      { operation: "create", relationship: parseRelationship("doc:d1#viewer@user:ada") },
    ]);
    expect(has(relations, "doc:d1#viewer@user:ada")).toBe("yes");
    // One that has ended does not stand in the way of a schema.
    await touch(relations, "doc:d2#viewer@user:bob[expiration:2026-01-01T00:00:02Z]");
    now += 5_000;
    await relations.writeSchema(
      "definition user {}\ndefinition doc {\n  relation viewer: user\n}\n",
    );
  });

  describe("cycles", () => {
    const SCHEMA = `definition user {}
definition group {
  relation member: user | group#member
  relation manager: user | group#both
  permission both = member & manager
}
definition node {
  relation next: node
  relation direct: user
  permission reach = direct + next->reach
  permission apart = direct - next->apart
  permission kept = direct - next->reach
}
`;

    test("are solved: whoever is in any part is in all of it", async () => {
      await start(SCHEMA);
      const ring = Array.from(
        { length: 30 },
        (_, i) => `group:g${i}#member@group:g${(i + 1) % 30}#member`,
      );
      await touch(relations, ...ring, "group:g17#member@user:ada");
      for (let i = 0; i < 30; i += 1)
        expect(has(relations, `group:g${i}#member@user:ada`)).toBe("yes");
      expect(has(relations, "group:g0#member@user:bob")).toBe("no");
      await remove(relations, "group:g17#member@user:ada");
      expect(has(relations, "group:g0#member@user:ada")).toBe("no");
    });

    test("a dense web of sets takes no exponential time", async () => {
      await start(SCHEMA);
      const all = Array.from({ length: 40 }, (_, i) => i);
      for (const i of all)
        await touch(
          relations,
          ...all.filter((j) => j !== i).map((j) => `group:g${i}#member@group:g${j}#member`),
        );
      await touch(relations, "group:g39#member@user:ada");
      const began = performance.now();
      expect(has(relations, "group:g0#member@user:ada")).toBe("yes");
      expect(has(relations, "group:g0#member@user:bob")).toBe("no");
      expect(performance.now() - began).toBeLessThan(500);
    });

    test("through an intersection the smallest answer counts: nobody lifts themselves in", async () => {
      await start(SCHEMA);
      await touch(relations, "group:g1#member@user:ada", "group:g1#manager@group:g1#both");
      expect(has(relations, "group:g1#both@user:ada")).toBe("no");
      await touch(relations, "group:g1#manager@user:ada");
      expect(has(relations, "group:g1#both@user:ada")).toBe("yes");
    });

    test("below an exclusion they are solved; through one they are a fault", async () => {
      await start(SCHEMA);
      await touch(
        relations,
        "node:n1#next@node:n2",
        "node:n2#next@node:n1",
        "node:n1#direct@user:ada",
      );
      expect(has(relations, "node:n2#reach@user:ada")).toBe("yes");
      expect(has(relations, "node:n1#kept@user:ada")).toBe("no");
      await touch(relations, "node:n2#direct@user:ada");
      expect(faultOf(() => ask(relations, "node:n1#apart@user:ada")).message).toContain(
        "its own absence",
      );
      expect(has(relations, "node:n1#apart@user:bob")).toBe("no");
    });

    test("expand of a cycle ends with a refusal", async () => {
      await start(SCHEMA);
      await touch(relations, "node:n1#next@node:n1");
      expect(faultOf(() => relations.expand(parseObject("node:n1"), "reach")).code).toBe(
        "BAD_REQUEST",
      );
      expect(
        await relations.lookupSubjects({
          resource: parseObject("node:n1"),
          permission: "reach",
          subjectType: "user",
        }),
      ).toEqual([]);
    });
  });

  describe("caveats", () => {
    const answer = async (
      parameters: string,
      body: string,
      context: JsonObject,
      written?: JsonObject,
    ) => {
      await emptied(relations, NOBODY);
      await relations.writeSchema(
        `caveat cond(${parameters}) {\n  ${body}\n}\ndefinition user {}\ndefinition doc {\n  relation viewer: user with cond\n}\n`,
      );
      const caveat = { name: "cond", ...(written && { context: written }) };
      await relations.write([
        {
          operation: "touch",
          relationship: { ...parseRelationship("doc:d1#viewer@user:ada"), caveat },
        },
      ]);
      return ask(relations, "doc:d1#viewer@user:ada", context);
    };
    beforeEach(() => start(NOBODY));

    test.each<[string, string, JsonObject, string]>([
      ["a int", "a == 42", { a: 42 }, "yes"],
      ["a int", "a == 42", { a: "42" }, "yes"],
      ["a int", "a > 9007199254740992", { a: "9007199254740993" }, "yes"],
      ["a uint", "a < 3", { a: 2 }, "yes"],
      ["a double", "a > 1.5", { a: 2 }, "yes"],
      ["a bool", "!a", { a: false }, "yes"],
      ["a bytes", 'a == b"hi"', { a: "aGk=" }, "yes"],
      [
        "a timestamp",
        'a < timestamp("2026-01-01T00:00:00Z")',
        { a: "2025-12-31T23:00:00-02:00" },
        "no",
      ],
      [
        "a timestamp, b timestamp",
        'b - a > duration("1h")',
        { a: "2026-01-01T00:00:00Z", b: "2026-01-01T01:00:00.5Z" },
        "yes",
      ],
      [
        "a timestamp",
        'string(a) == "2026-01-01T00:00:00.5Z" && int(a) == 1767225600',
        { a: "2026-01-01T00:00:00.5Z" },
        "yes",
      ],
      ["a duration", 'a == duration("90m") && string(a) == "5400s"', { a: "1h30m" }, "yes"],
      ["a duration", 'a < duration("0s")', { a: "-1.5s" }, "yes"],
      ["a list<string>", 'a.exists(x, x.startsWith("b"))', { a: ["a", "b"] }, "yes"],
      ["a map<int>", "a.x + a.y == 3", { a: { x: 1, y: 2 } }, "yes"],
      ["a map<list<int>>", "a.x[1] == 2", { a: { x: [1, 2] } }, "yes"],
      ["a any", 'a.b.c == "x" && a.n == 1', { a: { b: { c: "x" }, n: 1 } }, "yes"],
      [
        "a map<any>, b map<any>",
        "a.isSubtreeOf(b)",
        { a: { x: { y: 1 } }, b: { x: { y: 1, z: 2 }, w: 0 } },
        "yes",
      ],
      [
        "a map<any>, b map<any>",
        "a.isSubtreeOf(b)",
        { a: { x: { y: 1 } }, b: { x: { y: 2 } } },
        "no",
      ],
      ["a ipaddress", 'a.in_cidr("10.0.0.0/8")', { a: "::ffff:10.1.2.3" }, "yes"],
      ["a ipaddress", 'a.in_cidr("fd00::/8")', { a: "fd12::1" }, "yes"],
      ["a ipaddress", 'a.in_cidr("0.0.0.0/0")', { a: "fd12::1" }, "no"],
      ["a ipaddress, b ipaddress", "a == b", { a: "10.0.0.1", b: "10.0.0.1" }, "yes"],
      ["a string", 'a.matches("^(a+)+$")', { a: `${"a".repeat(40)}!` }, "no"],
      ["a string", 'matches(a, "b.d")', { a: "abcd" }, "yes"],
      ["a int, b int", "a == 1 || b == 1", { b: 1 }, "yes"],
      ["a int, b int", "a == 1 && b == 1", { b: 2 }, "no"],
      ["a list<int>, b int", "a.all(x, x > b)", { a: [] }, "yes"],
      ["a int, b int", "a == 1 ? b == 1 : true", { a: 2 }, "yes"],
    ])("(%s) { %s }", async (parameters, body, context, expected) => {
      expect((await answer(parameters, body, context)).has).toBe(expected);
    });

    test("names what is missing, in order, and only that", async () => {
      expect(await answer("b int, a int", "a == 1 && b == 1", {})).toEqual({
        has: "conditional",
        missing: ["a", "b"],
      });
      expect(await answer("b int, a int", "a == 1 && b == 1", { a: 1 })).toEqual({
        has: "conditional",
        missing: ["b"],
      });
      expect(await answer("toString string", 'toString == "x"', {})).toEqual({
        has: "conditional",
        missing: ["toString"],
      });
    });

    test.each<[string, string, JsonObject]>([
      ["a int", "10 / a > 1", { a: 0 }],
      ["a map<any>", "a.x == 1", { a: {} }],
      ["a any", "a < 1", { a: "x" }],
      ["a ipaddress, b string", "a.in_cidr(b)", { a: "10.0.0.1", b: "10.0.0.0/33" }],
      ["a string, b string", "a.matches(b)", { a: "x", b: "(" }],
      ["a int", "a == 1", { a: 1.5 }],
      ["a int", "a == 1", { a: null }],
      ["a uint", "a == 1", { a: -1 }],
      ["a timestamp", "a == a", { a: "yesterday" }],
      ["a duration", "a == a", { a: "1 hour" }],
      ["a bytes", "a == a", { a: "%" }],
      ["a ipaddress", "a == a", { a: "10.0.0" }],
      ["a list<int>", "a == a", { a: ["x"] }],
      ["a map<int>", "a == a", { a: [] }],
    ])(
      "(%s) { %s } cannot be answered: no yes, no no, a fault",
      async (parameters, body, context) => {
        await expect(answer(parameters, body, context)).rejects.toMatchObject({
          fault: { code: "BAD_REQUEST" },
        });
      },
    );

    test("a fault does not hide a certain answer", async () => {
      await relations.writeSchema(
        `caveat cond(a int) {\n  10 / a > 1\n}\ndefinition user {}\ndefinition doc {\n  relation viewer: user with cond\n  relation owner: user\n  permission see = viewer + owner\n  permission both = viewer & owner\n  permission rest = owner - viewer\n}\n`,
      );
      await touch(
        relations,
        "doc:d1#viewer@user:ada[cond]",
        "doc:d1#owner@user:ada",
        "doc:d2#viewer@user:ada[cond]",
      );
      expect(has(relations, "doc:d1#see@user:ada", { a: 0 })).toBe("yes");
      expect(has(relations, "doc:d2#both@user:ada", { a: 0 })).toBe("no");
      expect(faultOf(() => ask(relations, "doc:d1#rest@user:ada", { a: 0 })).message).toContain(
        "division by zero",
      );
    });
  });

  test("a schema's fault names line and column", async () => {
    await start(NOBODY);
    const refusal = (text: string) =>
      relations.writeSchema(text).catch((cause: AppError) => cause.message);
    expect(
      await refusal("definition user {}\n\ndefinition doc {\n  relation viewer: nobody\n}\n"),
    ).toBe("schema, line 4:20: there is no definition `nobody`");
    expect(await refusal("definition user {}\n\ncaveat cond(a int) {\n  a ==\n  bb\n}\n")).toMatch(
      /^schema, line 5:3: .*bb/,
    );
    expect(await refusal("definition user {")).toMatch(
      /^schema, line 1:18: expected .* found the end of the text/,
    );
    expect(await refusal('definition user "x')).toMatch(/^schema, line 1:17: this text has no end/);
    expect(await refusal("/* a")).toMatch(/^schema, line 1:1: this comment has no end/);
    expect(await refusal("definition doc {\n  relation viewer: doc with expiration\n}")).toContain(
      "use expiration",
    );
    expect(
      await refusal(
        `definition doc {\n  relation aaa: doc\n  permission ppp = ${"(".repeat(200)}aaa\n}`,
      ),
    ).toContain("parentheses");
  });

  test("lookups name exactly those whom a check lets pass, in random worlds", async () => {
    await start(NOBODY);
    let found = 0;
    for (let seed = 1000; seed < 1060; seed += 1) {
      const world = generateWorld(seed);
      await emptied(relations, NOBODY);
      if (
        !(await relations.writeSchema(world.schema).then(
          () => true,
          () => false,
        ))
      )
        continue;
      await relations.write(
        world.relationships.map((relationship) => ({ operation: "touch", relationship })),
      );
      for (const { resource, permission, subject, context } of world.checks) {
        const given = context ? { context } : {};
        const may = (id: string, who: string) =>
          relations.check({
            resource: { ...resource, id },
            permission,
            subject: { ...subject, id: who },
            ...given,
          }) as CheckResult;
        const resources = await relations.lookupResources({
          type: resource.type,
          permission,
          subject,
          ...given,
        });
        for (const id of ["i1", "i2", "i3"])
          expect(resources.find((one) => one.id === id)?.has ?? "no").toBe(may(id, subject.id).has);
        const { type: subjectType, relation } = subject;
        const subjects = await relations.lookupSubjects({
          resource,
          permission,
          subjectType,
          ...(relation && { subjectRelation: relation }),
          ...given,
        });
        const anybody = subjects.find(({ id }) => id === "*");
        for (const { id, has: how } of subjects)
          if (id !== "*") expect(may(resource.id, id).has).toBe(how);
        for (const who of ["u1", "u2", "u3", "u4", "i1", "i2", "i3", "stranger"]) {
          const listed = subjects.find(({ id }) => id === who)?.has;
          const { has: how } = may(resource.id, who);
          if (listed !== undefined) expect(how).toBe(listed);
          else if (anybody === undefined || anybody.except?.includes(who))
            expect(how === "yes" && relation === undefined).toBe(false);
          else expect(how).toBe(anybody.has);
        }
        found += resources.length + subjects.length;
      }
    }
    expect(found).toBeGreaterThan(300);
  });
});

describe("when the store fails", () => {
  const SCHEMA = "definition user {}\ndefinition doc {\n  relation viewer: user\n}\n";

  test("an unclear write makes every answer a fault until memory and store agree again", async () => {
    let broken = false;
    const flaky: EmbeddedPowers["store"] = {
      shared: false,
      tuples: {
        ...store.tuples,
        async all() {
          if (broken) throw new Error("disk");
          return store.tuples.all();
        },
        async write(...work) {
          const revision = await store.tuples.write(...work);
          if (broken) throw new Error("the answer was lost");
          return revision;
        },
      },
    };
    const relations = await open(SCHEMA, { store: flaky });
    await touch(relations, "doc:d1#viewer@user:ada");
    broken = true;
    await expect(remove(relations, "doc:d1#viewer@user:ada")).rejects.toThrow(
      "the answer was lost",
    );
    expect(faultOf(() => ask(relations, "doc:d1#viewer@user:ada"))).toMatchObject({
      code: "UNAVAILABLE",
      reason: "engine_unavailable",
    });
    await expect(relations.ping()).rejects.toThrow();
    broken = false;
    // Asking is enough: each question that finds it out of service sets it to work again.
    await expect
      .poll(() => Promise.try(() => has(relations, "doc:d1#viewer@user:ada")).catch(() => "out"))
      .toBe("no");
    await relations.ping();
    await emptied(relations, NOBODY);
    await relations.close();
  });

  test("a refused write changes nothing and leaves the engine in service", async () => {
    const relations = await open(SCHEMA);
    await touch(relations, "doc:d1#viewer@user:ada");
    const before = relations.revision;
    await expect(
      relations.write([
        { operation: "create", relationship: parseRelationship("doc:d1#viewer@user:ada") },
      ]),
    ).rejects.toMatchObject({ fault: { reason: "already_exists" } });
    expect(has(relations, "doc:d1#viewer@user:ada")).toBe("yes");
    expect(relations.revision).toBe(before);
    await emptied(relations, NOBODY);
    await relations.close();
  });
});

describe("several instances on one store", () => {
  const SCHEMA = "definition user {}\ndefinition doc {\n  relation viewer: user\n}\n";
  const LEASE_MS = 300;
  let schema = SCHEMA;
  const followers: Follower[] = [];
  const instance = async () => {
    const shared = { shared: true, tuples: store.tuples, revisions: store.revisions };
    const follower = createFollower({
      store: shared,
      now: Date.now,
      pollMs: 50,
      leaseMs: LEASE_MS,
    });
    followers.push(follower);
    await follower.ready;
    return openEmbeddedRelations({
      store: shared,
      follower,
      now: Date.now,
      schema: { load: () => Promise.resolve(schema), save: async (text) => void (schema = text) },
    });
  };
  afterEach(() => {
    for (const follower of followers.splice(0)) follower.close();
  });

  test("once a write is answered no instance answers from before it", async () => {
    const [one, two] = [await instance(), await instance()];
    let told = 0;
    two.onChange(() => (told += 1));
    for (let i = 0; i < 4; i += 1) {
      await touch(one, "doc:d1#viewer@user:ada");
      expect(has(two, "doc:d1#viewer@user:ada")).toBe("yes");
      await remove(two, "doc:d1#viewer@user:ada");
      expect(has(one, "doc:d1#viewer@user:ada")).toBe("no");
    }
    expect(told).toBeGreaterThanOrEqual(8);
    // Both at once, many times: nobody waits for the other for ever, nothing is lost.
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => touch(i % 2 ? one : two, `doc:d2#viewer@user:u${i}`)),
    );
    for (let i = 0; i < 10; i += 1)
      for (const each of [one, two]) expect(has(each, `doc:d2#viewer@user:u${i}`)).toBe("yes");
    expect(one.revision).toBe(two.revision);
    await emptied(one, SCHEMA);
    await Promise.all([one.close(), two.close()]);
  });

  test("a schema written by one is in force at the other", async () => {
    const [one, two] = [await instance(), await instance()];
    await one.writeSchema(`${SCHEMA}definition more {\n  relation viewer: user\n}\n`);
    expect(has(two, "more:m1#viewer@user:ada")).toBe("no");
    await touch(two, "more:m1#viewer@user:ada");
    expect(has(one, "more:m1#viewer@user:ada")).toBe("yes");
    await remove(one, "more:m1#viewer@user:ada");
    await one.writeSchema(SCHEMA);
    expect(faultOf(() => ask(two, "more:m1#viewer@user:ada")).code).toBe("BAD_REQUEST");
    await Promise.all([one.close(), two.close()]);
  });

  test("an instance that may have missed something does not answer", async () => {
    const one = await instance();
    expect(has(one, "doc:d1#viewer@user:ada")).toBe("no");
    for (const follower of followers) follower.close();
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 100));
    expect(faultOf(() => ask(one, "doc:d1#viewer@user:ada"))).toMatchObject({
      code: "UNAVAILABLE",
    });
    await expect(
      one.lookupResources({ type: "doc", permission: "viewer", subject: parseSubject("user:ada") }),
    ).rejects.toMatchObject({ fault: { code: "UNAVAILABLE" } });
    await one.close();
  });
});
