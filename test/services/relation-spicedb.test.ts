// The SpiceDB engine against a real server: what the port promises, tokens, outages, and refusals in our words.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../src/contract/errors.ts";
import type { EmbeddedPowers } from "../../src/governance/relations/embedded/index.ts";
import type {
  CheckRequest,
  RelationChange,
  Relations,
} from "../../src/governance/relations/relation.ts";
import { openSpicedbRelations } from "../../src/governance/relations/spicedb.ts";
import {
  parseRelationship,
  parseSubject,
  relationshipText,
} from "../../src/governance/relations/text.ts";
import { until } from "../fixtures/contract.ts";
import { emptied, silentLine, spicedbServer, type SpicedbServer } from "../fixtures/spicedb.ts";

type Follower = NonNullable<EmbeddedPowers["follower"]>;

const address = process.env["OSTIARY_TEST_SPICEDB"];
const bin = process.env["OSTIARY_TEST_SPICEDB_BIN"];

const SCHEMA = `use expiration

definition user {}

caveat office(ip ipaddress, net string) {
  ip.in_cidr(net)
}

definition group {
  relation member: user | group#member
}

definition tool {
  relation owner: user
  relation executor: user | user:* | group#member | user with office | user with expiration
  relation banned: user
  permission execute = (owner + executor) - banned
  permission both = owner & executor
}
`;

const check = (text: string, context?: CheckRequest["context"]): CheckRequest => {
  const { resource, relation, subject } = parseRelationship(text);
  return { resource, permission: relation, subject, ...(context && { context }) };
};
const change = (operation: RelationChange["operation"], ...texts: string[]): RelationChange[] =>
  texts.map((text) => ({ operation, relationship: parseRelationship(text) }));
const touch = (...texts: string[]) => change("touch", ...texts);
const refused = async (work: unknown) => {
  const cause = await Promise.resolve(work).then(
    () => expect.unreachable("it was accepted"),
    (error: unknown) => error,
  );
  if (!(cause instanceof AppError)) throw cause;
  return cause.fault;
};

