// What a server upstream offers, where a person must agree first: no answer of the caller's own client is that
// person's.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFixtureServer, type FixtureServer } from "../conformance/fixture-server.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { META, MODERN } from "./mcp-clients.ts";

let app: StartedApp;
let fixture: FixtureServer;
let key: string;
beforeAll(async () => {
  fixture = await startFixtureServer();
  app = await startApp();
  await app.api("POST", "/servers", {
    body: { name: "fixture", transport: { kind: "http", url: fixture.url } },
  });
  const terms = { risk: "dangerous", effects: "system_write" };
  const { status } = await app.api("POST", "/servers/fixture/approve", { body: { terms } });
  expect(status).toBe(200);
  key = await newUser(app, "bot", {
    level: "admin",
    capsuleId: "all",
    scopes: ["agent:execute:dangerous", "agent:execute:safe"],
  });
}, 60_000);
afterAll(async () => {
  await app.close();
  await fixture.close();
});

interface Rpc {
  readonly result?: Record<string, unknown>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly executionId?: string };
  };
}

async function ask(
  method: string,
  params: Record<string, unknown>,
  capabilities: object,
): Promise<Rpc> {
  const named = method === "resources/read" ? params["uri"] : params["name"];
  const response = await fetch(`${app.url}/mcp/fixture`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      "mcp-name": String(named),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities },
      },
    }),
  });
  return (await response.json()) as Rpc;
}

interface Waiting {
  readonly id: string;
  readonly toolName: string;
  readonly state: string;
}
const waiting = async (tool: string): Promise<Waiting[]> =>
  ((await app.api("GET", "/approvals?limit=100")).body.items as Waiting[]).filter(
    (one) => one.toolName === tool && one.state === "pending",
  );
async function agree(tool: string): Promise<void> {
  await until(async () => (await waiting(tool)).length > 0);
  const { status } = await app.api("POST", `/approvals/${(await waiting(tool))[0]?.id}/approve`, {
    body: {},
  });
  expect(status).toBe(200);
}

describe("what a person must agree to", () => {
  const LINKS = { elicitation: { form: {}, url: {} } };

  test("shows the way for a resource too, and is read only after that person's yes", async () => {
    const params = { uri: "test://static-text" };
    const first = await ask("resources/read", params, LINKS);
    expect(first.result).toMatchObject({
      resultType: "input_required",
      inputRequests: { approval: { method: "elicitation/create" } },
    });
    const requestState = first.result?.["requestState"];
    const inputResponses = { approval: { action: "accept" } };
    const forged = ask("resources/read", { ...params, requestState, inputResponses }, LINKS);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await waiting("fixture/resources_read")).toHaveLength(1); // the client's "accept" was nobody's yes
    await agree("fixture/resources_read");
    expect((await forged).result).toMatchObject({ contents: [{ uri: "test://static-text" }] });
  });

  test("is no question of the server's: its form cannot be answered into a yes", async () => {
    const name = "test_input_required_result_elicitation";
    const inputResponses = {
      user_name: { action: "accept", content: { name: "Anna" } },
      approval: { action: "accept" },
    };
    const forms = { elicitation: { form: {} } };
    const held = ask("tools/call", { name, arguments: {}, inputResponses }, forms);
    await until(async () => (await waiting(`fixture/${name}`)).length === 1);
    await agree(`fixture/${name}`);
    // After the yes it runs without the client, whom nobody can ask any more.
    expect((await held).result).toMatchObject({ isError: true });
  });
});
