// Relationships over REST, tRPC and the command line; what they say is what the gate does.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

// Each test of the command line starts several processes; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000 });

let app: StartedApp;
let ann: string;
beforeAll(async () => {
  app = await startApp();
  ann = await newUser(app, "ann");
  await newUser(app, "ben");
});
afterAll(() => app.close());

const post = (path: string, body: object, key = app.adminKey) =>
  app.api("POST", `/relationships${path}`, { body, key });
const change = (operation: string, ...texts: string[]) =>
  post("", { changes: texts.map((relationship) => ({ operation, relationship })) });
const texts = async (query = ""): Promise<string[]> => {
  const { status, body } = await app.api("GET", `/relationships?limit=100${query}`);
  expect(status).toBe(200);
  conforms("relationships.listRelationships", body);
  return (body as { items: { text: string }[] }).items.map(({ text }) => text);
};
const call = async (key: string) =>
  (
    await app.api("POST", "/executions", {
      key,
      body: { name: "system/echo", arguments: { text: "x" } },
    })
  ).status;

describe("over REST and tRPC", () => {
  test("B07: a grant lets a user see and run a tool, its end hides it again, each before it is acknowledged", async () => {
    const granted = await texts("&resource=tool:system/echo&relation=executor");
    if (granted.length > 0) await change("delete", ...granted);
    expect(await call(ann)).toBe(404);
    const grant = "tool:system/echo#executor@user:ann";
    const written = await change("touch", grant);
    expect(written.status).toBe(200);
    conforms("relationships.writeRelationships", written.body);
    expect(await call(ann)).toBe(200);
    expect(await texts("&subject=user:ann&resource=tool")).toEqual([grant]);
    await change("delete", grant);
    expect(await call(ann)).toBe(404);
    const { body } = await app.api("GET", "/tools", { key: ann });
    expect(JSON.stringify(body)).not.toContain("system/echo");

    await change(
      "touch",
      "group:eng#member@user:ann",
      "tool:system/echo#executor@group:eng#member",
    );
    expect(await call(ann)).toBe(200);
    await change("delete", "group:eng#member@user:ann");
    expect(await call(ann)).toBe(404);
    await change("touch", ...granted);
  });

  test("a grant with an end is over when its time is", async () => {
    const end = new Date(Date.now() + 700).toISOString();
    await change("touch", `tool:timed#executor@user:ann[expiration:${end}]`);
    const question = { resource: "tool:timed", permission: "execute", subject: "user:ann" };
    expect((await post("/check", question)).body).toEqual({ has: "yes", missing: [] });
    await new Promise((resolve) => setTimeout(resolve, 800));
    expect((await post("/check", question)).body).toEqual({ has: "no", missing: [] });
    expect(await texts("&resource=tool:timed")).toEqual([]);
  });

  test("every change is audited with its author", async () => {
    await change("touch", "group:audited#member@user:ben");
    const events = await app.app.store.log.since(
      0,
      { tenantId: "local", actor: "owner", tenantActions: ["relations.changed"] },
      1_000,
    );
    const noted = events.filter(({ body }) => body.includes("touch group:audited#member@user:ben"));
    expect(noted).toMatchObject([{ action: "relations.changed", actor: "owner" }]);
  });

  test("answers questions, shows the tree, finds resources and subjects, gives the schema", async () => {
    await change("touch", "tool:shown#executor@user:ben");
    const expanded = await post("/expand", { resource: "tool:shown", permission: "execute" });
    conforms("relationships.expandRelationship", expanded.body);
    expect(JSON.stringify(expanded.body)).toContain('{"type":"user","id":"ben"}');
    const found = await post("/lookup-resources", {
      type: "tool",
      permission: "execute",
      subject: "user:ben",
    });
    conforms("relationships.lookupResources", found.body);
    expect(found.body.items).toContainEqual({ id: "shown", has: "yes", missing: [] });
    const who = await post("/lookup-subjects", {
      resource: "tool:shown",
      permission: "execute",
      subjectType: "user",
    });
    conforms("relationships.lookupSubjects", who.body);
    expect(who.body.items).toEqual([{ id: "ben", has: "yes", missing: [], except: [] }]);
    const schema = await app.api("GET", "/relationships/schema");
    conforms("relationships.getRelationSchema", schema.body);
    expect(schema.body).toMatchObject({
      engine: "embedded",
      schema: expect.stringContaining("definition tool") as string,
    });

    const trpc = trpcClient(app).relationships;
    expect(
      await trpc.checkRelationship.query({
        resource: "tool:shown",
        permission: "execute",
        subject: { type: "user", id: "ben" },
      }),
    ).toEqual({ has: "yes", missing: [] });
    const { revision } = await trpc.writeRelationships.mutate({
      changes: [{ operation: "delete", relationship: "tool:shown#executor@user:ben" }],
    });
    expect(revision).not.toBe("");
    expect((await trpc.listRelationships.query({ resource: "tool:shown" })).items).toEqual([]);
    const fault = await trpcFailure(
      trpc.writeRelationships.mutate({ changes: [{ relationship: "x" }] }),
    );
    expect(fault.error).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
  });

  test("pages are complete and without repeats", async () => {
    const written = Array.from({ length: 7 }, (_, i) => `group:paged${i}#member@user:ben`);
    await change("touch", ...written);
    const seen: string[] = [];
    for (let after = "", pages = 0; pages < 50; pages++) {
      const { body } = await app.api("GET", `/relationships?resource=group&limit=3${after}`);
      const page = body as { items: { text: string }[]; next: string | null };
      seen.push(...page.items.map(({ text }) => text));
      if (page.next === null) break;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(written));
    const bad = await app.api("GET", "/relationships?after=nonsense");
    expect([bad.status, bad.body.code]).toEqual([400, "BAD_REQUEST"]);
  });

  test("only administrators may; faults name their field", async () => {
    for (const [method, path] of [
      ["GET", ""],
      ["POST", ""],
      ["POST", "/check"],
      ["POST", "/expand"],
      ["POST", "/lookup-resources"],
      ["POST", "/lookup-subjects"],
      ["GET", "/schema"],
    ] as const) {
      const { status, body } = await app.api(method, `/relationships${path}`, {
        key: ann,
        ...(method === "POST" && { body: {} }),
      });
      expect([path, status, body.reason]).toEqual([path, 403, "admin_only"]);
    }
    const unknown = await change("touch", "tool:a#executor@user:nobody");
    expect(unknown.status).toBe(400);
    expect(unknown.body.errors[0]).toMatchObject({ path: "/changes/0/relationship/subject" });
    expect((await change("touch", "tenant:other#admin@user:ann")).status).toBe(400);
    expect((await change("touch", "tool:a#nonsense@user:ann")).status).toBe(400);
    await change("touch", "tool:twice#owner@user:ann");
    const again = await change("create", "tool:twice#owner@user:ann");
    expect([again.status, again.body.reason]).toEqual([409, "already_exists"]);
    const free = {
      operation: "must_not_match",
      filter: { resource: "tool:twice", relation: "owner" },
    };
    const stale = await post("", {
      changes: [{ relationship: "tool:twice#owner@user:ben" }],
      preconditions: [free],
    });
    expect([stale.status, stale.body.reason]).toEqual([409, "stale"]);
  });
});

