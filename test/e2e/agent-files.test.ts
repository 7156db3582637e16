// Agents as one YAML file, through the door: exported, checked with lines, compared, written, and the same afterwards.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";

const FILE = `version: 1
models:
  first:
    settings: { provider: openai, url: "http://127.0.0.1:9/v1", fallbacks: [second] }
    keyReference: env:FIRST_API_KEY
  second:
    settings: { provider: anthropic }
    enabled: false
    position: 3
capsules:
  research:
    name: Research
    status: draft
    capabilities: [system_echo, file/read]
    systemPrompt: |
      Cite.
      "Quotes" and: colons.
    visionModel: first
    agentConfig:
      chatModel: first
      autonomy: 5
      toolPolicy: { ask: [system/echo, files/*], auto: [], never: [] }
      mcpServers:
        files:
          command: [${JSON.stringify(process.execPath)}]
          args: ["--version"]
personas:
  critic:
    name: Critic
    prompt: Doubt it.
    traits: { tone: dry }
    knobs: { intelligence: 7 }
    capabilities: [system/echo]
`;

describe("agents as a file", { timeout: 60_000 }, () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  const send = (text: string, more: object = {}, to = app) =>
    to.api("POST", "/agents/import", { body: { text, ...more } });
  const exported = async (to = app, query = ""): Promise<string> => {
    const { body } = await to.api("GET", `/agents/export${query}`);
    conforms("agents.exportAgents", body);
    return (body as { text: string }).text;
  };
  const brief = (body: { changes: { kind: string; id: string; change: string }[] }) =>
    body.changes.map(({ kind, id, change }) => `${change} ${kind} ${id}`);

  test("C5: every fault is told with file, line and field, and nothing is written", async () => {
    const faults = async (text: string): Promise<string[]> => {
      const { status, body } = await send(text, { file: "team.yaml" });
      expect(status).toBe(400);
      return (body as { errors: { path: string; message: string }[] }).errors.map(
        ({ path, message }) => `${path} ${message}`,
      );
    };
    expect(await faults("version: 1\ncapsule: {}\n")).toEqual([
      "team.yaml:2:1 capsule: unknown field; did you mean capsules?",
    ]);
    expect(await faults("version: 1\ncapsules:\n  a:\n    nmae: A\n")).toEqual([
      "team.yaml:4:5 capsules.a.nmae: unknown field; did you mean name?",
    ]);
    expect(await faults("version: 1\ncapsules: [\n")).toEqual([
      expect.stringMatching(/^team\.yaml:\d+:\d+ not valid YAML/),
    ]);
    expect(await faults("version: 1\na: &a {}\nb: *a\n")).toEqual([
      expect.stringContaining("alias"),
    ]);
    const bad = FILE.replace("autonomy: 5", "autonomy: 50").replace("tone: dry", "tone: 5");
    expect(await faults(bad)).toEqual([
      expect.stringMatching(/^team\.yaml:21:7 capsules\.research\.agentConfig\.autonomy: /),
      expect.stringMatching(/^team\.yaml:31:15 personas\.critic\.traits\.tone: expected string/),
    ]);
    const unknown = FILE.replace("file/read]", "file/raed]")
      .replace("fallbacks: [second]", "fallbacks: [third]")
      .replace("env:FIRST_API_KEY", "env:OSTIARY_KEY")
      .replace("capabilities: [system/echo]", "capabilities: [no/such]")
      .replace("          command: ", "          headers: {A: b}\n          command: ");
    expect(await faults(unknown)).toEqual([
      expect.stringMatching(/^team\.yaml:24:9 .*mcpServers\.files: headers go with url/),
      expect.stringMatching(/^team\.yaml:4:77 models\.first\.settings\.fallbacks\.0: .*third/),
      expect.stringMatching(/^team\.yaml:5:5 models\.first\.keyReference: expected env:/),
      expect.stringMatching(/^team\.yaml:14:33 capsules\.research\.capabilities\.1: .*file\/raed/),
      expect.stringMatching(/^team\.yaml:34:20 personas\.critic\.capabilities\.0: .*no\/such/),
    ]);
    const key = "version: 1\nmodels: { m: { settings: { provider: openai, apiKey: sk-1 } } }\n";
    expect(await faults(key)).toEqual([expect.stringContaining("a file holds no keys")]);
    expect((await app.api("GET", "/capsules/research")).status).toBe(404);
    expect((await app.api("GET", "/models/first")).status).toBe(404);
    expect((await app.api("GET", "/servers/files")).status).toBe(404);
  });

  test("the example of the documentation is valid", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/agent-records.md"), "utf8");
    const [, example = ""] = /```yaml\n([^]*?)```/.exec(page) ?? [];
    const { body } = await send(example, { dryRun: true });
    expect(body.errors).toBeUndefined();
    expect(brief(body)).toEqual([
      "created server notes",
      "created model small",
      "created capsule research",
      "created persona critic",
    ]);
  });

  test("C5 R023: a trial says what would be, an import does it, the ledger tells it once", async () => {
    const all = [
      "created server files",
      "created model second",
      "created model first",
      "created capsule research",
      "created persona critic",
    ];
    const trial = await send(FILE, { dryRun: true });
    conforms("agents.importAgents", trial.body);
    expect(brief(trial.body)).toEqual(all);
    expect((await app.api("GET", "/capsules/research")).status).toBe(404);

    expect(brief((await send(FILE)).body)).toEqual(all);
    expect((await app.api("GET", "/capsules/research")).body).toMatchObject({
      status: "draft",
      capabilities: ["system/echo", "file/read"],
      systemPrompt: 'Cite.\n"Quotes" and: colons.\n',
      agentConfig: { chatModel: "first", autonomy: 5, mcpServers: { files: {} } },
    });
    // Never started by the way: switched off, nothing approved.
    expect((await app.api("GET", "/servers/files")).body).toMatchObject({
      enabled: false,
      tools: { approved: 0 },
    });
    const { body: events } = await app.api("GET", "/audit?action=config.changed");
    const summaries = (events as { events: { body: { imported?: string } }[] }).events.filter(
      ({ body }) => body.imported !== undefined,
    );
    expect(summaries).toHaveLength(1);
    expect(summaries[0]?.body).toMatchObject({
      imported: "agents.yaml",
      created: all.map((line) => line.slice("created ".length)),
    });
  });

  test("what differs is told field by field; what a file leaves out stays", async () => {
    const edit = `version: 1
capsules:
  research: { agentConfig: { autonomy: 6 }, status: active }
personas:
  critic: { prompt: Doubt it. }
models:
  second: { settings: { provider: anthropic, model: small } }
`;
    const { body } = await send(edit);
    expect(body.changes).toEqual([
      {
        kind: "model",
        id: "second",
        change: "changed",
        fields: [{ path: "/settings/model", from: null, to: "small" }],
      },
      {
        kind: "capsule",
        id: "research",
        change: "changed",
        fields: [
          { path: "/status", from: "draft", to: "active" },
          { path: "/agentConfig/autonomy", from: 5, to: 6 },
        ],
      },
      { kind: "persona", id: "critic", change: "unchanged", fields: [] },
    ]);
    const trpc = trpcClient(app).agents;
    const again = await trpc.importAgents.mutate({ text: edit });
    expect(again.changes.every(({ change }) => change === "unchanged")).toBe(true);
    const now = (await app.api("GET", "/capsules/research")).body;
    expect(now).toMatchObject({
      version: 2,
      name: "Research",
      agentConfig: { chatModel: "first" },
    });
    expect((await trpc.exportAgents.query({})).text).toBe(await exported());
    // A definition of a server that exists is refused, not taken for the same.
    const twice = await send(FILE);
    expect(twice.body.errors[0].message).toContain("a server 'files' exists already");
  });

  test("exported, imported into a fresh server, exported: the same text", async () => {
    const text = await exported();
    const fresh = await startApp();
    try {
      const refused = await send(text, {}, fresh);
      expect(refused.body.errors[0].message).toContain("there is no server 'files'");
      const transport = { kind: "stdio", argv: [process.execPath, "--version"] };
      const body = { name: "files", transport, enabled: false };
      expect((await fresh.api("POST", "/servers", { body })).status).toBe(201);
      expect(brief((await send(text, {}, fresh)).body)).toContain("created capsule research");
      expect(await exported(fresh)).toBe(text);
      expect(brief((await send(text, {}, fresh)).body).join()).not.toMatch(/created|\bchanged/);
    } finally {
      await fresh.close();
    }
  });

  test("a sealed key stays behind with a remark, and an import leaves it as it is", async () => {
    const settings = { provider: "openai" };
    const apiKey = "sk-very-secret-value";
    await app.api("POST", "/models", { body: { name: "sealed", settings, apiKey } });
    const text = await exported();
    expect(text).toMatch(/# Its key is sealed and not part of this file[^\n]*\n {2}sealed:/);
    expect(text).not.toContain(apiKey);
    expect(brief((await send(text)).body)).toContain("unchanged model sealed");
    expect((await app.api("GET", "/models/sealed")).body).toMatchObject({ hasKey: true });
  });

  test("one capsule is exported with the models it names, and administrators alone may", async () => {
    const text = await exported(app, "?capsules=research");
    expect(text).toMatch(/first:[^]*second:[^]*research:/);
    expect(text).not.toMatch(/sealed|critic|starter/);
    expect((await app.api("GET", "/agents/export?capsules=none")).status).toBe(404);
    const ann = await newUser(app, "ann");
    expect((await app.api("GET", "/agents/export", { key: ann })).status).toBe(403);
    const body = { text: FILE };
    expect((await app.api("POST", "/agents/import", { key: ann, body })).status).toBe(403);
  });
});
