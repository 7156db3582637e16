// What every relation engine must do. An implementation's test gives this suite an empty engine for each test.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { RelationChange, Relations, RelationshipFilter, RelationTree } from "./relation.ts";
import { parseObject, parseRelationship, parseSubject, relationshipText } from "./text.ts";

/** An engine without relationships, whatever schema it has. */
export interface Ground {
  readonly relations: Relations;
  /**
   * Time goes on, at least that much and until the engine must have noticed: a clock is moved, or really waited for.
   */
  pass(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

const SCHEMA = `use expiration

definition user {}

caveat office(ip ipaddress, net string) {
  ip.in_cidr(net)
}

caveat hours(hour int) {
  hour >= 8 && hour < 18
}

definition group {
  relation member: user | group#member
}

definition folder {
  relation parent: folder
  relation viewer: user | group#member
  relation keeper: user
  permission view = viewer + parent->view
}

definition tool {
  relation owner: user
  relation executor: user | user:* | group#member | user with office | user with hours | user with expiration | user with office and expiration
  relation banned: user | user:* | user with office
  relation folder: folder
  relation reviewer: user | group#member
  permission execute = (owner + executor) - banned
  permission both = owner & executor
  permission view = execute + folder->view
  permission every = folder.all(view)
  permission some = folder.any(view)
  permission never = nil
  permission alias = execute
}
`;

export function relationSuite(name: string, open: () => Promise<Ground>): void {
  describe(`relations: ${name}`, () => {
    let ground: Ground;
    let relations: Relations;
    beforeEach(async () => {
      ground = await open();
      relations = ground.relations;
      await relations.writeSchema(SCHEMA);
    });
    afterEach(() => ground.dispose());

    const change = (
      operation: RelationChange["operation"],
      texts: readonly string[],
    ): RelationChange[] =>
      texts.map((text) => ({ operation, relationship: parseRelationship(text) }));
    const touch = (...texts: string[]) => relations.write(change("touch", texts));
    const remove = (...texts: string[]) => relations.write(change("delete", texts));
    const ask = async (text: string, context?: JsonObject) => {
      const { resource, relation, subject } = parseRelationship(text);
      return relations.check({
        resource,
        permission: relation,
        subject,
        ...(context && { context }),
      });
    };
    const has = async (text: string, context?: JsonObject) => (await ask(text, context)).has;
    const refused = async (work: () => unknown): Promise<Fault> => {
      try {
        await work();
      } catch (cause) {
        if (cause instanceof AppError) return cause.fault;
        throw cause;
      }
      return expect.unreachable("it was accepted");
    };
    const badRequest = { code: "BAD_REQUEST", reason: "invalid_input" };

    describe("check", () => {
      test("R035: a relationship is a yes, its absence a no", async () => {
        await touch("tool:system/echo#executor@user:ada", "tool:file/read#owner@user:bob");
        expect(await ask("tool:system/echo#execute@user:ada")).toEqual({ has: "yes" });
        expect(await ask("tool:system/echo#execute@user:bob")).toEqual({ has: "no" });
        expect(await has("tool:file/read#execute@user:bob")).toBe("yes");
        expect(await has("tool:file/read#owner@user:ada")).toBe("no");
        expect(await has("tool:none#execute@user:ada")).toBe("no");
        expect(await has("tool:system/echo#never@user:ada")).toBe("no");
        expect(await has("tool:system/echo#alias@user:ada")).toBe("yes");
      });

      test("a revoked relationship is a no in the very next check, a hundred times", async () => {
        for (let i = 0; i < 100; i += 1) {
          await touch("tool:t1#executor@user:ada");
          expect(await has("tool:t1#execute@user:ada")).toBe("yes");
          await remove("tool:t1#executor@user:ada");
          expect(await has("tool:t1#execute@user:ada")).toBe("no");
        }
      });

      test("groups within groups; a set can be asked about itself", async () => {
        await touch(
          "group:all#member@group:eng#member",
          "group:eng#member@group:core#member",
          "group:core#member@user:ada",
          "tool:t1#executor@group:all#member",
        );
        expect(await has("tool:t1#execute@user:ada")).toBe("yes");
        expect(await has("tool:t1#execute@user:bob")).toBe("no");
        expect(await has("tool:t1#execute@group:core#member")).toBe("yes");
        expect(await has("tool:t1#execute@group:other#member")).toBe("no");
        expect(await has("group:eng#member@group:eng#member")).toBe("yes");
        expect(await has("tool:t1#execute@tool:t1#execute")).toBe("yes");
        expect(await has("tool:t1#execute@tool:t2#execute")).toBe("no");
        await remove("group:eng#member@group:core#member");
        expect(await has("tool:t1#execute@user:ada")).toBe("no");
      });

      test("intersection needs both, exclusion takes away", async () => {
        await touch(
          "tool:t1#owner@user:ada",
          "tool:t1#executor@user:ada",
          "tool:t1#owner@user:bob",
        );
        expect(await has("tool:t1#both@user:ada")).toBe("yes");
        expect(await has("tool:t1#both@user:bob")).toBe("no");
        await touch("tool:t1#banned@user:ada");
        expect(await has("tool:t1#execute@user:ada")).toBe("no");
        expect(await has("tool:t1#execute@user:bob")).toBe("yes");
      });

      test("arrows follow relations; all() needs every one, and at least one", async () => {
        await touch(
          "folder:top#viewer@user:ada",
          "folder:sub#parent@folder:top",
          "folder:sub#viewer@user:bob",
          "tool:t1#folder@folder:sub",
          "tool:t1#folder@folder:other",
        );
        expect(await has("tool:t1#view@user:ada")).toBe("yes");
        expect(await has("tool:t1#some@user:ada")).toBe("yes");
        expect(await has("tool:t1#every@user:ada")).toBe("no");
        await touch("folder:other#viewer@user:ada");
        expect(await has("tool:t1#every@user:ada")).toBe("yes");
        expect(await has("tool:t1#every@user:bob")).toBe("no");
        expect(await has("tool:t2#every@user:ada")).toBe("no");
      });

      test("a wildcard is everybody, less those who are excluded", async () => {
        await touch("tool:t1#executor@user:*", "tool:t1#banned@user:eve");
        expect(await has("tool:t1#execute@user:ada")).toBe("yes");
        expect(await has("tool:t1#execute@user:eve")).toBe("no");
        expect(await has("tool:t1#execute@group:eng#member")).toBe("no");
        await touch("tool:t2#owner@user:ada", "tool:t2#banned@user:*");
        expect(await has("tool:t2#execute@user:ada")).toBe("no");
      });

      test("a cycle ends and grants nothing by itself", async () => {
        await touch(
          "group:g1#member@group:g2#member",
          "group:g2#member@group:g1#member",
          "tool:t1#executor@group:g1#member",
        );
        const answer = await ask("tool:t1#execute@user:ada").catch((cause: unknown) => cause);
        if (answer instanceof AppError) expect(answer.fault).toMatchObject(badRequest);
        else expect(answer).toEqual({ has: "no" });
      });

      test("a chain that is too long is a fault, not a no", async () => {
        const chain = Array.from(
          { length: 60 },
          (_, i) => `group:g${i}#member@group:g${i + 1}#member`,
        );
        await touch(...chain, "group:g60#member@user:ada");
        expect(await has("group:g30#member@user:ada")).toBe("yes");
        expect(await refused(() => ask("group:g0#member@user:ada"))).toMatchObject(badRequest);
        // Fifty steps are not too many, on any engine.
        expect(await has("group:g11#member@user:ada")).toBe("yes");
        expect(await refused(() => ask("group:g10#member@user:bob"))).toMatchObject(badRequest);
      });

      test("many at once, in order", async () => {
        await touch("tool:t7#owner@user:ada", "tool:t1049#owner@user:ada");
        const requests = Array.from({ length: 1_100 }, (_, i) => ({
          resource: { type: "tool", id: `t${i}` },
          permission: "execute",
          subject: parseSubject("user:ada"),
        }));
        const answers = await relations.checkMany(requests);
        expect(answers.flatMap((one, i) => (one.has === "yes" ? [i] : []))).toEqual([7, 1049]);
        expect(await relations.checkMany([])).toEqual([]);
      });

      test("odd ids are a no: they can stand in no relationship", async () => {
        await touch("tool:t1#executor@user:*");
        for (const id of ["", "a b", "a.b", "ä", "a#b", "x".repeat(1025)]) {
          const subject = parseSubject("user:ada");
          const resource = { type: "tool", id: "t1" };
          expect(
            await relations.check({
              resource: { type: "tool", id },
              permission: "execute",
              subject,
            }),
          ).toEqual({ has: "no" });
          expect(
            await relations.check({
              resource,
              permission: "execute",
              subject: { type: "user", id },
            }),
          ).toEqual({ has: "no" });
        }
      });

      test.each([
        ["type", "nope:t1#execute@user:ada"],
        ["permission", "tool:t1#nope@user:ada"],
        ["subject type", "tool:t1#execute@nope:ada"],
        ["relation of the subject", "tool:t1#execute@group:g1#nope"],
        ["somebody in particular", "tool:t1#execute@user:*"],
      ])("refuses what the schema does not know: %s", async (_, text) => {
        expect(await refused(() => ask(text))).toMatchObject(badRequest);
      });
    });

    describe("caveats", () => {
      test("without the values a check is conditional and names them", async () => {
        await touch(
          'tool:t1#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
          "tool:t2#executor@user:ada[office]",
        );
        expect(await ask("tool:t1#execute@user:ada")).toEqual({
          has: "conditional",
          missing: ["ip"],
        });
        expect(await has("tool:t1#execute@user:ada", { ip: "10.9.8.7" })).toBe("yes");
        expect(await has("tool:t1#execute@user:ada", { ip: "192.168.1.1" })).toBe("no");
        const both = await ask("tool:t2#execute@user:ada");
        expect(both.has).toBe("conditional");
        // An engine may stop at the first that it lacks.
        expect(both.missing).toContain("ip");
        expect(["ip", "net"]).toEqual(expect.arrayContaining([...(both.missing ?? [])]));
        expect(await has("tool:t2#execute@user:ada", { ip: "10.9.8.7", net: "10.0.0.0/8" })).toBe(
          "yes",
        );
      });

      test("what was written with the relationship wins over what a request claims", async () => {
        await touch('tool:t1#executor@user:ada[office:{"net":"10.0.0.0/8"}]');
        expect(await has("tool:t1#execute@user:ada", { ip: "192.168.1.1", net: "0.0.0.0/0" })).toBe(
          "no",
        );
      });

      test("a certain answer wins over a conditional one", async () => {
        await touch("tool:t1#executor@user:ada[hours]", "tool:t1#owner@user:ada");
        expect(await ask("tool:t1#execute@user:ada")).toEqual({ has: "yes" });
        expect(await has("tool:t1#both@user:ada")).toBe("conditional");
        await touch("tool:t1#banned@user:ada[office]");
        expect(await has("tool:t1#execute@user:ada")).toBe("conditional");
        await touch("tool:t1#banned@user:ada");
        expect(await ask("tool:t1#execute@user:ada")).toEqual({ has: "no" });
      });

      test("half of the values may decide already", async () => {
        await touch("tool:t1#executor@user:ada[hours]");
        expect(await has("tool:t1#execute@user:ada", { hour: 7 })).toBe("no");
        expect(await has("tool:t1#execute@user:ada", { hour: 8 })).toBe("yes");
      });

      test("a value of another type is refused", async () => {
        await touch("tool:t1#executor@user:ada[hours]");
        expect(
          await refused(() => ask("tool:t1#execute@user:ada", { hour: "soon" })),
        ).toMatchObject(badRequest);
        expect(await has("tool:t1#execute@user:ada", { unrelated: 1, hour: "9" })).toBe("yes");
      });
    });

    describe("expiration", () => {
      test("past its end a relationship does not exist", async () => {
        const start = Date.now();
        const ends = new Date(start + 1_000).toISOString();
        await touch(
          `tool:t1#executor@user:ada[expiration:${ends}]`,
          "tool:t1#executor@user:old[expiration:2001-01-01T00:00:00Z]",
        );
        expect(await has("tool:t1#execute@user:ada")).toBe("yes");
        expect(await has("tool:t1#execute@user:old")).toBe("no");
        await ground.pass(1_100);
        expect(await has("tool:t1#execute@user:ada")).toBe("no");
        expect((await relations.read({ resourceType: "tool" }, { limit: 10 })).items).toEqual([]);
        expect(
          await relations.lookupSubjects({
            resource: parseObject("tool:t1"),
            permission: "execute",
            subjectType: "user",
          }),
        ).toEqual([]);
        await touch("tool:t1#executor@user:ada");
        expect(await has("tool:t1#execute@user:ada")).toBe("yes");
      });

      test("with a caveat as well, both must hold", async () => {
        await touch(
          'tool:t1#executor@user:ada[office:{"net":"10.0.0.0/8"}][expiration:2301-01-01T00:00:00Z]',
        );
        expect(await has("tool:t1#execute@user:ada")).toBe("conditional");
        expect(await has("tool:t1#execute@user:ada", { ip: "10.0.0.1" })).toBe("yes");
        await touch(
          'tool:t1#executor@user:ada[office:{"net":"10.0.0.0/8"}][expiration:2001-01-01T00:00:00Z]',
        );
        expect(await has("tool:t1#execute@user:ada", { ip: "10.0.0.1" })).toBe("no");
      });
    });

    describe("lookups", () => {
      const byId = <A extends { id: string }>(found: readonly A[]): A[] =>
        found.toSorted((a, b) => (a.id < b.id ? -1 : 1));

      test("resources: what somebody may, also conditionally", async () => {
        await touch(
          "tool:t1#executor@user:*",
          "tool:t2#owner@user:ada",
          "tool:t3#executor@user:ada[hours]",
          "tool:t4#owner@user:ada",
          "tool:t4#banned@user:ada",
          "tool:t5#owner@user:bob",
        );
        const find = (context?: JsonObject) =>
          relations.lookupResources({
            type: "tool",
            permission: "execute",
            subject: parseSubject("user:ada"),
            ...(context && { context }),
          });
        expect(byId(await find())).toEqual([
          { id: "t1", has: "yes" },
          { id: "t2", has: "yes" },
          { id: "t3", has: "conditional", missing: ["hour"] },
        ]);
        expect(byId(await find({ hour: 9 })).map(({ id, has: how }) => `${id} ${how}`)).toEqual([
          "t1 yes",
          "t2 yes",
          "t3 yes",
        ]);
        expect(byId(await find({ hour: 3 })).map(({ id }) => id)).toEqual(["t1", "t2"]);
        expect(
          await refused(() =>
            relations.lookupResources({
              type: "tool",
              permission: "nope",
              subject: parseSubject("user:ada"),
            }),
          ),
        ).toMatchObject(badRequest);
      });

      test("subjects: who may, the wildcard with those left out", async () => {
        await touch(
          "group:eng#member@user:ada",
          "group:eng#member@user:eve",
          "tool:t1#executor@group:eng#member",
          "tool:t1#executor@user:bob[hours]",
          "tool:t1#banned@user:eve",
          "tool:t2#executor@user:*",
          "tool:t2#banned@user:eve",
          "tool:t2#owner@user:ada",
        );
        const find = (id: string, extra: { subjectRelation?: string; subjectType?: string } = {}) =>
          relations.lookupSubjects({
            resource: { type: "tool", id },
            permission: "execute",
            subjectType: "user",
            ...extra,
          });
        expect(byId(await find("t1"))).toEqual([
          { id: "ada", has: "yes" },
          { id: "bob", has: "conditional", missing: ["hour"] },
        ]);
        const open = byId(await find("t2"));
        expect(open.find(({ id }) => id === "*")).toEqual({ id: "*", has: "yes", except: ["eve"] });
        expect(open.map(({ id }) => id)).toEqual(["*", "ada"]);
        expect(
          (await find("t1", { subjectType: "group", subjectRelation: "member" })).map(
            ({ id }) => id,
          ),
        ).toEqual(["eng"]);
        expect(await find("t9")).toEqual([]);
        expect(await refused(() => find("t1", { subjectType: "nope" }))).toMatchObject(badRequest);
      });

      test("expand shows the expression and who is written down", async () => {
        await touch(
          "tool:t1#executor@group:eng#member",
          "tool:t1#banned@user:eve",
          "tool:t1#owner@user:ada",
        );
        const resource = parseObject("tool:t1");
        const tree = await relations.expand(resource, "execute");
        expect(tree).toMatchObject({ resource, operation: "exclusion" });
        expect(tree.children[0]).toMatchObject({
          operation: "union",
          children: [
            { name: "owner", operation: "leaf", subjects: [{ type: "user", id: "ada" }] },
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
        await touch("tool:t1#folder@folder:f1", "folder:f1#viewer@user:bob");
        const leaves = (one: RelationTree): string[] => [
          ...one.subjects.map(({ id }) => `${one.resource.id}#${one.name}:${id}`),
          ...one.children.flatMap(leaves),
        ];
        expect(leaves(await relations.expand(resource, "view"))).toContain("f1#viewer:bob");
        expect(await refused(() => relations.expand(resource, "nope"))).toMatchObject(badRequest);
      });
    });

    describe("read and write", () => {
      const readAll = async (filter: RelationshipFilter, limit: number): Promise<string[]> => {
        const texts: string[] = [];
        let after: string | undefined;
        do {
          const page = await relations.read(filter, {
            limit,
            ...(after !== undefined && { after }),
          });
          expect(page.items.length).toBeLessThanOrEqual(limit);
          texts.push(...page.items.map(relationshipText));
          after = page.next ?? undefined;
        } while (after !== undefined);
        return texts;
      };

      test("pages hold each relationship once, by any filter", async () => {
        const texts = Array.from({ length: 7 }, (_, i) => `tool:t${i}#owner@user:u${i % 2}`);
        await touch(...texts, "group:g1#member@group:h1#member");
        for (const limit of [1, 2, 3, 7, 8, 900]) {
          expect((await readAll({ resourceType: "tool" }, limit)).sort()).toEqual(texts);
          expect((await readAll({}, limit)).sort()).toEqual([
            "group:g1#member@group:h1#member",
            ...texts,
          ]);
        }
        expect(await readAll({ resourceType: "tool", resourceId: "t3" }, 9)).toEqual([
          "tool:t3#owner@user:u1",
        ]);
        expect(await readAll({ subjectType: "user", subjectId: "u1" }, 2)).toHaveLength(3);
        expect(await readAll({ relation: "member" }, 2)).toHaveLength(1);
        expect(await readAll({ subjectType: "group", subjectRelation: "member" }, 2)).toHaveLength(
          1,
        );
        expect(
          await readAll(
            { resourceType: "tool", relation: "owner", subjectType: "user", subjectId: "u9" },
            2,
          ),
        ).toEqual([]);
        expect(
          await refused(() =>
            relations.read({ resourceType: "tool" }, { limit: 5, after: "nonsense" }),
          ),
        ).toMatchObject(badRequest);
      });

      test("caveat, context and end come back as they were written", async () => {
        const texts = [
          "tool:t1#executor@group:eng#member",
          'tool:t1#executor@user:ada[office:{"net":"10.0.0.0/8"}]',
          "tool:t1#executor@user:bob[office]",
          "tool:t1#executor@user:eve[expiration:2301-02-03T04:05:06.000Z]",
          'tool:t1#executor@user:fay[office:{"net":"::1/128"}][expiration:2301-02-03T04:05:06.000Z]',
        ];
        await touch(...texts);
        expect((await readAll({ resourceType: "tool" }, 10)).sort()).toEqual(texts);
        await touch("tool:t1#executor@user:ada");
        expect(await readAll({ subjectType: "user", subjectId: "ada" }, 10)).toEqual([
          "tool:t1#executor@user:ada",
        ]);
      });

      test("create of what exists is a conflict, and nothing of the write happens", async () => {
        await relations.write(change("create", ["tool:t1#owner@user:ada"]));
        expect(
          await refused(() =>
            relations.write(change("create", ["tool:t2#owner@user:ada", "tool:t1#owner@user:ada"])),
          ),
        ).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
        expect(await has("tool:t2#owner@user:ada")).toBe("no");
        await touch("tool:t1#owner@user:ada");
        await remove("tool:t1#owner@user:ada", "tool:t9#owner@user:nobody");
        expect(await has("tool:t1#owner@user:ada")).toBe("no");
      });

      test("a precondition that does not hold is a conflict, and nothing is written", async () => {
        await touch("tool:t1#owner@user:ada");
        const filter = {
          resourceType: "tool",
          resourceId: "t1",
          relation: "owner",
          subjectType: "user",
          subjectId: "ada",
        };
        const grant = change("touch", ["tool:t2#owner@user:ada"]);
        expect(
          await refused(() => relations.write(grant, [{ operation: "must_not_match", filter }])),
        ).toMatchObject({ code: "CONFLICT", reason: "stale" });
        expect(
          await refused(() =>
            relations.write(grant, [
              { operation: "must_match", filter: { ...filter, subjectId: "bob" } },
            ]),
          ),
        ).toMatchObject({ code: "CONFLICT", reason: "stale" });
        expect(await has("tool:t2#owner@user:ada")).toBe("no");
        const { revision } = await relations.write(
          [...grant, ...change("delete", ["tool:t1#owner@user:ada"])],
          [{ operation: "must_match", filter }],
        );
        expect(revision).not.toBe("");
        expect(await has("tool:t2#owner@user:ada")).toBe("yes");
        expect(await has("tool:t1#owner@user:ada")).toBe("no");
      });

      test.each([
        ["an unknown type", "nope:t1#owner@user:ada"],
        ["an unknown relation", "tool:t1#nope@user:ada"],
        ["a permission", "tool:t1#execute@user:ada"],
        ["an unknown subject type", "tool:t1#owner@nope:ada"],
        ["an unknown relation of the subject", "tool:t1#executor@group:eng#nope"],
        ["a subject type that is not allowed there", "tool:t1#owner@group:eng#member"],
        ["a wildcard that is not allowed there", "tool:t1#owner@user:*"],
        ["a caveat that is not allowed there", "tool:t1#owner@user:ada[hours]"],
        ["an unknown caveat", "tool:t1#executor@user:ada[nope]"],
        ["an unknown parameter", 'tool:t1#executor@user:ada[office:{"zone":1}]'],
        ["a parameter of another type", 'tool:t1#executor@user:ada[office:{"net":1}]'],
        [
          "an end that is not allowed there",
          "tool:t1#owner@user:ada[expiration:2301-01-01T00:00:00Z]",
        ],
      ])("refuses %s", async (_, text) => {
        expect(await refused(() => touch("tool:t9#owner@user:ada", text))).toMatchObject(
          badRequest,
        );
        expect(await has("tool:t9#owner@user:ada")).toBe("no");
      });

      test("refuses ids of other characters, and one relationship twice in a write", async () => {
        for (const id of ["", "a b", "a.b", "ä", "*"])
          expect(
            await refused(() =>
              relations.write([
                {
                  operation: "touch",
                  relationship: {
                    resource: { type: "tool", id },
                    relation: "owner",
                    subject: parseSubject("user:ada"),
                  },
                },
              ]),
            ),
          ).toMatchObject(badRequest);
        expect(
          await refused(() => touch("tool:t1#owner@user:ada", "tool:t1#owner@user:ada")),
        ).toMatchObject(badRequest);
        await touch(`tool:${"x".repeat(200)}/_|-=+9#owner@user:ada`);
      });

      test("what has a caveat can be deleted without naming it", async () => {
        await touch("tool:t1#executor@user:ada[hours]");
        await remove("tool:t1#executor@user:ada");
        expect(await has("tool:t1#execute@user:ada", { hour: 9 })).toBe("no");
      });

      test("listeners hear of every change until they stop", async () => {
        let heard = 0;
        const stop = relations.onChange(() => (heard += 1));
        const before = relations.revision;
        await touch("tool:t1#owner@user:ada");
        expect(heard).toBe(1);
        if (before !== null) expect(relations.revision).not.toBe(before);
        await relations.writeSchema(`${SCHEMA}\ndefinition more {}\n`);
        expect(heard).toBe(2);
        stop();
        await touch("tool:t2#owner@user:ada");
        expect(heard).toBe(2);
        await relations.ping();
      });
    });

    describe("schema", () => {
      test("is read back, and a new one decides from then on", async () => {
        await touch("tool:t1#executor@user:ada", "tool:t1#banned@user:ada");
        expect((await relations.schema()).replace(/\s+/g, " ")).toContain(
          "permission both = owner & executor",
        );
        await relations.writeSchema(SCHEMA.replace(" - banned", ""));
        expect(await has("tool:t1#execute@user:ada")).toBe("yes");
        await relations.writeSchema(SCHEMA);
        expect(await has("tool:t1#execute@user:ada")).toBe("no");
      });

      test("is refused when relationships exist that it would not allow, and names one", async () => {
        await touch(
          "tool:t1#reviewer@user:eve",
          "tool:t1#executor@user:*",
          "tool:t1#executor@user:bob[hours]",
        );
        const without = (text: string, by = "") =>
          refused(() => relations.writeSchema(SCHEMA.replace(text, by)));
        const fault = await without("  relation reviewer: user | group#member\n");
        expect(fault).toMatchObject({
          ...badRequest,
          message: expect.stringContaining("tool:t1#reviewer@user:eve") as string,
        });
        expect(
          await without(
            "relation reviewer: user | group#member",
            "relation reviewer: group#member",
          ),
        ).toMatchObject(badRequest);
        expect(
          await without(
            "user:* | group#member | user with office |",
            "group#member | user with office |",
          ),
        ).toMatchObject(badRequest);
        expect(await without(" | user with hours")).toMatchObject(badRequest);
        expect(await has("tool:t1#reviewer@user:eve")).toBe("yes");
        await remove("tool:t1#reviewer@user:eve");
        await relations.writeSchema(
          SCHEMA.replace("  relation reviewer: user | group#member\n", ""),
        );
      });

      test.each(FAULTY)("refuses %s", async (_, text, line) => {
        const fault = await refused(() => relations.writeSchema(text));
        expect(fault).toMatchObject(badRequest);
        if (line !== null) expect(fault.message).toMatch(new RegExp(`line ${line}\\b`));
        expect(await has("tool:t1#execute@user:ada")).toBe("no");
      });

      test.each(FINE)("accepts %s", async (_, text) => {
        await relations.writeSchema(text);
      });
    });
  });
}

const definition = (body: string, head = ""): string =>
  `${head}definition user {}\n\ndefinition doc {\n${body}\n}\n`;
const caveat = (parameters: string, body: string): string =>
  `caveat cond(${parameters}) {\n  ${body}\n}\n`;

/** What it is, the text, and the line that the message must name (null: the server names none there). */
const FAULTY: [string, string, number | null][] = [
  ["text that is no schema", "definition user {\n ]", 2],
  ["an unknown keyword", "definition user {}\nobject doc {}", 2],
  ["a definition on one line", "definition user {}\ndefinition doc { relation viewer: user }", 2],
  [
    "an operator at the beginning of a line",
    definition("  relation aaa: user\n  permission ppp = aaa\n    + aaa"),
    6,
  ],
  ["an unknown type", definition("  relation viewer: nobody"), null],
  ["an unknown relation of a type", definition("  relation viewer: user#member"), null],
  [
    "an unknown relation in a permission",
    definition("  relation viewer: user\n  permission view = viewer + nope"),
    null,
  ],
  ["an unknown relation before an arrow", definition("  permission view = parent->view"), null],
  [
    "a permission before an arrow",
    definition(
      "  relation parent: doc\n  permission above = parent\n  permission view = above->view",
    ),
    null,
  ],
  [
    "an arrow after an arrow",
    definition("  relation parent: doc\n  permission view = parent->parent->view"),
    null,
  ],
  [
    "an unknown function of an arrow",
    definition("  relation parent: doc\n  permission view = parent.most(parent)"),
    null,
  ],
  [
    "an arrow over a wildcard",
    definition("  relation viewer: user:*\n  permission view = viewer->view"),
    null,
  ],
  [
    "a set that admits a wildcard",
    `${definition("  relation viewer: user:*")}\ndefinition other {\n  relation viewer: doc#viewer\n}\n`,
    null,
  ],
  ["a wildcard with a relation", definition("  relation viewer: user:*#member"), 4],
  ["a name twice", "definition user {}\ndefinition user {}", null],
  ["a relation twice", definition("  relation viewer: user\n  relation viewer: user"), null],
  [
    "a relation and a permission of one name",
    definition("  relation viewer: user\n  permission viewer = nil"),
    null,
  ],
  ["a subject type twice", definition("  relation viewer: user | user"), null],
  ["a name that is too short", definition("  relation ab: user"), null],
  ["a name with capitals", definition("  relation Viewer: user"), null],
  ["an unknown caveat", definition("  relation viewer: user with cond"), null],
  ["an end without `use expiration`", definition("  relation viewer: user with expiration"), null],
  [
    "an end before the caveat",
    definition(
      "  relation viewer: user with expiration and cond",
      `use expiration\n${caveat("a int", "a == 1")}`,
    ),
    null,
  ],
  ["`use` after a definition", "definition user {}\nuse expiration\n", null],
  ["an unknown feature", "use magic\ndefinition user {}\n", 1],
  ["a partial without `use partial`", "partial base {}\n", null],
  ["an unknown partial", definition("  ...base", "use partial\n"), null],
  [
    "a partial that contains itself",
    `use partial\npartial base {\n  ...base\n}\n${definition("  ...base")}`,
    null,
  ],
  ["an import", 'use import\nimport "./other.zed"\n', null],
  ["a caveat without parameters", caveat("", "true"), null],
  ["a parameter twice", caveat("a int, a int", "a == 1"), null],
  ["an unknown parameter type", caveat("a number", "a == 1"), null],
  ["a list of nothing", caveat("a list", "a == []"), null],
  ["a caveat that is no bool", caveat("a int", "a + 1"), null],
  ["a caveat with an unknown name", caveat("a int", "b == 1"), 2],
  ["a caveat with a type error", caveat("a int", 'a == "x"'), 2],
  ["a caveat with a syntax error", caveat("a int", "a =="), 2],
  ["a parameter that is not used", caveat("a int, b int", "a == 1"), null],
  ["a function that caveats do not have", caveat("a string", 'a.lowerAscii() == "x"'), null],
  ["an empty caveat", "caveat cond(a int) {}\n", null],
  ["a caveat and a type of one name", `${caveat("a int", "a == 1")}definition cond {}\n`, null],
  [
    "an annotation that leaves a type out",
    "use typechecking\ndefinition user {}\ndefinition bot {}\ndefinition doc {\n  relation viewer: user | bot\n  permission view: user = viewer\n}\n",
    null,
  ],
];

const FINE: [string, string][] = [
  [
    "comments, semicolons and no blanks",
    "/* a\n b */ definition user {} // end\ndefinition doc {\n relation aaa: user; relation bbb: user\n permission ppp=(aaa+bbb)-aaa&bbb\n}\n",
  ],
  [
    "lines that end with an operator",
    definition("  relation aaa: user |\n    doc\n  permission ppp = aaa +\n    aaa"),
  ],
  [
    "names that begin with a keyword",
    definition(
      "  relation nilable: user\n  relation withs: user\n  permission view = nilable + withs",
    ),
  ],
  ["the thing itself by `#...`", definition("  relation viewer: user#... | doc")],
  [
    "an arrow to what only some types have",
    `${definition("  relation parent: user | doc\n  relation viewer: user\n  permission view = parent->viewer")}`,
  ],
  [
    "a set of its own definition with a wildcard",
    definition("  relation viewer: user:* | doc#viewer"),
  ],
  [
    "`self`",
    `use self\ndefinition user {\n  relation friend: user\n  permission see = self + friend\n}\n`,
  ],
  [
    "partials within partials",
    `use partial\npartial base {\n  relation viewer: user\n}\npartial more {\n  ...base\n  permission view = viewer\n}\n${definition("  ...more\n  permission edit = view")}`,
  ],
  [
    "annotations",
    "use typechecking\ndefinition user {}\ndefinition doc {\n  relation viewer: user\n  permission view: user = viewer\n}\n",
  ],
  [
    "calls, lists and maps in caveats",
    caveat(
      "t timestamp, l list<int>, m map<any>",
      't > timestamp("2026-01-01T00:00:00Z") && size(l) > 0 && has(m.x) && [] != l && {"a": 1}["a"] == 1',
    ),
  ],
  [
    "every type of parameter",
    caveat(
      "a int, b uint, c bool, d string, e double, f bytes, g duration, h timestamp, i ipaddress, j any, k list<string>, l map<list<int>>",
      'a == 1 && c && d.startsWith("x") && e < 1.5 && g > duration("1h") && i.in_cidr("10.0.0.0/8") && j == 1 && "x" in k && l["a"][0] == 1 && size(f) == 1 && b > 0 && h < timestamp("2026-01-01T00:00:00Z")',
    ),
  ],
];
