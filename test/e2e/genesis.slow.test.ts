// An agent makes a tool, through chat: it looks round, installs a package and drafts the tool. Each of the three
// permissions blocks exactly its own step; what comes of it waits for a person, and is then called by somebody else.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/call.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";
import { governanceWith } from "../fixtures/open-house.ts";
import { HAS_BOX } from "../fixtures/programs.ts";
import { REGISTRIES, REGISTRY_RULES, registryAnswer } from "../fixtures/registry.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";
import { openWeb, type Web } from "../fixtures/web.ts";
import { connect } from "./mcp-clients.ts";

const HAS = HAS_BOX && existsSync("/usr/bin/npm");

const RIGHTS = {
  shell_exec: "shell_executor",
  system_package_install: "package_installer",
  agent_create_tool: "tool_creator",
} as const;
type Step = keyof typeof RIGHTS;
const STEPS = Object.keys(RIGHTS) as Step[];

const stepsFor = (name: string): readonly (readonly [Step, JsonObject])[] => [
  ["shell_exec", { command: ["ls", "-la"] }],
  ["system_package_install", { manager: "npm", name: "left-pad", version: "1.3.0" }],
  [
    "agent_create_tool",
    {
      name: `system/${name}`,
      description: "Pads a text on the left side with blanks up to a width.",
      schema: {
        type: "object",
        properties: { text: { type: "string" }, width: { type: "integer", maximum: 100 } },
        required: ["text", "width"],
      },
      outputSchema: {
        type: "object",
        properties: { padded: { type: "string" } },
        required: ["padded"],
      },
      config: {
        kind: "code",
        language: "js",
        source:
          'export default ({ text, width }) => ({ padded: require("left-pad")(text, width) });\n',
      },
      tests: [{ input: { text: "a", width: 3 }, output: { padded: "  a" } }],
      risk: "safe",
    },
  ],
];

/** Each message names the tool to make; the steps follow one after the other, whatever comes of them. */
const script = scriptedModel(({ messages }, turn) => {
  const asked = messages.find(({ role }) => role === "user")?.content ?? "";
  const name = /make (\w+)/.exec(asked)?.[1] ?? "";
  const step = stepsFor(name)[turn];
  return step ? { calls: [{ name: step[0], arguments: step[1] }] } : { text: "done" };
});

describe.skipIf(!HAS)("genesis", { timeout: 180_000 }, () => {
  let app: StartedApp;
  let web: Web;
  const over = new AbortController();
  let agreeing = Promise.resolve();
  beforeAll(async () => {
    web = await openWeb({ answer: registryAnswer() });
    app = await startApp({
      model: script.model,
      egress: web.egress,
      flags: { ...REGISTRIES, governance: governanceWith(REGISTRY_RULES) },
    });
    agreeing = agreeToEverything();
  });
  afterAll(async () => {
    over.abort();
    await agreeing;
    await app.close();
    await web.close();
  });

  /** Somebody says yes to whatever asks: what is refused then is refused by a right. */
  async function agreeToEverything(): Promise<void> {
    while (!over.signal.aborted) {
      const { body } = await app.api("GET", "/approvals?state=pending");
      for (const { id } of (body.items ?? []) as { id: string }[])
        await app.api("POST", `/approvals/${id}/approve`, { body: {} });
      await sleep(100);
    }
  }

  async function maker(name: string, steps: readonly Step[]): Promise<string> {
    const key = await newUser(app, name, { level: "admin", capsuleId: "all", scopes: ["*"] });
    const changes = steps.map((step) => ({
      operation: "touch",
      relationship: `tenant:local#${RIGHTS[step]}@user:${name}`,
    }));
    if (changes.length > 0) await app.api("POST", "/relationships", { body: { changes } });
    return key;
  }

  /** What came of each step: success, or the reason of its refusal. */
  async function work(key: string, name: string): Promise<string[]> {
    const response = await fetch(`${app.url}/api/chat`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ message: `Please make ${name}.` }),
    });
    const { turnId } = (await response.json()) as { turnId: string };
    const turn = async () => (await app.api("GET", `/turns/${turnId}`, { key })).body;
    await expect.poll(async () => (await turn()).endedAt, { timeout: 120_000 }).not.toBeNull();
    const { executions } = (await app.api("GET", "/executions?limit=100", { key })).body;
    return STEPS.map((step) => {
      const tool = step.replace("_", "/");
      const { status, errorReason } = executions.find(
        ({ toolName }: { toolName: string }) => toolName === tool,
      );
      return status === "success" ? "success" : String(errorReason);
    });
  }

  const drafts = async (name: string) =>
    (await app.api("GET", `/tool-drafts?name=system/${name}`)).body.items;

  test.each(STEPS)(
    "R245 R246: without the right to %s, exactly this step is blocked",
    async (missing) => {
      const name = `without_${RIGHTS[missing]}`;
      const key = await maker(
        name,
        STEPS.filter((step) => step !== missing),
      );
      expect(await work(key, name)).toEqual(
        STEPS.map((step) => (step === missing ? "permission_missing" : "success")),
      );
      expect(await drafts(name)).toHaveLength(missing === "agent_create_tool" ? 0 : 1);
    },
  );

  test("R245 R247 C41: with all three a tool is made and tested; linked by a person, others call it", async () => {
    const key = await maker("ada", STEPS);
    expect(await work(key, "padder")).toEqual(["success", "success", "success"]);
    const [made] = await drafts("padder");
    expect(made).toMatchObject({
      author: "ada",
      state: "pending_link",
      tests: { passed: 1, failed: 0, notRun: 0 },
      proposedRisk: "safe",
    });

    await app.api("POST", "/capsules", { body: { id: "lab", name: "Lab", capabilities: [] } });
    const other = await newUser(app, "bob", { capsuleId: "lab", scopes: ["*"] });
    const { client } = await connect(app.url, other, "legacy");
    const names = async () =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
    expect(await names()).toEqual([]);
    for (const who of [key, other, app.adminKey])
      expect(
        (
          await app.api("POST", "/executions", {
            key: who,
            body: { name: "system/padder", arguments: { text: "a", width: 2 } },
          })
        ).status,
      ).toBe(404);
    // Neither who made it nor any other key that is no administrator's can link it.
    for (const who of [key, other])
      expect(
        (
          await app.api("POST", `/tool-drafts/${made.id}/link`, {
            key: who,
            body: { capsules: ["lab"], risk: "safe" },
          })
        ).body,
      ).toMatchObject({ reason: "admin_only" });

    const linked = await app.api("POST", `/tool-drafts/${made.id}/link`, {
      body: { capsules: ["lab"], risk: "safe", expectedHash: made.hash },
    });
    expect(linked.body).toMatchObject({ state: "linked", decidedBy: "owner" });
    await expect.poll(names).toEqual(["system_padder"]);
    const answer = await client.callTool({
      name: "system_padder",
      arguments: { text: "b", width: 4 },
    });
    expect(answer.structuredContent).toEqual({ padded: "   b" });
    await client.close();
  });
});
