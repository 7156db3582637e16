// Policies and governance files with their versions: over REST, tRPC and the command line, and what they do to calls.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

const ROOT = join(import.meta.dirname, "../..");
const STARTER = {
  "tools.rego": readFileSync(join(ROOT, "governance/policies/tools.rego"), "utf8"),
  "tools_test.rego": readFileSync(join(ROOT, "governance/policies/tools_test.rego"), "utf8"),
};
/** Looking is for tool users; running `system/echo` also needs a kind word. */
const KIND = {
  "tools.rego": `package ostiary.tools

default allow := false

allow if {
	"tool_user" in input.roles
	count(reasons) == 0
}

reasons contains "say please" if {
	input.action == "execute"
	input.tool_name == "system/echo"
	not kind
}

kind if contains(input.arguments.text, "please")
`,
  "tools_test.rego": `package tools_test

import data.ostiary.tools

test_nobody if not tools.allow with input as {}
`,
};

let app: StartedApp;
let ann: string;
beforeAll(async () => {
  app = await startApp();
  ann = await newUser(app, "ann");
});
afterAll(() => app.close());

const post = (path: string, body: object = {}, key = app.adminKey) =>
  app.api("POST", path, { body, key });
const echo = (text: string) =>
  post("/executions", { name: "system/echo", arguments: { text } }, ann);
const draft = async (files: object, note = "test"): Promise<number> =>
  (await post("/policies", { files, note })).body.document.version as number;
const inForce = async (path = "/policies") => {
  const { body } = await app.api("GET", path);
  return (body.items as { state: string; version: number }[]).find(
    ({ state }) => state === "enforced",
  )?.version;
};
/** The newest event of this kind, as it lies in the log. */
const lastNote = (action: string) => {
  const database = new DatabaseSync(join(app.dataDir, "ostiary.db"), { readOnly: true });
  try {
    const row = database
      .prepare("select body from events where action = ? order by seq desc limit 1")
      .get(action);
    return JSON.parse(String(row?.["body"])) as Record<string, unknown>;
  } finally {
    database.close();
  }
};