describe("ostiary relations", () => {
  const cli = (words: string, input?: string) =>
    runBin(["relations", ...words.split(" ")], {
      env: { OSTIARY_DATA_DIR: app.dataDir },
      ...(input !== undefined && { input }),
    });

  test("writes, checks, lists and deletes; the exit code is the answer", async () => {
    const grant = "tool:typed#executor@user:ben";
    expect(await cli(`write ${grant} --expires 2h`)).toMatchObject({ code: 0 });
    const yes = await cli("check tool:typed#execute@user:ben --tree");
    expect(yes.code).toBe(0);
    expect(yes.stdout).toMatch(/^yes\ntool:typed#execute {2}union\n/);
    expect(yes.stdout).toMatch(/[├└]─ executor {2}user:ben\n/);
    expect((await cli("list --resource tool:typed")).stdout).toMatch(
      /^tool:typed#executor@user:ben\[expiration:\S+\]\n$/,
    );
    expect((await cli("expand tool:typed#execute --json")).json()).toMatchObject({
      name: "execute",
    });
    expect(await cli(`delete ${grant}`)).toMatchObject({ code: 0 });
    const no = await cli("check tool:typed#execute@user:ben --json");
    expect(no.code).toBe(1);
    expect(no.json()).toEqual({ has: "no", missing: [] });
  });

  test("takes lines from stdin, and a file of the playground both ways", async () => {
    expect(
      (
        await cli(
          "write --file - --json",
          "// two\ntool:l1#owner@user:ben\n\ntool:l2#owner@user:ben\n",
        )
      ).json(),
    ).toMatchObject({ changed: 2 });
    const file = join(app.workspace, "relations.yaml");
    expect(await cli(`export --file ${file}`)).toMatchObject({ code: 0, stdout: "" });
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/^schema: \|-\n/);
    expect(text).toContain("\n  tool:l1#owner@user:ben\n");
    expect((await cli("export")).stdout).toBe(text);
    await cli("delete tool:l1#owner@user:ben tool:l2#owner@user:ben");
    writeFileSync(file, "relationships: |-\n  tool:l1#owner@user:ben\n  tool:l2#owner@user:ben\n");
    expect((await cli(`import --file ${file} --json`)).json()).toMatchObject({ imported: 2 });
    expect((await cli("check tool:l2#owner@user:ben")).code).toBe(0);
  });

  test("what is mistyped is a matter of usage", async () => {
    for (const words of [
      "check nonsense",
      "write",
      "write tool:a",
      "expand tool:a",
      "lst",
      "import --file /nowhere.yaml",
    ]) {
      const ran = await cli(words);
      expect([words, ran.code]).toEqual([words, 2]);
      expect(ran.stderr).toMatch(/^error: /);
    }
    const bad = await cli("write tool:a#executor@user:nobody");
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain("there is no user 'nobody'");
  });
});

describe("docs/relations.md", () => {
  const root = join(import.meta.dirname, "../..");
  const page = readFileSync(join(root, "docs/relations.md"), "utf8");

  test("its commands run, one after the other, and print what it says", async () => {
    const examples = [...page.matchAll(/```sh\nostiary (.*)\n```\n(?:\n```text\n([^`]*)```)?/g)];
    expect(examples.length).toBeGreaterThan(7);
    for (const [, words = "", output] of examples) {
      const ran = await runBin(words.split(" "), {
        env: { OSTIARY_DATA_DIR: app.dataDir },
        cwd: app.workspace,
      });
      expect([words, ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([words, 0, ""]);
      if (output !== undefined) expect(ran.stdout).toBe(output);
    }
  });

  test("what it quotes of the schema stands in the schema", () => {
    const schema = readFileSync(join(root, "governance/schema.zed"), "utf8").split("\n");
    const [, quoted = ""] = /```zed\n([^`]*)```/.exec(page) ?? [];
    for (const line of quoted.trimEnd().split("\n")) expect(schema).toContain(line);
  });
});
