// A server upstream of the older era, for clients of both: questions in the middle of a call, watched resources, a
// session of its own.
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFixtureServer, type FixtureServer } from "../conformance/fixture-server.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { ERAS, type Era } from "./mcp-clients.ts";

let app: StartedApp;
let fixture: FixtureServer;
beforeAll(async () => {
  fixture = await startFixtureServer({ eras: "legacy" });
  app = await startApp();
  const added = await app.api("POST", "/servers", {
    body: { name: "older", transport: { kind: "http", url: fixture.url } },
  });
  expect(added.body).toMatchObject({ server: { health: { status: "up", era: "legacy" } } });
  const terms = { risk: "safe", effects: "read_only" };
  const { status } = await app.api("POST", "/servers/older/approve", { body: { terms } });
  expect(status).toBe(200);
}, 60_000);
afterAll(async () => {
  await app.close();
  await fixture.close();
});

async function connect(era: Era, options: ClientOptions = {}) {
  const negotiation = era === "modern" ? { versionNegotiation: { mode: "auto" as const } } : {};
  const client = new Client({ name: "test", version: "1.0.0" }, { ...negotiation, ...options });
  const requestInit = { headers: { authorization: `Bearer ${app.adminKey}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${app.url}/mcp/older`), { requestInit }),
  );
  return client;
}

describe.each(ERAS)("a server of the older era for a %s client", (era) => {
  test("asks in the middle of a call, and the call goes on with the answer", async () => {
    const client = await connect(era, { capabilities: { elicitation: {}, sampling: {} } });
    const messages: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      messages.push(params.message);
      return {
        action: "accept",
        content: { name: "Anna", username: "anna", email: "a@example.org" },
      };
    });
    client.setRequestHandler("sampling/createMessage", () => ({
      model: "m",
      role: "assistant",
      content: { type: "text", text: "Paris" },
    }));
    const asked = await client.callTool({
      name: "test_elicitation",
      arguments: { message: "Who are you?" },
    });
    expect(asked.content[0]).toMatchObject({ text: expect.stringContaining("anna") as string });
    expect(messages).toEqual(["older asks: Who are you?"]);
    const sampled = await client.callTool({
      name: "test_sampling",
      arguments: { prompt: "capital?" },
    });
    expect(sampled.content[0]).toMatchObject({ text: "LLM response: Paris" });
    await client.close();
  });

  test("asks nothing of a client that cannot answer", async () => {
    const client = await connect(era);
    const refused = await client.callTool({
      name: "test_elicitation",
      arguments: { message: "Who?" },
    });
    expect(refused.isError).toBe(true);
    await client.close();
  });

  test("reports progress and tells of a watched resource", async () => {
    const client = await connect(era);
    const progress: number[] = [];
    await client.callTool(
      { name: "test_tool_with_progress" },
      { onprogress: (one) => void progress.push(one.progress) },
    );
    expect(progress).toEqual([0, 50, 100]);
    const uri = "test://watched-resource";
    const heard: string[] = [];
    client.setNotificationHandler(
      "notifications/resources/updated",
      ({ params }) => void heard.push(params.uri),
    );
    if (era === "legacy") await client.subscribeResource({ uri });
    else await client.listen({ resourceSubscriptions: [uri] });
    for (const end = Date.now() + 20_000; heard.length === 0;) {
      if (Date.now() > end) throw new Error("waited in vain");
      fixture.updated(uri);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(new Set(heard)).toEqual(new Set([uri]));
    await client.close();
  });
});