describe("policies over the API", () => {
  test("C5: the files that come with Ostiary are version 1, imported and in force", async () => {
    const { status, body } = await app.api("GET", "/policies");
    expect(status).toBe(200);
    conforms("policies.listPolicyVersions", body);
    expect(body.items[0]).toMatchObject({ version: 1, state: "enforced", createdBy: "import" });
    const one = await app.api("GET", "/policies/1");
    conforms("policies.getPolicyVersion", one.body);
    expect(one.body.files).toEqual(STARTER);
    expect((await app.api("GET", "/governance")).body.items[0]).toMatchObject({
      version: 1,
      state: "enforced",
    });
    const schema = await app.api("GET", "/relationships/schema/versions/1");
    conforms("relationSchema.getRelationSchemaVersion", schema.body);
    expect(schema.body.files["schema.zed"]).toContain("definition");
  });

  test("a policy is checked without being kept; a fault has file, line and column", async () => {
    const good = await post("/policies/check", { files: KIND });
    conforms("policies.checkPolicy", good.body);
    expect(good.body).toEqual({ valid: true, faults: [] });
    const bad = await post("/policies/check", {
      files: { ...KIND, "x.rego": "package x\n\np if q" },
    });
    expect(bad.body).toMatchObject({ valid: false, faults: [{ file: "x.rego", line: 3 }] });
    const untested = await post("/policies/check", { files: { "tools.rego": KIND["tools.rego"] } });
    expect(untested.body).toMatchObject({ valid: true, faults: [{ severity: "warning" }] });
    const failing = { ...KIND, "b_test.rego": "package b_test\n\ntest_no if 1 == 2" };
    expect((await post("/policies/check", { files: failing })).body.faults).toMatchObject([
      {
        file: "b_test.rego",
        line: 3,
        message: expect.stringContaining("b_test.rego:3:12 does not hold") as string,
      },
    ]);
    expect((await app.api("GET", "/policies")).body.items).toHaveLength(1);
  });

  test("drafted, published, in force with the next call, and rolled back", async () => {
    expect((await echo("hello")).body).toMatchObject({ status: "success" });
    const made = await post("/policies", { files: KIND, note: "be kind" });
    expect(made.status).toBe(201);
    conforms("policies.draftPolicy", made.body);
    const { version } = made.body.document as { version: number };
    expect(made.headers.get("location")).toBe(`/api/v1/policies/${version}`);
    expect((await echo("hello")).body).toMatchObject({ status: "success" });

    const published = await post(`/policies/${version}/publish`);
    conforms("policies.publishPolicy", published.body);
    expect(published.body).toMatchObject({ version, state: "enforced", note: "be kind" });
    const refused = await echo("hello");
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({
      code: "FORBIDDEN",
      reason: "policy_denied",
      detail: "the policy refuses this call: say please",
    });
    expect(refused.body.gates.at(-1)).toMatchObject({
      stage: "policy",
      verdict: "deny",
      rule: "tools.rego:10",
    });
    expect((await echo("hello, please")).body).toMatchObject({ status: "success" });
    const names = (
      (await app.api("GET", "/tools", { key: ann })).body.tools as { name: string }[]
    ).map(({ name }) => name);
    expect(names).toContain("system/echo");
    expect(lastNote("policy.changed")).toMatchObject({
      how: "publish",
      version,
      former: 1,
      note: "be kind",
    });

    const back = await post("/policies/rollback");
    conforms("policies.rollbackPolicy", back.body);
    expect(back.body).toMatchObject({ version: 1, state: "enforced" });
    expect((await echo("hello")).body).toMatchObject({ status: "success" });
    expect(lastNote("policy.changed")).toMatchObject({
      how: "rollback",
      version: 1,
      former: version,
    });
  });

  test("a no to view hides the tool: not listed, not found, and no word of the policy", async () => {
    const files = {
      ...KIND,
      "tools.rego": KIND["tools.rego"].replace('input.action == "execute"\n', "input.action\n"),
    };
    const version = await draft(files);
    expect((await post(`/policies/${version}/publish`)).status).toBe(200);
    const names = (
      (await app.api("GET", "/tools", { key: ann })).body.tools as { name: string }[]
    ).map(({ name }) => name);
    expect(names).not.toContain("system/echo");
    expect(names).toContain("system/time");
    const hidden = await echo("please");
    expect(hidden.status).toBe(404);
    expect(JSON.stringify(hidden.body)).not.toMatch(/please|tools\.rego|policy/);
    await post("/policies/rollback", { version: 1 });
    expect((await echo("please")).body).toMatchObject({ status: "success" });
  });

  test("on trial a policy is heard and changes nothing", async () => {
    const version = await draft(KIND);
    const trial = await post(`/policies/${version}/publish`, { as: "shadow" });
    expect(trial.body).toMatchObject({ version, state: "shadow" });
    const { body } = await echo("hello");
    expect(body).toMatchObject({ status: "success" });
    const gate = (body.gates as { stage: string; shadow?: object }[]).find(
      ({ stage }) => stage === "policy",
    );
    expect(gate?.shadow).toMatchObject({ version: String(version), verdict: "deny" });
    expect(await inForce()).toBe(1);
    const ended = await app.api("DELETE", "/policies/shadow");
    conforms("policies.endPolicyTrial", ended.body);
    const after = (await echo("hello")).body.gates as { stage: string }[];
    expect(after.find(({ stage }) => stage === "policy")).not.toHaveProperty("shadow");
  });

  test("what has faults is not published, and every fault is named", async () => {
    const files = { "tools.rego": "package ostiary.tools\n\nallow := true\n\np if x\n\nq if y" };
    const version = await draft(files);
    const refused = await post(`/policies/${version}/publish`);
    expect(refused.status).toBe(400);
    expect(refused.body.errors.map(({ path }: { path: string }) => path)).toEqual([
      "tools.rego:5:6",
      "tools.rego:7:6",
    ]);
    expect(await inForce()).toBe(1);
  });

  test("bad input is named by field; unknown versions are not found", async () => {
    for (const [body, path] of [
      [{}, "/files"],
      [{ files: {} }, "/files"],
      [{ files: { "../x.rego": "" } }, "/files/..~1x.rego"],
      [{ files: { "/x.rego": "" } }, "/files/~1x.rego"],
      [{ files: { "x.rego": 1 } }, "/files/x.rego"],
      [{ files: KIND, state: "enforced" }, "/state"],
    ] as const) {
      const answer = await post("/policies", body);
      expect(answer.status, JSON.stringify(body)).toBe(400);
      expect(answer.body.errors[0].path).toBe(path);
    }
    expect((await app.api("GET", "/policies/999")).status).toBe(404);
    expect((await app.api("GET", "/policies/latest")).status).toBe(400);
    expect((await post("/policies/999/publish")).status).toBe(404);
    expect((await post("/policies/rollback", { version: 999 })).status).toBe(404);
  });

  test("is for administrators", async () => {
    for (const [method, path] of [
      ["GET", "/policies"],
      ["GET", "/policies/1"],
      ["POST", "/policies"],
      ["POST", "/policies/check"],
      ["POST", "/policies/1/publish"],
      ["POST", "/policies/rollback"],
      ["DELETE", "/policies/shadow"],
      ["GET", "/governance"],
      ["GET", "/relationships/schema/versions"],
    ] as const) {
      const body = method === "POST" ? { body: {} } : {};
      expect((await app.api(method, path, { key: ann, ...body })).status, path).toBe(403);
    }
  });

  test("the same over tRPC", async () => {
    const { policies, governance } = trpcClient(app);
    const { document, faults } = await policies.draftPolicy.mutate({ files: KIND, note: "t" });
    expect(faults).toEqual([]);
    expect((await policies.checkPolicy.mutate({ files: KIND })).valid).toBe(true);
    expect((await policies.publishPolicy.mutate({ version: document.version })).state).toBe(
      "enforced",
    );
    expect((await policies.getPolicyVersion.query({ version: document.version })).files).toEqual(
      KIND,
    );
    expect((await policies.rollbackPolicy.mutate({ version: 1 })).version).toBe(1);
    expect((await policies.listPolicyVersions.query({ limit: 1 })).next).toBe(document.version);
    expect(await policies.endPolicyTrial.mutate()).toEqual({ success: true });
    expect((await governance.listGovernanceVersions.query()).items[0]?.version).toBe(1);
    const failure = await trpcFailure(trpcClient(app, ann).policies.listPolicyVersions.query());
    expect(failure.httpStatus).toBe(403);
  });
});