if (address && bin) {
  describe("relations by SpiceDB", () => {
    let relations: Relations;
    beforeAll(() => {
      relations = openSpicedbRelations(address, {});
    });
    beforeEach(() => emptied(relations, SCHEMA));
    afterAll(() => relations.close());

    test("answers yes, no and conditional, many at once in order", async () => {
      await relations.write(
        touch(
          "group:all#member@group:eng#member",
          "group:eng#member@user:ada",
          "tool:system/echo#executor@group:all#member",
          "tool:file/read#owner@user:bob",
          'tool:net#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
        ),
      );
      const answers = await relations.checkMany([
        check("tool:system/echo#execute@user:ada"),
        check("tool:system/echo#execute@user:bob"),
        check("tool:file/read#execute@user:bob"),
        check("tool:net#execute@user:ada"),
        check("tool:net#execute@user:ada", { ip: "10.9.8.7" }),
        check("tool:net#execute@user:ada", { ip: "192.168.1.1" }),
        check("tool:system/echo#execute@user:ada"),
        check("tool:system/echo#execute@group:eng#member"),
      ]);
      expect(answers.map(({ has }) => has)).toEqual([
        "yes",
        "no",
        "yes",
        "conditional",
        "yes",
        "no",
        "yes",
        "yes",
      ]);
      expect(answers[3]).toEqual({ has: "conditional", missing: ["ip"] });
      expect(await relations.checkMany([])).toEqual([]);
      expect(relations.engine).toBe("spicedb");
      expect(relations.revision).toBeNull();
    });

    test("more than a batch keeps the order", async () => {
      await relations.write(touch("tool:t7#owner@user:ada", "tool:t2049#owner@user:ada"));
      const many = Array.from({ length: 2_100 }, (_, i) => check(`tool:t${i}#execute@user:ada`));
      const yes = (await relations.checkMany(many)).flatMap(({ has }, i) =>
        has === "yes" ? [i] : [],
      );
      expect(yes).toEqual([7, 2049]);
    });

    test("an own change is seen by the very next check, a hundred times", async () => {
      const grant = "tool:t#executor@user:ada";
      const has = async () => (await relations.check(check("tool:t#execute@user:ada"))).has;
      for (let i = 0; i < 100; i++) {
        await relations.write(touch(grant));
        expect(await has()).toBe("yes");
        await relations.write(change("delete", grant));
        expect(await has()).toBe("no");
      }
    });

    test("names that the server cannot hold are a no; other names in the same batch are answered", async () => {
      await relations.write(touch("tool:a#executor@user:*"));
      const resource = { type: "tool", id: "a" };
      const subject = { type: "user", id: "ada" };
      const permission = "execute";
      const odd = ["a.b", "", "a b", "ä", "x".repeat(1025), "a\n", "a#b"];
      const answers = await relations.checkMany([
        { resource, permission, subject },
        ...odd.map((id) => ({ resource: { type: "tool", id }, permission, subject })),
        ...odd.map((id) => ({ resource, permission, subject: { type: "user", id } })),
      ]);
      expect(answers.map(({ has }) => has)).toEqual([
        "yes",
        ...odd.map(() => "no"),
        ...odd.map(() => "no"),
      ]);
    });

    test("lookups name resources and subjects, the wildcard with those left out", async () => {
      await relations.write(
        touch(
          "tool:a#executor@user:*",
          "tool:a#banned@user:eve",
          "tool:b#owner@user:ada",
          'tool:c#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
        ),
      );
      const tools = await relations.lookupResources({
        type: "tool",
        permission: "execute",
        subject: parseSubject("user:ada"),
      });
      expect(tools.toSorted((x, y) => (x.id < y.id ? -1 : 1))).toEqual([
        { id: "a", has: "yes" },
        { id: "b", has: "yes" },
        { id: "c", has: "conditional", missing: ["ip"] },
      ]);
      const users = await relations.lookupSubjects({
        resource: { type: "tool", id: "a" },
        permission: "execute",
        subjectType: "user",
      });
      expect(users).toEqual([{ id: "*", has: "yes", except: ["eve"] }]);
      expect(
        await relations.lookupSubjects({
          resource: { type: "tool", id: "zzz" },
          permission: "execute",
          subjectType: "user",
        }),
      ).toEqual([]);
    });

    test("expand shows the expression and who is written down", async () => {
      await relations.write(touch("tool:a#executor@group:eng#member", "tool:a#banned@user:eve"));
      const resource = { type: "tool", id: "a" };
      const tree = await relations.expand(resource, "execute");
      expect(tree).toMatchObject({
        resource,
        name: "execute",
        operation: "exclusion",
        subjects: [],
      });
      expect(tree.children).toHaveLength(2);
      expect(tree.children[0]).toMatchObject({
        operation: "union",
        children: [
          { name: "owner", operation: "leaf", subjects: [] },
          {
            name: "executor",
            operation: "leaf",
            subjects: [{ type: "group", id: "eng", relation: "member" }],
          },
        ],
      });
      expect(tree.children[1]).toMatchObject({
        name: "banned",
        operation: "leaf",
        subjects: [{ type: "user", id: "eve" }],
      });
      expect((await relations.expand(resource, "both")).operation).toBe("intersection");
      expect(await relations.expand(resource, "owner")).toEqual({
        resource,
        name: "owner",
        operation: "leaf",
        children: [],
        subjects: [],
      });
    });

    test("reads by filter and in pages, with and without one", async () => {
      const texts = Array.from({ length: 7 }, (_, i) => `tool:t${i}#owner@user:u${i % 2}`);
      await relations.write(touch(...texts, "group:g#member@group:h#member"));
      const ids = async (filter: Parameters<Relations["read"]>[0], limit: number) => {
        const seen: string[] = [];
        let after: string | undefined;
        do {
          const page = await relations.read(filter, { limit, ...(after && { after }) });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          seen.push(...page.items.map(relationshipText));
          after = page.next ?? undefined;
        } while (after !== undefined);
        return seen.sort();
      };
      for (const limit of [1, 2, 7, 8, 100, 5_000]) {
        expect(await ids({}, limit)).toEqual(["group:g#member@group:h#member", ...texts]);
        expect(await ids({ resourceType: "tool" }, limit)).toEqual(texts);
      }
      expect(await ids({ resourceType: "tool", resourceId: "t3" }, 9)).toEqual([
        "tool:t3#owner@user:u1",
      ]);
      expect(await ids({ subjectType: "user", subjectId: "u1" }, 2)).toHaveLength(3);
      expect(await ids({ relation: "member" }, 2)).toHaveLength(1);
      expect(await ids({ subjectType: "group", subjectRelation: "member" }, 2)).toHaveLength(1);
      expect(await ids({ subjectType: "group", subjectRelation: "" }, 2)).toEqual([]);
      expect(
        await ids({ resourceType: "group", relation: "member", subjectType: "user" }, 2),
      ).toEqual([]);
      for (const filter of [{}, { resourceType: "tool" }])
        expect(
          await refused(relations.read(filter, { limit: 5, after: "nonsense" })),
        ).toMatchObject({ code: "BAD_REQUEST" });
    });

    test("caveats and expirations come back as they were written; what has expired is gone", async () => {
      const soon = new Date(Date.now() + 3_600_123).toISOString();
      const texts = [
        'tool:a#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
        "tool:a#executor@user:bob[office]",
        `tool:a#executor@user:eve[expiration:${soon}]`,
      ];
      await relations.write(
        touch(...texts, "tool:a#executor@user:old[expiration:2001-01-01T00:00:00Z]"),
      );
      const { items } = await relations.read({ resourceType: "tool" }, { limit: 10 });
      expect(items.map(relationshipText).sort()).toEqual(texts);
      expect((await relations.check(check("tool:a#execute@user:old"))).has).toBe("no");
      expect((await relations.check(check("tool:a#execute@user:eve"))).has).toBe("yes");
    });

    test("create of what exists and a precondition that fails are conflicts; nothing is written", async () => {
      await relations.write(change("create", "tool:a#owner@user:ada"));
      expect(
        await refused(
          relations.write(change("create", "tool:b#owner@user:ada", "tool:a#owner@user:ada")),
        ),
      ).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
      const filter = {
        resourceType: "tool",
        resourceId: "a",
        relation: "owner",
        subjectType: "user",
        subjectId: "ada",
      };
      expect(
        await refused(
          relations.write(touch("tool:b#owner@user:ada"), [
            { operation: "must_not_match", filter },
          ]),
        ),
      ).toMatchObject({ code: "CONFLICT", reason: "stale" });
      expect((await relations.check(check("tool:b#owner@user:ada"))).has).toBe("no");
      const { revision } = await relations.write(
        [...touch("tool:b#owner@user:ada"), ...change("delete", "tool:a#owner@user:ada")],
        [{ operation: "must_match", filter }],
      );
      expect(revision).not.toBe("");
      expect((await relations.check(check("tool:b#owner@user:ada"))).has).toBe("yes");
      await relations.write(change("delete", "tool:zzz#owner@user:nobody"));
    });

    test("what has expired is not in the way of a create; what has not, is", async () => {
      const end = new Date(Date.now() + 300).toISOString();
      await relations.write(touch(`tool:a#executor@user:ada[expiration:${end}]`));
      const create = () =>
        relations.write(change("create", "tool:a#executor@user:ada", "tool:b#owner@user:ada"));
      expect(await refused(create())).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
      await new Promise((resolve) => setTimeout(resolve, 400));
      await create();
      const { items } = await relations.read({ resourceType: "tool" }, { limit: 10 });
      expect(items.map(relationshipText).sort()).toEqual([
        "tool:a#executor@user:ada",
        "tool:b#owner@user:ada",
      ]);
    });

    test.each([
      ["an unknown type", "nope:a#owner@user:ada", /`nope` not found/],
      ["an unknown relation", "tool:a#nope@user:ada", /`nope` not found/],
      ["a permission", "tool:a#execute@user:ada", /permission `execute`/],
      ["a subject type that is not allowed", "tool:a#owner@group:g#member", /not allowed/],
      ["a wildcard that is not allowed", "tool:a#owner@user:*", /not allowed/],
      ["an unknown caveat", "tool:a#executor@user:ada[nope]", /not allowed/],
      [
        "a context of other words",
        'tool:a#executor@user:ada[office:{"zone":1}]',
        /unknown parameter/,
      ],
    ])("refuses to write %s", async (_, text, message) => {
      const fault = await refused(relations.write(touch(text)));
      expect(fault).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_input",
        message: expect.stringMatching(message) as string,
      });
    });

    test("refuses to check what the schema does not know, or a wildcard", async () => {
      for (const text of [
        "nope:a#execute@user:ada",
        "tool:a#nope@user:ada",
        "tool:a#execute@nope:ada",
        "tool:a#execute@user:*",
      ])
        expect(await refused(relations.check(check(text)))).toMatchObject({
          code: "BAD_REQUEST",
          reason: "invalid_input",
        });
    });

    test("a schema is refused with its line, and when relationships stand in its way", async () => {
      expect((await relations.schema()).replace(/\s+/g, " ")).toContain(
        "permission both = owner & executor",
      );
      expect(await refused(relations.writeSchema("definition user {\n ]"))).toMatchObject({
        code: "BAD_REQUEST",
        message: expect.stringContaining("line 2") as string,
      });
      await relations.write(touch("tool:a#banned@user:eve"));
      const without = SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", "");
      expect(await refused(relations.writeSchema(without))).toMatchObject({
        message: expect.stringContaining("banned") as string,
      });
      expect((await relations.check(check("tool:a#execute@user:eve"))).has).toBe("no");
    });

    test("with consistency=full a change by another program is seen at once", async () => {
      const always = openSpicedbRelations(`${address}?consistency=full`, {});
      const other = openSpicedbRelations(address, {});
      for (let i = 0; i < 20; i++) {
        expect((await always.check(check(`tool:t${i}#execute@user:ada`))).has).toBe("no");
        await other.write(touch(`tool:t${i}#owner@user:ada`));
        expect((await always.check(check(`tool:t${i}#execute@user:ada`))).has).toBe("yes");
      }
      await Promise.all([always.close(), other.close()]);
    });

    test("a change of another instance is seen once its writer was answered; listeners are told", async () => {
      const followers = new Set<() => void | Promise<void>>();
      const follower = (): Follower => {
        let own: (() => void | Promise<void>) | undefined;
        return {
          async changed() {
            for (const each of followers) if (each !== own) await each();
          },
          on(_name, listener) {
            followers.add((own = listener));
            return () => void followers.delete(listener);
          },
          assertFresh() {},
        };
      };
      const one = openSpicedbRelations(address, { follower: follower() });
      const two = openSpicedbRelations(address, { follower: follower() });
      let told = 0;
      const stop = two.onChange(() => told++);
      for (let i = 0; i < 50; i++) {
        await two.check(check("tool:t#execute@user:ada"));
        await one.write(change(i % 2 === 0 ? "touch" : "delete", "tool:t#owner@user:ada"));
        const { has } = await two.check(check("tool:t#execute@user:ada"));
        expect(has).toBe(i % 2 === 0 ? "yes" : "no");
      }
      expect(told).toBe(50);
      stop();
      await Promise.all([one.close(), two.close()]);
      expect(followers.size).toBe(0);
    });

    test("an instance that may have missed a change reads the newest state", async () => {
      const deaf = openSpicedbRelations(address, {
        follower: {
          on: () => () => undefined,
          changed() {},
          assertFresh() {
            throw new Error("cut off");
          },
        },
      });
      for (let i = 0; i < 20; i++) {
        const { has } = await deaf.check(check("tool:t#execute@user:ada"));
        expect(has).toBe(i % 2 === 0 ? "no" : "yes");
        await relations.write(change(i % 2 === 0 ? "touch" : "delete", "tool:t#owner@user:ada"));
      }
      await deaf.close();
    });

    test("a wrong key means that the engine is out, and is not repeated in the message", async () => {
      const url = new URL(address);
      url.password = "sesame";
      const wrong = openSpicedbRelations(url.href, {});
      const fault = await refused(wrong.ping());
      expect(fault).toMatchObject({ code: "UNAVAILABLE", reason: "engine_unavailable" });
      expect(fault.message).toBe("the relation engine SpiceDB refuses our preshared key");
      expect(JSON.stringify(fault)).not.toMatch(/sesame|127\.0\.0\.1/);
      await wrong.close();
    });
  });

  describe("a server that goes away", () => {
    let server: SpicedbServer;
    let relations: Relations;
    beforeAll(async () => {
      server = await spicedbServer(bin);
      await server.start();
      relations = openSpicedbRelations(server.address, {});
      await relations.writeSchema(SCHEMA);
    });
    afterAll(async () => {
      await relations.close();
      await server.stop();
    });
    // The tail of a busy machine measures the machine.
    const median = (ms: number[]) => ms.toSorted((a, b) => a - b)[Math.floor(ms.length / 2)];
    const ask = () => Promise.resolve(relations.check(check("tool:t#execute@user:ada")));
    const out = async () => {
      const began = performance.now();
      expect(await refused(ask())).toMatchObject({
        code: "UNAVAILABLE",
        reason: "engine_unavailable",
      });
      return performance.now() - began;
    };

    test("stopped: refused within the deadline, for every name; back by itself within a second or so", async () => {
      for (let round = 0; round < 3; round++) {
        await relations.write(touch("tool:t#owner@user:ada"));
        expect((await ask()).has).toBe("yes");
        await server.stop();
        const ms = [await out()];
        for (let i = 0; i < 30; i++) {
          ms.push(await out());
          const odd = {
            resource: { type: "tool", id: "a.b" },
            permission: "execute",
            subject: { type: "user", id: "ada" },
          };
          expect(await refused(relations.check(odd))).toMatchObject({ code: "UNAVAILABLE" });
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        expect(median(ms)).toBeLessThan(500);
        await server.start();
        const began = performance.now();
        await until(
          () =>
            relations.ping().then(
              () => true,
              () => false,
            ),
          10_000,
        );
        expect(performance.now() - began).toBeLessThan(2_500);
        // Its memory is gone and our token with it: that must not keep us out.
        await relations.writeSchema(SCHEMA);
        expect((await ask()).has).toBe("no");
      }
    });

    test("our token from before, on a server that knows nothing of it, is dropped", async () => {
      await relations.write(touch("tool:t#owner@user:ada"));
      expect((await ask()).has).toBe("yes");
      expect((await ask()).has).toBe("yes");
      await server.stop();
      await server.start();
      const other = openSpicedbRelations(server.address, {});
      await until(
        () =>
          other.writeSchema(SCHEMA).then(
            () => true,
            () => false,
          ),
        10_000,
      );
      await until(
        () =>
          ask().then(
            ({ has }) => has === "no",
            () => false,
          ),
        10_000,
      );
      await other.close();
    });

    test("a connection that swallows everything is replaced", async () => {
      const line = await silentLine(Number(new URL(server.address).port));
      const url = new URL(server.address);
      url.port = String(line.port);
      const through = openSpicedbRelations(url.href, {});
      await until(
        () =>
          through.ping().then(
            () => true,
            () => false,
          ),
        10_000,
      );
      line.swallow();
      const began = performance.now();
      await until(
        () =>
          through.ping().then(
            () => true,
            () => false,
          ),
        10_000,
      );
      expect(performance.now() - began).toBeLessThan(4_000);
      await through.close();
      line.close();
    });

    test("frozen: refused at the deadline, then answers again", async () => {
      await ask();
      server.freeze();
      // A signal takes its time to reach every thread.
      await new Promise((resolve) => setTimeout(resolve, 300));
      const ms = [await out(), await out(), await out(), await out(), await out()];
      expect(median(ms)).toBeGreaterThan(300);
      expect(median(ms)).toBeLessThan(1_000);
      server.thaw();
      await until(
        () =>
          ask().then(
            () => true,
            () => false,
          ),
        10_000,
      );
    });
  });
} else {
  const start = "OSTIARY_TEST_SPICEDB is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`spicedb: ${start}`, () => expect.unreachable(start));
}
