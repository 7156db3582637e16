import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testCaller } from "../../../test/fixtures/gate.ts";
import { AppError } from "../../contract/errors.ts";
import { createFollower } from "../../storage/store/follow.ts";
import { openStore, type Store } from "../../storage/store/store.ts";
import { createDocuments, type StartedDocuments } from "./documents.ts";
import { DOCUMENT_KINDS, type DocumentKind } from "../../contract/document.ts";
import { type DocumentHandler } from "../rules/governance.ts";
import { importDocuments } from "./import.ts";

const ann = testCaller({ userId: "ann", role: "admin" });
const FILES = {
  policy: { "a.rego": "one\n" },
  governance: { "tools.yaml": "x\n" },
  relations: { "schema.zed": "y\n" },
};

/**
 * What the handlers of a kind were told, and how they answer: a text with `bad` in it has a fault, with `hm` a
 * warning.
 */
class Kind implements DocumentHandler {
  readonly applied: string[] = [];
  failing: Error | null = null;

  async check(files: Readonly<Record<string, string>>) {
    return Object.entries(files).flatMap(([file, text]) => [
      ...(text.includes("bad") ? [{ file, line: 2, column: 3, message: "is bad" }] : []),
      ...(text.includes("hm")
        ? [{ file, line: 1, column: 1, message: "hm", severity: "warning" as const }]
        : []),
    ]);
  }

  async apply(...[state, document]: Parameters<DocumentHandler["apply"]>) {
    if (this.failing) throw this.failing;
    this.applied.push(`${state} ${document?.version ?? "-"}`);
  }
}

interface Instance {
  readonly documents: StartedDocuments;
  readonly kinds: Record<DocumentKind, Kind>;
  readonly notes: { action: string; actor: string; body: Record<string, unknown> }[];
  readonly warnings: { fields: Record<string, unknown>; message: string }[];
  begin(files?: Record<DocumentKind, Record<string, string>>): Promise<void>;
}

let dir: string;
let store: Store;
let clock = 1_000;
const now = () => ++clock;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "ostiary-documents-"));
  store = await openStore("sqlite:test.db", { dataDir: dir });
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

function instance(on: Store = store): Instance {
  const kinds = { policy: new Kind(), governance: new Kind(), relations: new Kind() };
  const notes: Instance["notes"] = [];
  const warnings: Instance["warnings"] = [];
  const common = {
    store: on,
    handlers: kinds,
    now,
    warn: (fields: object, message: string) =>
      void warnings.push({ fields: fields as Record<string, unknown>, message }),
  };
  const documents = createDocuments({
    ...common,
    follower: createFollower({ store: on, now, pollMs: 10, leaseMs: 40 }),
    note: async (action, actor, body) => void notes.push({ action, actor: actor.userId, body }),
  });
  return {
    documents,
    kinds,
    notes,
    warnings,
    async begin(files = FILES) {
      const note = async (action: string, body: Record<string, unknown>) =>
        void notes.push({ action, actor: "import", body });
      await importDocuments({ ...common, note }, files);
      await documents.start();
    },
  };
}

const code = (work: Promise<unknown>) =>
  work.then(
    () => "fine",
    (cause: unknown) =>
      cause instanceof AppError ? `${cause.code}: ${cause.message}` : String(cause),
  );
const changed = (text: string, kind: DocumentKind = "policy") => ({
  ...FILES,
  [kind]: { [Object.keys(FILES[kind])[0] ?? ""]: text },
});

