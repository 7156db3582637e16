// Notes over MCP and REST: what one door stored, the other finds; nobody else does.
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";
import { connect } from "./mcp-clients.ts";

let house: StartedApp;
beforeAll(async () => {
  house = await startApp();
});
afterAll(() => house.close());

const call = (key: string, name: string, args: object) =>
  house.api("POST", "/executions", { key, body: { name, arguments: args } });

test("a note stored over MCP is found over REST by its owner, and by nobody else", async () => {
  const ann = await newUser(house, "ann", {
    level: "execute_advanced",
    capsuleId: "all",
    scopes: ["*"],
  });
  const bob = await newUser(house, "bob", {
    level: "execute_advanced",
    capsuleId: "all",
    scopes: ["*"],
  });
  const { client } = await connect(house.url, ann, "modern");
  await client.callTool({
    name: "memory_store",
    arguments: {
      key: "trip",
      value: { to: "Lisbon", notes: "bring sun cream" },
      namespace: "user",
    },
  });
  const over = await client.callTool({
    name: "search_memory",
    arguments: { query: "lisbon sun*", namespace: "user" },
  });
  expect(over.structuredContent).toMatchObject({
    total: 1,
    results: [{ key: "trip", snippet: expect.stringContaining("«Lisbon»") as string }],
  });
  await client.close();
  const found = await call(ann, "memory/search", { query: '"sun cream" -rain', namespace: "user" });
  expect(found.body).toMatchObject({ status: "success", result: { total: 1 } });
  expect(
    (await call(bob, "memory/search", { query: "lisbon", namespace: "user" })).body.result,
  ).toEqual({ results: [], total: 0 });
  const bad = await call(ann, "memory/search", { query: '"open' });
  expect(bad.body).toMatchObject({
    status: "failed",
    errorCode: "EXECUTION_FAILED",
    errorReason: "query_invalid",
    remedy: expect.any(String) as string,
  });
});

test("forgetting asks an administrator's level, and a person", async () => {
  const eve = await newUser(house, "eve", {
    level: "execute_advanced",
    capsuleId: "all",
    scopes: ["*"],
  });
  expect((await call(eve, "memory/clear", { namespace: "user" })).body).toMatchObject({
    reason: "level_too_low",
  });
  const held = await call(house.adminKey, "memory/clear", { namespace: "user" });
  expect([held.status, held.body.status]).toEqual([202, "pending"]);
});

test("the documentation is at hand", async () => {
  const { body } = await call(house.adminKey, "retrieve_documentation", {
    query: "approval expires",
  });
  expect(body.result.documents[0].id).toMatch(/\.md#/);
});