describe("what the policy is asked about a recorded call", () => {
  test("is answered for a given call and for the newest, over REST and tRPC", async () => {
    const { executionId: id } = (await echo("say please")).body as { executionId: string };
    const { status, body } = await app.api("GET", `/policies/input?executionId=${id}`);
    expect(status).toBe(200);
    conforms("policies.getPolicyInput", body);
    expect(body).toMatchObject({
      executionId: id,
      path: "ostiary/tools/allow",
      input: {
        user_id: "ann",
        tool_name: "system/echo",
        action: "execute",
        roles: expect.arrayContaining(["tool_user"]) as unknown,
        tool: { name: "system/echo", risk: "safe" },
        mode: "NORMAL",
        argument_names: ["text"],
        arguments: { text: "say please" },
      },
    });
    expect(body.tools["system/echo"]).toEqual({ enabled: true });
    const newest = await trpcClient(app).policies.getPolicyInput.query();
    expect(newest).toEqual(body);
  });

  test("an unknown call is not found, and only administrators may ask", async () => {
    const unknown = await app.api("GET", "/policies/input?executionId=exec_1_none");
    expect(unknown.status).toBe(404);
    expect((await app.api("GET", "/policies/input", { key: ann })).status).toBe(403);
  });
});

describe("governance files over the API", () => {
  test("are checked with file and line, published and rolled back", async () => {
    const { files } = (await app.api("GET", "/governance/1")).body as {
      files: Record<string, string>;
    };
    const bad = { ...files, "tools.yaml": `${files["tools.yaml"] ?? ""}\nnonsense: true\n` };
    const checked = await post("/governance/check", { files: bad });
    conforms("governance.checkGovernance", checked.body);
    expect(checked.body).toMatchObject({ valid: false, faults: [{ file: "tools.yaml" }] });
    const fresh = { ...files, "tools.yaml": `${files["tools.yaml"] ?? ""}\n# a remark\n` };
    const made = await post("/governance", { files: fresh, note: "remark" });
    const { version } = made.body.document as { version: number };
    expect((await post(`/governance/${version}/publish`, { as: "shadow" })).status).toBe(400);
    expect((await post(`/governance/${version}/publish`)).status).toBe(200);
    expect(await inForce("/governance")).toBe(version);
    expect(lastNote("governance.changed")).toMatchObject({
      version,
      changes: [expect.stringContaining("tools.yaml") as string],
    });
    expect((await post("/governance/rollback")).body).toMatchObject({ version: 1 });
  });
});

