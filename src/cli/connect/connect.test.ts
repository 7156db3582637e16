import { win32, posix } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLIENTS, type ClientMachine } from "../../util/ai-clients/clients.ts";
import { entryIn, withEntry, withoutEntry } from "./edit.ts";

const json = {
  path: "mcp.json",
  client: { format: "json", at: ["mcpServers", "ostiary"] },
} as const;
const toml = {
  path: "config.toml",
  client: { format: "toml", at: ["mcp_servers", "ostiary"] },
} as const;
const ENTRY = { url: "http://127.0.0.1:3100/mcp", headers: { Authorization: "Bearer k" } };
const TABLE = { url: "http://127.0.0.1:3100/mcp", http_headers: { Authorization: "Bearer k" } };

describe("one entry in JSON", () => {
  test.each([
    ["", "an empty file"],
    ["{}", "an empty object"],
    ['{ "mcpServers": {} }\n', "no servers"],
    ['{\n  "a": 1\n}\n', "other settings"],
    [
      '{\n\t// mine\n\t"mcpServers": {\n\t\t"other": { "url": "http://x" }, // keep\n\t},\n}\n',
      "comments, tabs and trailing commas",
    ],
    [
      '{\r\n  "mcpServers": {\r\n    "b": {}\r\n  },\r\n  "z": [1,2,   3]\r\n}',
      "Windows line ends",
    ],
    ['{"mcpServers":{"a":{"command":"x"}},"q":true}', "one line"],
    ['{ "mcpServers": { /* none yet */ } }', "a comment where servers would be"],
  ])("%j (%s): added, and everything else keeps its form", (text) => {
    const added = withEntry(json, text, ENTRY);
    expect(entryIn(json, added)).toEqual(ENTRY);
    // What was there is still there, in order.
    let at = 0;
    for (const part of text.split(/\s+|(?=[{}])|(?<=[{}])/).filter((one) => one !== "")) {
      const found = added.indexOf(part, at);
      expect([part, found >= at]).toEqual([part, true]);
      at = found + part.length;
    }
    expect(withEntry(json, added, ENTRY)).toBe(added);
    expect(entryIn(json, withoutEntry(json, added))).toBeUndefined();
  });

  test("the neighbours' lines are byte for byte what they were", () => {
    const text = '{\n  "mcpServers": {\n    "a": { "command": "x",   "args": [ ] }\n  }\n}\n';
    expect(withEntry(json, text, ENTRY)).toContain(
      '    "a": { "command": "x",   "args": [ ] },\n    "ostiary": {\n',
    );
    expect(withoutEntry(json, withEntry(json, text, ENTRY))).toBe(text);
  });

  test.each(['{"mcpServers": ', "nonsense", "[]", '{"mcpServers": []}', '{"a" 1}'])(
    "%j is broken, and not touched",
    (text) => {
      expect(() => withEntry(json, text, ENTRY)).toThrow(/not touched/);
      expect(() => withoutEntry(json, text)).toThrow(/not touched/);
    },
  );

  test("whatever else is in a file, only the entry comes and goes", () => {
    const servers = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,6}$/),
      fc.record({ command: fc.string(), args: fc.array(fc.string()) }),
    );
    fc.assert(
      fc.property(
        fc.record({ mcpServers: servers, theme: fc.json() }, { requiredKeys: [] }),
        fc.constantFrom(0, 2, "\t"),
        (tree, indent) => {
          const text = JSON.stringify(tree, null, indent);
          const added = withEntry(json, text, ENTRY);
          expect(JSON.parse(added)).toEqual({
            ...tree,
            mcpServers: { ...tree.mcpServers, ostiary: ENTRY },
          });
          expect(JSON.parse(withoutEntry(json, added))).toEqual({
            ...tree,
            mcpServers: tree.mcpServers ?? {},
          });
        },
      ),
    );
  });
});

describe("one entry in TOML", () => {
  test.each([
    "",
    'model = "x"\n',
    '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # why\n',
    '[mcp_servers.ostiary]\nurl = "http://old"\n\n[mcp_servers.ostiary.env]\nA = "1"\n\n[zed]\nb = 2',
  ])("%j: added and taken out again", (text) => {
    const added = withEntry(toml, text, TABLE);
    expect(entryIn(toml, added)).toEqual(TABLE);
    expect(withEntry(toml, added, TABLE)).toBe(added);
    const without = withoutEntry(toml, added);
    expect(entryIn(toml, without)).toBeUndefined();
    for (const line of text
      .split("\n")
      .filter((one) => one !== "" && !/ostiary|old|A = /.test(one)))
      expect(without.split("\n")).toContain(line);
  });

  test("a file that is no TOML, or writes the entry in another form, is not touched", () => {
    expect(() => withEntry(toml, "a = = 1", TABLE)).toThrow(/not touched/);
    expect(() => withEntry(toml, 'mcp_servers = { ostiary = { url = "x" } }', TABLE)).toThrow(
      /cannot be changed/,
    );
  });
});

describe("where the clients keep their configuration", () => {
  const machine = (platform: NodeJS.Platform): ClientMachine =>
    platform === "win32"
      ? {
          platform,
          home: "C:\\Users\\ada",
          env: { APPDATA: "C:\\Users\\ada\\AppData\\Roaming" },
          cwd: "C:\\work",
        }
      : { platform, home: "/home/ada", env: {}, cwd: "/project" };
  const user = (platform: NodeJS.Platform) =>
    Object.fromEntries(
      CLIENTS.map((client) => [client.id, client.file(machine(platform), "user")]),
    );

  test("on Linux, macOS and Windows", () => {
    expect(user("linux")).toEqual({
      "claude-code": "/home/ada/.claude.json",
      "claude-desktop": "/home/ada/.config/Claude/claude_desktop_config.json",
      cursor: "/home/ada/.cursor/mcp.json",
      vscode: "/home/ada/.config/Code/User/mcp.json",
      windsurf: "/home/ada/.codeium/windsurf/mcp_config.json",
      codex: "/home/ada/.codex/config.toml",
    });
    expect(user("darwin")).toMatchObject({
      "claude-desktop": "/home/ada/Library/Application Support/Claude/claude_desktop_config.json",
      vscode: "/home/ada/Library/Application Support/Code/User/mcp.json",
    });
    expect(user("win32")).toMatchObject({
      "claude-code": "C:\\Users\\ada\\.claude.json",
      "claude-desktop": "C:\\Users\\ada\\AppData\\Roaming\\Claude\\claude_desktop_config.json",
      vscode: "C:\\Users\\ada\\AppData\\Roaming\\Code\\User\\mcp.json",
      codex: "C:\\Users\\ada\\.codex\\config.toml",
    });
  });

  test("in a project, where the client knows such a thing", () => {
    const project = (platform: NodeJS.Platform) =>
      CLIENTS.flatMap((client) => client.file(machine(platform), "project") ?? []);
    expect(project("linux")).toEqual([
      "/project/.mcp.json",
      "/project/.cursor/mcp.json",
      "/project/.vscode/mcp.json",
    ]);
    expect(
      project("win32").every((path) => win32.isAbsolute(path) && !posix.isAbsolute(path)),
    ).toBe(true);
  });
});
