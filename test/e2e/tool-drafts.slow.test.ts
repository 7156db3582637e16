// Drafted tools over the wire: drafted and tested, invisible until linked, called in the box, versions, back and away.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { HAS_BOX } from "../fixtures/programs.ts";
import { openWeb, type Web } from "../fixtures/web.ts";
import { connect } from "./mcp-clients.ts";

const COUNT = {
  name: "system/count_words",
  description: "Counts the words of a text and answers how many there are.",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  outputSchema: {
    type: "object",
    properties: { words: { type: "integer" } },
    required: ["words"],
  },
  config: {
    kind: "code",
    language: "python",
    source:
      'def run(input):\n    print("noise")\n    return {"words": len(input["text"].split())}\n',
  },
  tests: [
    { input: { text: "one two" }, output: { words: 2 } },
    { input: { text: "" }, output: { words: 0 } },
  ],
};
const js = (source: string) => ({ kind: "code", language: "js", source });

describe.skipIf(!HAS_BOX)("drafted tools", { timeout: 180_000 }, () => {
  let app: StartedApp;
  let web: Web;
  let member: string;
  beforeAll(async () => {
    web = await openWeb();
    app = await startApp({ egress: web.egress });
    await app.api("POST", "/capsules", { body: { id: "lab", name: "Lab", capabilities: [] } });
    member = await newUser(app, "ann", { level: "admin", capsuleId: "lab", scopes: ["*"] });
  });
  afterAll(async () => {
    await app.close();
    await web.close();
  });

  const post = (path: string, body: object = {}, key = app.adminKey): Promise<ApiAnswer> =>
    app.api("POST", path, { key, body });
  const draft = async (more: object = {}): Promise<ApiAnswer["body"]> => {
    const made = await post("/tool-drafts", { ...COUNT, ...more });
    expect([made.status, made.body]).toEqual([201, made.body]);
    conforms("toolDrafts.createToolDraft", made.body);
    return made.body;
  };
  const link = async (id: string, more: object = {}): Promise<ApiAnswer["body"]> => {
    const linked = await post(`/tool-drafts/${id}/link`, {
      capsules: ["lab"],
      risk: "safe",
      ...more,
    });
    expect([linked.status, linked.body]).toEqual([200, linked.body]);
    conforms("toolDrafts.linkToolDraft", linked.body);
    return linked.body;
  };
  const call = (name: string, args: object, key = member) =>
    post("/executions", { name, arguments: args }, key);
  const audited = async (action: string) =>
    (await app.api("GET", `/audit?action=${action}&limit=100`)).body.events.map(
      ({ body }: { body: object }) => body,
    );

  test("R247 C41: tested and kept, and for everybody else no tool at all until it is linked", async () => {
    const made = await draft();
    expect(made).toMatchObject({
      version: "1.0.0",
      state: "pending_link",
      tests: { passed: 2, failed: 0, notRun: 0 },
      author: "owner",
    });
    const unknown = await call("system/no_such_tool", { text: "a b" });
    const pending = await call("system/count_words", { text: "a b" });
    const plain = ({ status, body }: ApiAnswer) => [
      status,
      Object.keys(body),
      ...["code", "reason", "title", "remedy"].map((field) => body[field]),
      body.detail.replace(/'.*'/, ""),
    ];
    expect(plain(pending)).toEqual(plain(unknown));
    for (const key of [member, app.adminKey]) {
      expect((await app.api("GET", "/tools", { key })).body.tools).not.toContainEqual(
        expect.objectContaining({ name: "system/count_words" }),
      );
      expect((await call("system/count_words", { text: "a b" }, key)).status).toBe(404);
    }
    const review = await app.api("GET", `/tool-drafts/${made.id}`);
    conforms("toolDrafts.getToolDraft", review.body);
    expect(review.body).toMatchObject({
      comparedWith: null,
      diff: [],
      program: { source: COUNT.config.source },
      testResults: [{ status: "passed" }, { status: "passed" }],
      text: expect.stringContaining("def run(input)") as string,
    });
    expect((await app.api("GET", `/tool-drafts/${made.id}`, { key: member })).body).toMatchObject({
      reason: "admin_only",
    });
    expect((await post(`/tool-drafts/${made.id}/link`, {}, member)).status).toBe(403);
  });

  test("linked, it is listed to clients that listen, and answers through the whole gate", async () => {
    const { client } = await connect(app.url, member, "modern");
    let notices = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => void notices++);
    await client.listen({ toolsListChanged: true });
    const [made] = (await app.api("GET", "/tool-drafts?state=pending_link")).body.items;
    const stale = await post(`/tool-drafts/${made.id}/link`, {
      capsules: ["lab"],
      risk: "safe",
      expectedHash: "0".repeat(64),
    });
    expect(stale.body).toMatchObject({ code: "CONFLICT", reason: "stale" });
    expect((await post(`/tool-drafts/${made.id}/link`, { risk: "safe" })).body).toMatchObject({
      errors: [{ path: "/capsules" }],
    });
    expect(await link(made.id, { expectedHash: made.hash })).toMatchObject({
      state: "linked",
      capsules: ["lab"],
      terms: { risk: "safe", effects: "read_only", workspace: "ro", hosts: [] },
    });
    await until(() => notices > 0);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["system_count_words"]);
    const answer = await client.callTool({
      name: "system_count_words",
      arguments: { text: "three words here" },
    });
    expect(answer.structuredContent).toEqual({ words: 3 });
    const again = await call("system/count_words", { text: "a" });
    expect(again.body).toMatchObject({
      status: "success",
      result: { words: 1 },
      metadata: { draft: { version: "1.0.0", hash: made.hash } },
    });
    expect(
      again.body.gates.map(({ stage, verdict }: Record<string, string>) => `${stage} ${verdict}`),
    ).toEqual(
      "registry capsule relationship policy allowlist level mode input arguments rate budget approval"
        .split(" ")
        .map((stage) => `${stage} allow`),
    );
    expect((await call("system/count_words", { wrong: 1 })).body).toMatchObject({
      code: "BAD_REQUEST",
    });
    expect(await audited("tool.linked")).toContainEqual(
      expect.objectContaining({ tool: "system/count_words", version: "1.0.0", capsules: ["lab"] }),
    );
    await client.close();
  });

  test("C2 B03: a name is replaced only explicitly; the linked version goes on until the new one is linked; and back", async () => {
    expect((await post("/tool-drafts", COUNT)).body).toMatchObject({
      reason: "already_exists",
      remedy: expect.stringContaining('"1.0.0"') as string,
    });
    expect((await post("/tool-drafts", { ...COUNT, replaces: "0.9.0" })).body).toMatchObject({
      reason: "stale",
    });
    const config = {
      ...COUNT.config,
      source: 'def run(input):\n    return {"words": 10 + len(input["text"].split())}\n',
    };
    const next = await draft({
      config,
      replaces: "1.0.0",
      tests: [{ input: { text: "a" }, output: { words: 11 } }],
    });
    expect(next).toMatchObject({ version: "1.1.0", replaces: "1.0.0" });
    const words = async () => (await call("system/count_words", { text: "a b" })).body.result;
    expect(await words()).toEqual({ words: 2 });
    const review = (await app.api("GET", `/tool-drafts/${next.id}`)).body;
    expect(review.comparedWith).toBe("1.0.0");
    expect(review.diff.join("\n")).toContain('+    return {"words": 10 + len');
    await link(next.id, { capsules: undefined });
    expect(await words()).toEqual({ words: 12 });
    const [, first] = review.versions;
    const trpc = trpcClient(app).toolDrafts;
    expect(await trpc.rollBackToolDraft.mutate({ id: first.id })).toMatchObject({
      version: "1.0.0",
      state: "linked",
    });
    expect(await words()).toEqual({ words: 2 });
    expect(
      (await trpcFailure(trpc.rollBackToolDraft.mutate({ id: first.id }))).error,
    ).toMatchObject({ code: "CONFLICT", reason: "stale" });
    const other = await draft({
      replaces: "1.1.0",
      schema: { type: "object", properties: { text: { type: "string" }, by: { type: "string" } } },
    });
    expect(other.version).toBe("2.0.0");
    expect((await post(`/tool-drafts/${other.id}/reject`, { reason: "no" })).body).toMatchObject({
      state: "rejected",
      reason: "no",
    });
    expect((await post(`/tool-drafts/${other.id}/link`, { risk: "safe" })).body).toMatchObject({
      reason: "stale",
    });
    expect(await words()).toEqual({ words: 2 });
    expect((await post(`/tool-drafts/${first.id}/unlink`)).body).toMatchObject({
      state: "retired",
    });
    expect((await call("system/count_words", { text: "a b" })).status).toBe(404);
    expect((await app.api("GET", "/capsules/lab")).body.capabilities).toEqual([]);
    for (const action of ["tool.drafted", "tool.rejected", "tool.unlinked", "tool.rolled_back"])
      expect(await audited(action)).toContainEqual(
        expect.objectContaining({ tool: "system/count_words" }),
      );
    await link(first.id);
    expect(await words()).toEqual({ words: 2 });
  });

  test("tests that fail are kept, and linking such a version needs to be said", async () => {
    const made = await draft({
      name: "system/wrong",
      config: js("export default () => { throw new Error('broken: ' + 1); };"),
      tests: [
        { input: { text: "a" }, output: { words: 1 } },
        { input: { text: "a" }, error: "broken" },
      ],
    });
    expect(made.tests).toEqual({ passed: 1, failed: 1, notRun: 0 });
    const review = (await app.api("GET", `/tool-drafts/${made.id}`)).body;
    expect(review.testResults[0].message).toContain("broken: 1");
    expect(
      (await post(`/tool-drafts/${made.id}/link`, { capsules: ["lab"], risk: "safe" })).body,
    ).toMatchObject({ reason: "stale", detail: expect.stringContaining("1 of the 2") as string });
    const again = await post(`/tool-drafts/${made.id}/test`);
    conforms("toolDrafts.testToolDraft", again.body);
    expect(again.body.tests).toEqual({ passed: 1, failed: 1, notRun: 0 });
    await link(made.id, { evenWithFindings: true });
    expect((await call("system/wrong", { text: "x" })).body).toMatchObject({
      status: "failed",
      errorCode: "EXECUTION_FAILED",
      errorReason: "tool_error",
    });
  });

  test.each<[string, object, string]>([
    ["source that cannot be read", { config: js("export default (") }, "line 1"],
    [
      "Python that cannot be read",
      { config: { kind: "code", language: "python", source: "x = 1\ndef run(input:\n  pass\n" } },
      "line 2",
    ],
    ["an example that does not fit", { examples: [{ text: 5 }] }, "/examples/0/text"],
    ["a test that expects nothing", { tests: [{ input: { text: "" } }] }, "/tests/0"],
    [
      "a test whose output cannot be",
      { tests: [{ input: { text: "" }, output: { words: "two" } }] },
      "/tests/0/output",
    ],
    [
      "a secret",
      {
        config: js(
          'const k = "ghp_0123456789abcdefghijABCDEFGHIJ012345";\nexport default () => k;',
        ),
      },
      "line 1 holds what looks like a secret",
    ],
    [
      "a kind without a runner",
      { config: { kind: "http", url: "https://a.example" } },
      "no runner",
    ],
    [
      "a command that is not there",
      { config: { kind: "command", command: ["no-such"] } },
      "/config/command/0",
    ],
  ])("%s is refused, with the place", async (_what, more, told) => {
    const answer = await post("/tool-drafts", { ...COUNT, name: "system/refused", ...more });
    expect(answer.body).toMatchObject({
      code: "BAD_REQUEST",
      remedy: expect.any(String) as string,
    });
    expect(JSON.stringify(answer.body)).toContain(told);
    expect((await app.api("GET", "/tool-drafts?name=system/refused")).body.items).toEqual([]);
  });

  describe("a tool with a hole is contained", () => {
    const made = async (name: string, source: string, terms: object = {}) => {
      const row = await draft({
        name,
        schema: { type: "object", properties: {} },
        outputSchema: undefined,
        config: js(source),
        tests: [],
        timeoutSeconds: name === "system/loops" ? 3 : 20,
      });
      await link(row.id, terms);
      return row;
    };

    test("the network is not there, and with a link only its hosts, through the guard", async () => {
      const reach = `export default async () => {
        const { execFileSync } = require("node:child_process");
        const get = (url) => {
          try { return execFileSync("curl", ["-sS", "-m", "2", url], { encoding: "utf8" }); }
          catch (cause) { return "failed " + String(cause.stderr); }
        };
        return { granted: get("http://api.example.org/robots.txt"), other: get("http://other.example.com/robots.txt") };
      };`;
      const row = await made("system/reaches", reach);
      expect((await app.api("GET", `/tool-drafts/${row.id}`)).body.findingList).toContainEqual(
        expect.objectContaining({
          line: 2,
          message: expect.stringContaining("starts other") as string,
        }),
      );
      const before = web.seen.length;
      const none = (await call("system/reaches", {})).body.result;
      expect(none.granted).toMatch(/^failed/);
      expect(web.seen.length).toBe(before);
      await post(`/tool-drafts/${row.id}/unlink`);
      await link(row.id, { hosts: ["api.example.org"], risk: "moderate" });
      const { body } = await call("system/reaches", {});
      expect(body.metadata.hosts).toEqual(["api.example.org"]);
      expect(body.result.granted).not.toMatch(/^failed/);
      expect(web.seen.slice(before).map((line) => line.split(" ")[0])).toEqual(["api.example.org"]);
    });

    test("files outside the box are not there, and the workspace can only be read", async () => {
      writeFileSync(join(app.workspace, "note.txt"), "inside\n");
      await made(
        "system/files",
        `import { readFileSync, writeFileSync, existsSync } from "node:fs";
        const attempt = (work) => { try { work(); return "done"; } catch (cause) { return cause.code; } };
        export default () => ({
          read: readFileSync("note.txt", "utf8"),
          write: attempt(() => writeFileSync("new.txt", "x")),
          outside: existsSync(${JSON.stringify(app.dataDir)}),
          shadow: existsSync("/etc/shadow"),
        });`,
      );
      expect((await call("system/files", {})).body.result).toEqual({
        read: "inside\n",
        write: "EROFS",
        outside: false,
        shadow: false,
      });
    });

    test("an endless loop is ended by the time, one without end of memory by the box", async () => {
      await made("system/loops", "export default () => { for (;;); };");
      expect((await call("system/loops", {})).body).toMatchObject({
        status: "cancelled",
        cancelReason: "timeout",
      });
      await made(
        "system/grows",
        "export default () => { const all = []; for (;;) all.push(Buffer.alloc(16e6, 1)); };",
      );
      expect((await call("system/grows", {})).body).toMatchObject({
        status: "failed",
        errorReason: expect.toBeOneOf(["resource_exhausted", "tool_error"]) as string,
      });
    });

    test("an answer that does not fit the output schema is not handed on", async () => {
      const row = await draft({
        name: "system/lies",
        config: js("export default () => ({ words: 'x' });"),
        tests: [],
      });
      await link(row.id);
      expect((await call("system/lies", { text: "" })).body).toMatchObject({
        status: "failed",
        errorReason: "output_invalid",
      });
    });
  });

  test("dangerous until an administrator judged otherwise: a person is asked", async () => {
    const row = await draft({ name: "system/grave" });
    await link(row.id, { risk: "dangerous" });
    expect((await call("system/grave", { text: "" })).body.status).toBe("pending");
  });

  test("a program of the system reads the arguments and answers JSON", async () => {
    const row = await draft({
      name: "system/same",
      config: { kind: "command", command: ["cat"] },
      outputSchema: COUNT.schema,
      tests: [{ input: { text: "a" }, output: { text: "a" } }],
    });
    await link(row.id);
    expect((await call("system/same", { text: "as it is" })).body.result).toEqual({
      text: "as it is",
    });
  });

  test("a later start knows what is linked, and what waits", async () => {
    const { dataDir } = app;
    await app.stop();
    app = await startApp({ dataDir, egress: web.egress });
    expect((await call("system/count_words", { text: "a b" })).body.result).toEqual({ words: 2 });
  });
});
