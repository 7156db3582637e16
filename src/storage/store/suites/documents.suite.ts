// Relationships, governed documents and revisions: part of the store's suite.
import { describe, expect, test } from "vitest";
import type { DocumentVersion } from "../../../contract/document.ts";
import { atOnce, T0 } from "./samples.suite.ts";
import {
  AlreadyExists,
  PreconditionFailed,
  type Store,
  type TupleChange,
  type TupleRow,
} from "../store.ts";

const tuple = (resourceId: string, more: Partial<TupleRow> = {}): TupleRow => ({
  resourceType: "tool",
  resourceId,
  relation: "executor",
  subjectType: "user",
  subjectId: "ann",
  subjectRelation: "",
  caveat: "",
  caveatContext: "",
  expiresAt: null,
  ...more,
});
type Preconditions = Parameters<Store["tuples"]["write"]>[1];
const change = (operation: TupleChange["operation"], row: TupleRow): TupleChange => ({
  operation,
  tuple: row,
});
const create = (row: TupleRow) => change("create", row);
const byId = (a: TupleRow, b: TupleRow) => (a.resourceId < b.resourceId ? -1 : 1);

export function documentsSuite(store: () => Store, another: () => Promise<Store>): void {
  const both = async (): Promise<[Store, Store]> => [store(), await another()];

  describe("tuples", () => {
    const all = async () => (await store().tuples.all()).tuples.toSorted(byId);

    test("created, touched, deleted; each write is one revision", async () => {
      const { tuples } = store();
      expect(await tuples.all()).toEqual({ revision: 0, tuples: [] });
      expect(await tuples.since(0)).toEqual({ revision: 0, changes: [] });
      const first = [create(tuple("a")), create(tuple("b", { subjectRelation: "member" }))];
      expect(await tuples.write(first, [], T0)).toBe(1);
      const touched = tuple("a", {
        caveat: "office",
        caveatContext: '{"hour":9}',
        expiresAt: T0 + 5,
      });
      const second = [change("touch", touched), change("delete", tuple("nothing"))];
      expect(await tuples.write(second, [], T0)).toBe(2);
      expect(await all()).toEqual([touched, tuple("b", { subjectRelation: "member" })]);
      expect(
        await tuples.write([change("delete", tuple("b", { subjectRelation: "member" }))], [], T0),
      ).toBe(3);
      expect(await tuples.all()).toEqual({ revision: 3, tuples: [touched] });
      expect(await tuples.since(1)).toMatchObject({
        revision: 3,
        changes: [...second, { operation: "delete" }],
      });
      expect((await tuples.since(0))?.changes.length).toBe(5);
      expect(await tuples.since(3)).toEqual({ revision: 3, changes: [] });
      expect(await tuples.write([], [], T0)).toBe(3);
    });

    test("a revision that is not known means: read all", async () => {
      await store().tuples.write([create(tuple("a"))], [], T0);
      expect(await store().tuples.since(7)).toBeNull();
    });

    test("a create of what is there writes nothing; an expired one is not there", async () => {
      const { tuples } = store();
      await tuples.write([create(tuple("a", { expiresAt: T0 + 10 }))], [], T0);
      const again = [create(tuple("new")), create(tuple("a", { caveat: "c" }))];
      await expect(tuples.write(again, [], T0 + 9)).rejects.toEqual(
        new AlreadyExists("relationship"),
      );
      expect((await all()).map((t) => t.resourceId)).toEqual(["a"]);
      expect(await tuples.write(again, [], T0 + 10)).toBe(2);
      expect(await all()).toEqual([tuple("a", { caveat: "c" }), tuple("new")]);
      await expect(tuples.write([create(tuple("b")), create(tuple("b"))], [], T0)).rejects.toThrow(
        AlreadyExists,
      );
    });

    test("preconditions hold for the whole write, or nothing is written", async () => {
      const { tuples } = store();
      await tuples.write([create(tuple("a", { expiresAt: T0 + 10 }))], [], T0);
      const there = { matches: true, filter: { resourceType: "tool", resourceId: "a" } };
      const absent = { matches: false, filter: { subjectId: "bob" } };
      const failed = (conditions: Preconditions, now = T0) =>
        expect(tuples.write([create(tuple("x"))], conditions, now)).rejects.toThrow(
          PreconditionFailed,
        );
      await failed([absent, { matches: false, filter: {} }]);
      await failed([there, { matches: true, filter: { subjectId: "bob" } }]);
      await failed([there], T0 + 10);
      expect((await tuples.all()).revision).toBe(1);
      expect(await tuples.write([create(tuple("x"))], [there, absent], T0)).toBe(2);
      // The state before the write counts, not what the write makes.
      expect(await tuples.write([create(tuple("y", { subjectId: "bob" }))], [absent], T0)).toBe(3);
    });

    test("2,000 in one write", async () => {
      const many = Array.from({ length: 2000 }, (_, i) => create(tuple(`t${i}`)));
      expect(await store().tuples.write(many, [], T0)).toBe(1);
      expect((await store().tuples.all()).tuples.length).toBe(2000);
      expect((await store().tuples.since(0))?.changes).toEqual(many);
    });

    test("of 50 that create the same at once exactly one does; revisions have no gap", async () => {
      const stores = await both();
      const answers = await atOnce(50, stores, (s) =>
        s.tuples.write([create(tuple("a"))], [], T0).catch((cause: unknown) => cause as Error),
      );
      expect(answers.filter((a) => a === 1).length).toBe(1);
      expect(answers.filter((a) => a instanceof AlreadyExists).length).toBe(49);
      const written = await atOnce(50, stores, (s, i) =>
        s.tuples.write([create(tuple(`b${i}`))], [], T0),
      );
      expect(written.toSorted((a, b) => a - b)).toEqual(written.map((_, i) => i + 2));
      const unless = { matches: false, filter: { resourceId: "c" } };
      const once = await atOnce(50, stores, (s, i) =>
        s.tuples.write([create(tuple("c", { subjectId: `u${i}` }))], [unless], T0).catch(() => 0),
      );
      expect(once.filter((revision) => revision > 0).length).toBe(1);
    });
  });

  describe("documents", () => {
    const draft: Omit<DocumentVersion, "version"> = {
      kind: "policy",
      state: "draft",
      files: { "a.rego": "package a\n", "ü.rego": "" },
      hash: "h",
      note: "first",
      createdBy: "ann",
      createdAt: T0,
      enforcedAt: null,
    };
    const states = async () =>
      (await store().documents.list("policy", { limit: 99 })).map((d) => d.state);

    test("versions count per kind, and come back as they went in", async () => {
      const { documents } = store();
      expect(await documents.create(draft)).toEqual({ ...draft, version: 1 });
      expect(await documents.create({ ...draft, note: "second" })).toMatchObject({ version: 2 });
      expect(await documents.create({ ...draft, kind: "governance" })).toMatchObject({
        version: 1,
      });
      expect(await documents.get("policy", 1)).toEqual({ ...draft, version: 1 });
      expect(await documents.get("policy", 9)).toBeNull();
      expect(await documents.inState("policy", "enforced")).toBeNull();
      expect((await documents.list("policy", { limit: 9 })).map((d) => d.version)).toEqual([2, 1]);
      expect(
        (await documents.list("policy", { limit: 1, before: 2 })).map((d) => d.version),
      ).toEqual([1]);
    });

    test("one is enforced and one on trial; the former retires", async () => {
      const { documents } = store();
      await documents.create({ ...draft, state: "enforced", enforcedAt: T0 });
      await documents.create(draft);
      expect(await documents.setState("policy", 2, "shadow", T0 + 1)).toMatchObject({
        state: "shadow",
        enforcedAt: null,
      });
      expect(await documents.setState("policy", 2, "enforced", T0 + 2)).toMatchObject({
        state: "enforced",
        enforcedAt: T0 + 2,
      });
      expect(await states()).toEqual(["enforced", "retired"]);
      expect(await documents.inState("policy", "shadow")).toBeNull();
      expect(await documents.setState("policy", 9, "enforced", T0)).toBeNull();
      expect(await documents.inState("policy", "enforced")).toMatchObject({ version: 2 });
      expect(await documents.setState("policy", 2, "enforced", T0 + 3)).toMatchObject({
        enforcedAt: T0 + 3,
      });
      await documents.create({ ...draft, state: "enforced", enforcedAt: T0 });
      expect(await states()).toEqual(["enforced", "retired", "retired"]);
    });

    test("two instances at once: no gap in the versions, one holder", async () => {
      const stores = await both();
      const made = await atOnce(40, stores, (s) => s.documents.create(draft));
      expect(made.map((d) => d.version).toSorted((a, b) => a - b)).toEqual(
        made.map((_, i) => i + 1),
      );
      await atOnce(20, stores, (s, i) => s.documents.setState("policy", i + 1, "enforced", T0));
      expect((await states()).filter((state) => state === "enforced").length).toBe(1);
    });
  });

  test("revisions rise by one, whoever bumps them", async () => {
    expect(await store().revisions.all()).toEqual({});
    const bumped = await atOnce(50, await both(), (s) => s.revisions.bump("policy"));
    expect(bumped.toSorted((a, b) => a - b)).toEqual(bumped.map((_, i) => i + 1));
    expect(await store().revisions.bump("mode")).toBe(1);
    expect(await store().revisions.all()).toEqual({ policy: 50, mode: 1 });
  });
}