describe("C5: the files an installation starts with", () => {
  test("are imported, enforced, applied and audited once", async () => {
    const first = instance();
    await first.begin();
    for (const kind of DOCUMENT_KINDS) {
      expect(await first.documents.enforced(kind)).toMatchObject({
        version: 1,
        state: "enforced",
        createdBy: "import",
        files: FILES[kind],
      });
      expect(first.kinds[kind].applied).toEqual(["enforced 1"]);
    }
    expect(first.notes.map(({ action }) => action)).toEqual([
      "policy.changed",
      "governance.changed",
      "relations.changed",
    ]);
    expect(first.notes[0]?.body).toMatchObject({
      how: "import",
      version: 1,
      changes: ["a.rego: new"],
    });
    const second = instance();
    await second.begin();
    expect(second.notes).toEqual([]);
    expect(second.kinds.policy.applied).toEqual(["enforced 1"]);
  });

  test("that are not valid refuse the start with every fault of every file, and nothing is imported", async () => {
    const it = instance();
    const files = { ...changed("bad"), governance: { "tools.yaml": "bad", "modes.yaml": "bad" } };
    const refused = await code(it.begin(files));
    expect(refused).toMatch(/a\.rego:2:3 is bad\n {2}tools\.yaml:2:3 is bad\n {2}modes\.yaml:2:3/);
    expect(await store.documents.inState("relations", "enforced")).toBeNull();
    expect(await code(it.begin({ ...FILES, policy: {} }))).toMatch(/has no policy/);
    await it.begin(changed("hm"));
  });

  test("that have changed become a new version while the imported one is in force", async () => {
    await instance().begin();
    const it = instance();
    await it.begin(changed("one\ntwo\n"));
    expect(await it.documents.enforced("policy")).toMatchObject({
      version: 2,
      createdBy: "import",
    });
    expect(await it.documents.get("policy", 1)).toMatchObject({ state: "retired" });
    expect(it.notes).toMatchObject([
      {
        action: "policy.changed",
        body: { former: 1, changes: ["a.rego: 1 line added, 0 removed"] },
      },
    ]);
    expect(await code(instance().begin(changed("bad")))).toContain("a.rego:2:3");
  });

  test("do not replace what people have published since; the difference is told at every start", async () => {
    const it = instance();
    await it.begin();
    const { document } = await it.documents.draft(ann, "policy", { "a.rego": "ann's\n" }, "mine");
    await it.documents.publish(ann, "policy", document.version, "enforced");
    for (let start = 0; start < 2; start++) {
      const next = instance();
      await next.begin(changed("two\n"));
      expect(await next.documents.enforced("policy")).toMatchObject({
        version: 2,
        createdBy: "ann",
      });
      expect(next.warnings).toMatchObject([
        { fields: { kind: "policy", version: 2, changes: ["a.rego: 1 line added, 1 removed"] } },
      ]);
    }
    const same = instance();
    await same.begin(changed("ann's\n"));
    expect(same.warnings).toEqual([]);
    // Back on the imported version, the files count again.
    await same.documents.rollback(ann, "policy");
    const last = instance();
    await last.begin(changed("two\n"));
    expect(await last.documents.enforced("policy")).toMatchObject({
      version: 3,
      createdBy: "import",
    });
  });
});