/** A copy of the governance files that come with Ostiary. */
function copyOfGovernance(): string {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-governance-"));
  cpSync(join(ROOT, "governance"), folder, { recursive: true });
  return folder;
}

describe("a later start", () => {
  test("C5: keeps what people published, and takes changed files otherwise", async () => {
    const folder = copyOfGovernance();
    const flags = { governance: folder };
    let own = await startApp({ flags });
    const { dataDir } = own;
    const versions = async () =>
      (
        (await own.api("GET", "/policies")).body.items as {
          version: number;
          state: string;
          createdBy: string;
        }[]
      ).map(({ version, state, createdBy }) => `${version} ${state} ${createdBy}`);
    expect(await versions()).toEqual(["1 enforced import"]);
    await own.stop();

    writeFileSync(join(folder, "policies/tools.rego"), `${STARTER["tools.rego"]}\n# changed\n`);
    own = await startApp({ flags, dataDir });
    expect(await versions()).toEqual(["2 enforced import", "1 retired import"]);
    const made = await own.api("POST", "/policies", { body: { files: KIND } });
    await own.api("POST", `/policies/${made.body.document.version}/publish`, { body: {} });
    await own.stop();

    writeFileSync(join(folder, "policies/tools.rego"), `${STARTER["tools.rego"]}\n# again\n`);
    own = await startApp({ flags, dataDir });
    expect((await versions())[0]).toBe("3 enforced owner");
    await own.stop();

    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir);
    writeFileSync(join(folder, "policies/tools.rego"), "package ostiary.tools\n\nallow if x");
    await expect(startApp({ flags, dataDir })).rejects.toThrow(
      /tools\.rego:3:10 .*var x is unsafe/s,
    );
    rmSync(dataDir, { recursive: true, force: true });
    rmSync(folder, { recursive: true });
  });

  test("an operator's own policies are theirs: whom they allow is not asked", async () => {
    const folder = copyOfGovernance();
    writeFileSync(
      join(folder, "policies/tools.rego"),
      'package ostiary.tools\n\ndefault allow := false\n\nallow if "ops" in input.roles\n',
    );
    rmSync(join(folder, "policies/tools_test.rego"));
    const own = await startApp({ flags: { governance: folder } });
    const key = await newUser(own, "bob");
    expect((await own.api("GET", "/tools", { key })).body.tools).toEqual([]);
    await own.api("PATCH", "/users/bob", { body: { roles: ["ops"] } });
    expect((await own.api("GET", "/tools", { key })).body.tools.length).toBeGreaterThan(3);
    await own.close();
    rmSync(folder, { recursive: true });
  });
});
