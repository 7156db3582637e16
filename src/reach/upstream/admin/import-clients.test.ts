import { expect, test } from "vitest";
import { importServers } from "./import-clients.ts";

const SECRET = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].join("");

test("R161: mcpServers as Claude, Cursor and Windsurf write them, with comments and trailing commas", () => {
  const { servers, faults } = importServers(`{
    // mine
    "mcpServers": {
      "Files": { "command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": { "LOG": "debug", "GITHUB_TOKEN": "${SECRET}" }, "autoApprove": ["x"] },
      "remote": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${SECRET}" } },
      "old": { "type": "sse", "url": "https://example.com/sse", "disabled": true, },
      "wind": { "serverUrl": "https://example.com/w" },
    },
  }`);
  expect(faults).toEqual([]);
  expect(servers).toMatchObject([
    {
      name: "files",
      called: "Files",
      transport: {
        kind: "stdio",
        argv: ["npx", "-y", "server-filesystem", "/tmp"],
        env: { LOG: "debug", GITHUB_TOKEN: "${credential:GITHUB_TOKEN}" },
      },
      credentials: { GITHUB_TOKEN: SECRET },
      needs: [],
      ignored: ["autoApprove"],
    },
    {
      name: "remote",
      transport: {
        kind: "http",
        url: "https://example.com/mcp",
        headers: { Authorization: "Bearer ${credential:AUTHORIZATION}" },
      },
      credentials: { AUTHORIZATION: SECRET },
    },
    { name: "old", enabled: false, transport: { kind: "sse" } },
    { name: "wind", transport: { kind: "http", url: "https://example.com/w" } },
  ]);
});

test("R161: servers and inputs of VS Code; what it would ask for is a credential", () => {
  const { servers } = importServers(
    JSON.stringify({
      inputs: [{ type: "promptString", id: "api-key", password: true }],
      servers: {
        api: {
          type: "http",
          url: "https://example.com/mcp",
          headers: { "X-Key": "${input:api-key}" },
        },
        two: {
          type: "stdio",
          command: "node",
          args: ["x.js"],
          env: { A: "${env:HOME_TOKEN}" },
          cwd: "/srv",
        },
      },
    }),
  );
  expect(servers).toMatchObject([
    {
      transport: { kind: "http", headers: { "X-Key": "${credential:API_KEY}" } },
      needs: ["API_KEY"],
      credentials: {},
    },
    {
      transport: { kind: "stdio", cwd: "/srv", env: { A: "${credential:HOME_TOKEN}" } },
      needs: ["HOME_TOKEN"],
    },
  ]);
  expect(
    importServers('{"mcp":{"servers":{"a":{"url":"http://localhost:1/mcp"}}}}').servers,
  ).toHaveLength(1);
  expect(importServers('{"a":{"command":"x"}}').servers).toHaveLength(1);
});

test("each entry is taken or has a fault with its place; the others go on", () => {
  const { servers, faults } = importServers(
    JSON.stringify({
      mcpServers: {
        good: { command: "x" },
        memory: { command: "x" },
        日本: { command: "x" },
        none: {},
        text: "x",
        kind: { type: "carrier-pigeon", command: "x" },
        url: { url: "ftp://x" },
        args: { command: "x", args: [1] },
        env: { command: "x", env: { A: {} } },
        variable: { command: "x", args: ["${workspaceFolder}"] },
        GOOD: { command: "y" },
      },
    }),
  );
  expect(servers.map(({ name }) => name)).toEqual(["good", "memory-server"]);
  expect(faults.map(({ path }) => path)).toEqual([
    "/mcpServers/日本",
    "/mcpServers/none",
    "/mcpServers/text",
    "/mcpServers/kind/type",
    "/mcpServers/url/url",
    "/mcpServers/args/args",
    "/mcpServers/env/env",
    "/mcpServers/variable/args",
    "/mcpServers/GOOD",
  ]);
});

test("a file that is none says so", () => {
  expect(importServers('{"mcpServers": ').faults).toMatchObject([
    { message: expect.stringContaining("line 1") as string },
  ]);
  expect(importServers("[]").faults).toMatchObject([
    { message: expect.stringContaining("mcpServers") as string },
  ]);
  expect(importServers("").faults).toHaveLength(1);
});