describe("versions", () => {
  let it: Instance;
  const draft = async (text: string): Promise<number> =>
    (await it.documents.draft(ann, "policy", { "a.rego": text }, text)).document.version;
  beforeEach(async () => {
    it = instance();
    await it.begin();
    it.notes.length = 0;
  });

  test("a draft is kept with its faults and changes nothing", async () => {
    const { document, faults } = await it.documents.draft(
      ann,
      "policy",
      { "a.rego": "bad" },
      "try",
    );
    expect(document).toMatchObject({
      version: 2,
      state: "draft",
      createdBy: "ann",
      note: "try",
      enforcedAt: null,
    });
    expect(faults).toEqual([{ file: "a.rego", line: 2, column: 3, message: "is bad" }]);
    expect(it.kinds.policy.applied).toEqual(["enforced 1"]);
    expect(await code(it.documents.publish(ann, "policy", 2, "enforced"))).toMatch(
      /^BAD_REQUEST: .*\n {2}a\.rego:2:3 is bad/,
    );
    expect((await it.documents.enforced("policy")).version).toBe(1);
    expect(it.notes).toMatchObject([
      { actor: "ann", body: { how: "draft", version: 2, faults: 1 } },
    ]);
  });

  test("publishing applies, stores and audits; warnings stop nothing", async () => {
    const version = await draft("hm\nmore\n");
    const published = await it.documents.publish(ann, "policy", version, "enforced");
    expect(published).toMatchObject({ version: 2, state: "enforced", enforcedAt: clock });
    expect(it.kinds.policy.applied).toEqual(["enforced 1", "enforced 2"]);
    expect(it.notes.at(-1)).toMatchObject({
      action: "policy.changed",
      actor: "ann",
      body: {
        how: "publish",
        as: "enforced",
        version: 2,
        former: 1,
        changes: ["a.rego: 2 lines added, 1 removed"],
      },
    });
    expect(await store.revisions.all()).toMatchObject({ policy: 1 });
    const count = it.notes.length;
    await it.documents.publish(ann, "policy", version, "enforced");
    expect(it.notes).toHaveLength(count);
    expect((await it.documents.list("policy", { limit: 9 })).map(({ state }) => state)).toEqual([
      "enforced",
      "retired",
    ]);
  });

  test("a trial comes, is published, or ends", async () => {
    const version = await draft("two");
    expect(await code(it.documents.publish(ann, "policy", 1, "shadow"))).toMatch(
      /enforced already/,
    );
    await it.documents.publish(ann, "policy", version, "shadow");
    await it.documents.publish(ann, "policy", version, "enforced");
    expect(it.kinds.policy.applied).toEqual(["enforced 1", "shadow 2", "enforced 2", "shadow -"]);
    expect(await store.documents.inState("policy", "shadow")).toBeNull();
    await it.documents.publish(ann, "policy", await draft("three"), "shadow");
    await it.documents.unshadow(ann, "policy");
    await it.documents.unshadow(ann, "policy");
    expect(it.kinds.policy.applied.slice(4)).toEqual(["shadow 3", "shadow -"]);
    expect(it.notes.at(-1)).toMatchObject({ body: { how: "end of trial", version: 3 } });
  });

  test("rollback goes to the last one that was enforced before, or to a named one that was", async () => {
    expect(await code(it.documents.rollback(ann, "policy"))).toMatch(/^CONFLICT: No other version/);
    const two = await draft("two");
    const three = await draft("three");
    await it.documents.publish(ann, "policy", two, "enforced");
    await it.documents.publish(ann, "policy", three, "enforced");
    expect(await it.documents.rollback(ann, "policy")).toMatchObject({ version: two });
    expect(await it.documents.rollback(ann, "policy")).toMatchObject({ version: three });
    expect(await it.documents.rollback(ann, "policy", 1)).toMatchObject({
      version: 1,
      state: "enforced",
    });
    expect(it.notes.at(-1)?.body).toMatchObject({ how: "rollback", version: 1, former: three });
    const four = await draft("four");
    expect(await code(it.documents.rollback(ann, "policy", four))).toMatch(/never enforced/);
    expect(await code(it.documents.rollback(ann, "policy", 99))).toMatch(/^NOT_FOUND/);
    expect(await code(it.documents.get("governance", 9))).toMatch(/^NOT_FOUND/);
  });

  test("what cannot be applied is not stored, and what cannot be stored is taken back", async () => {
    const version = await draft("two");
    it.kinds.policy.failing = new AppError("UNAVAILABLE", "engine_unavailable", "out");
    expect(await code(it.documents.publish(ann, "policy", version, "enforced"))).toBe(
      "UNAVAILABLE: out",
    );
    expect((await it.documents.enforced("policy")).version).toBe(1);
    it.kinds.policy.failing = null;
    const broken = instance({
      ...store,
      documents: { ...store.documents, setState: () => Promise.reject(new Error("disk")) },
    });
    await broken.begin();
    expect(await code(broken.documents.publish(ann, "policy", version, "enforced"))).toBe(
      "Error: disk",
    );
    expect(broken.kinds.policy.applied).toEqual(["enforced 1", "enforced 2", "enforced 1"]);
  });

  test("two who publish at once are served one after the other", async () => {
    const [two, three] = [await draft("two"), await draft("three")];
    await Promise.all(
      [two, three].map((version) => it.documents.publish(ann, "policy", version, "enforced")),
    );
    expect(it.kinds.policy.applied.at(-1)).toBe(
      `enforced ${(await it.documents.enforced("policy")).version}`,
    );
  });

  test("another instance applies what was published here before it is acknowledged", async () => {
    const shared = { ...store, shared: true };
    const here = instance(shared);
    const there = instance(shared);
    await here.begin();
    await there.begin();
    const { document } = await here.documents.draft(ann, "policy", { "a.rego": "two" }, "");
    await here.documents.publish(ann, "policy", document.version, "enforced");
    expect(there.kinds.policy.applied).toEqual(["enforced 1", "enforced 2"]);
  });
});

test("an engine that is out does not stop the start; a version that does not load does", async () => {
  const it = instance();
  it.kinds.policy.failing = new AppError("UNAVAILABLE", "engine_unavailable", "out");
  await it.begin();
  expect(it.warnings).toMatchObject([{ message: "the policy is not in force yet" }]);
  const next = instance();
  next.kinds.governance.failing = new AppError("BAD_REQUEST", "invalid_input", "no longer valid");
  expect(await code(next.begin())).toBe("BAD_REQUEST: no longer valid");
  expect(await code(createDocumentsWithout())).toMatch(/^NOT_FOUND: No policy is enforced/);
});

async function createDocumentsWithout(): Promise<unknown> {
  const empty = await openStore("sqlite:empty.db", { dataDir: dir });
  try {
    return await instance(empty).documents.enforced("policy");
  } finally {
    await empty.close();
  }
}
