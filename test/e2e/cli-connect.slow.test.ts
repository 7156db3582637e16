// `ostiary connect` and `disconnect` on a temporary home, through the real program, against a running server.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";

/** Where each keeps its own, and how its entry names the address. */
const FILES = [
  ["claude-code", ".claude.json", "mcpServers"],
  ["cursor", ".cursor/mcp.json", "mcpServers"],
  ["vscode", ".config/Code/User/mcp.json", "servers"],
  ["windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"],
  ["codex", ".codex/config.toml", "mcp_servers"],
  ["claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers"],
] as const;

describe("ostiary connect", { timeout: 120_000 }, () => {
  let app: StartedApp;
  let home: string;
  const cli = (args: string[], key = app.adminKey): Promise<BinResult> =>
    runBin(
      [...args, "--server", app.url, "--key", "env:KEY", "--data-dir", join(home, ".ostiary")],
      { env: { KEY: key, HOME: home }, cwd: join(home, "project") },
    );
  const write = (file: string, text: string): string => {
    const path = join(home, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };

  beforeAll(async () => {
    app = await startApp({ flags: { "rateLimit.enabled": "false" } });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-connect-")));
    mkdirSync(join(home, "project"));
    return () => rmSync(home, { recursive: true, force: true });
  });

  test("without a client it lists those that are here", async () => {
    write(".cursor/mcp.json", "{}");
    const rows = (await cli(["connect", "--json"])).json() as {
      client: string;
      found: boolean;
      connected: boolean;
    }[];
    expect(rows.map(({ client }) => client).sort()).toEqual(FILES.map(([client]) => client).sort());
    expect(rows.filter(({ found }) => found)).toMatchObject([
      { client: "cursor", connected: false },
    ]);
  });

  test.each(FILES)(
    "%s: one entry with a key that works; disconnect restores the file and revokes the key",
    async (client, file, table) => {
      const isToml = file.endsWith(".toml");
      const before = isToml
        ? '# mine\nmodel = "x"\n'
        : `{\n  // mine\n  "${table}": {\n    "other": { "command": "x" },\n  },\n}\n`;
      const path = write(file, before);
      chmodSync(path, 0o640);
      const made = await cli(["connect", client]);
      expect(made.stderr).toMatch(/✓ connected — protocol 2026-07-28, sees \d+ of \d+ tools/);
      expect(made.code).toBe(0);
      const text = readFileSync(path, "utf8");
      const key = readFileSync(join(home, `.ostiary/connections/${client}.key`), "utf8").trim();
      expect(made.stdout + made.stderr).not.toContain(key);
      expect([text.includes("mine"), text.includes("ostiary"), text.includes(key)]).toEqual([
        true,
        true,
        client !== "claude-desktop",
      ]);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      const asClient = () =>
        fetch(`${app.url}/api/v1/tools`, { headers: { authorization: `Bearer ${key}` } }).then(
          ({ status }) => status,
        );
      expect(await asClient()).toBe(200);

      // Once more changes nothing and makes no other key.
      const again = await cli(["connect", client, "--json"]);
      expect(again.json()).toMatchObject([{ client, changed: false }]);
      expect(readFileSync(path, "utf8")).toBe(text);

      const undone = await cli(["disconnect", client, "--json"]);
      expect(undone.json()).toEqual([{ client, file: "restored", keyRevoked: true }]);
      expect(readFileSync(path, "utf8")).toBe(before);
      expect(await asClient()).toBe(401);
      expect((await cli(["disconnect", client, "--json"])).json()).toEqual([
        { client, file: "nothing", keyRevoked: false },
      ]);
    },
  );

  test("a new file is its owner's only, and is gone after disconnect", async () => {
    await cli(["connect", "cursor", "codex"]);
    for (const file of [".cursor/mcp.json", ".codex/config.toml"])
      expect([file, statSync(join(home, file)).mode & 0o777]).toEqual([file, 0o600]);
    expect((await cli(["disconnect", "cursor", "codex"])).code).toBe(0);
    expect([
      existsSync(join(home, ".cursor/mcp.json")),
      existsSync(join(home, ".codex/config.toml")),
    ]).toEqual([false, false]);
  });

  test("what somebody wrote in between stays; only the entry goes", async () => {
    const path = write(".cursor/mcp.json", '{ "mcpServers": {} }\n');
    await cli(["connect", "cursor"]);
    const changed = JSON.parse(readFileSync(path, "utf8")) as { mcpServers: object };
    writeFileSync(
      path,
      JSON.stringify({
        ...changed,
        mcpServers: { ...changed.mcpServers, mine: { url: "http://x" } },
      }),
    );
    expect((await cli(["disconnect", "cursor", "--json"])).json()).toMatchObject([
      { file: "removed", keyRevoked: true },
    ]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      mcpServers: { mine: { url: "http://x" } },
    });
  });

  test("other rights are another key, and the former one is revoked", async () => {
    await cli(["connect", "windsurf"]);
    const keyFile = join(home, ".ostiary/connections/windsurf.key");
    const first = readFileSync(keyFile, "utf8").trim();
    expect(
      (await cli(["connect", "windsurf", "--level", "execute_basic", "--json"])).json(),
    ).toMatchObject([{ changed: true }]);
    const second = readFileSync(keyFile, "utf8").trim();
    const [old, now] = await Promise.all(
      [first, second].map((key) => app.api("GET", "/tools", { key })),
    );
    expect([second === first, old?.status, now?.status]).toEqual([false, 401, 200]);
    expect((await cli(["disconnect", "windsurf", "--json"])).json()).toMatchObject([
      { file: "restored", keyRevoked: true },
    ]);
    expect(existsSync(join(home, ".codeium/windsurf/mcp_config.json"))).toBe(false);
  });

  test("a broken file is not touched, and no key is made for it", async () => {
    const path = write(".cursor/mcp.json", '{ "mcpServers": ');
    const refused = await cli(["connect", "cursor"]);
    expect([refused.code, readFileSync(path, "utf8")]).toEqual([1, '{ "mcpServers": ']);
    expect(refused.stderr).toContain("It was not touched");
    expect(existsSync(join(home, ".ostiary/connections"))).toBe(false);
  });

  test("--dry-run shows the change and makes none; --print writes no configuration", async () => {
    const dry = await cli(["connect", "vscode", "--dry-run"]);
    expect(dry.stderr).toContain('"ostiary"');
    expect(existsSync(join(home, ".config"))).toBe(false);
    expect(existsSync(join(home, ".ostiary/connections"))).toBe(false);
    const printed = await cli(["connect", "vscode", "--print"]);
    expect(printed.json()).toMatchObject({
      servers: { ostiary: { type: "http", url: `${app.url}/mcp` } },
    });
    expect(existsSync(join(home, ".config"))).toBe(false);
    expect((await cli(["disconnect", "vscode", "--json"])).json()).toMatchObject([
      { file: "nothing", keyRevoked: true },
    ]);
  });

  test("the file of a project refers to a variable instead of holding the key", async () => {
    const made = await cli(["connect", "claude-code", "cursor", "vscode", "--scope", "project"]);
    expect(made.stderr).toContain("OSTIARY_KEY");
    for (const file of [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"]) {
      const text = readFileSync(join(home, "project", file), "utf8");
      expect([file, /Bearer \$\{(?:env:)?OSTIARY_KEY\}/.test(text), /ost_/.test(text)]).toEqual([
        file,
        true,
        false,
      ]);
    }
    expect((await cli(["connect", "codex", "--scope", "project"])).code).toBe(2);
    await cli(["disconnect", "claude-code", "cursor", "vscode", "--scope", "project"]);
    expect(existsSync(join(home, "project/.mcp.json"))).toBe(false);
  });

  test("a link to a file elsewhere stays a link", async () => {
    const real = write("dotfiles/mcp.json", "{}\n");
    mkdirSync(join(home, ".cursor"));
    symlinkSync(real, join(home, ".cursor/mcp.json"));
    await cli(["connect", "cursor"]);
    expect(realpathSync(join(home, ".cursor/mcp.json"))).toBe(real);
    expect(readFileSync(real, "utf8")).toContain("ostiary");
  });

  test("what Claude Desktop would start speaks MCP with the client's own key", async () => {
    await cli(["connect", "claude-desktop"]);
    const { mcpServers } = JSON.parse(
      readFileSync(join(home, ".config/Claude/claude_desktop_config.json"), "utf8"),
    ) as { mcpServers: { ostiary: { command: string; args: string[] } } };
    const client = new Client({ name: "desktop", version: "1" });
    await client.connect(
      new StdioClientTransport({
        ...mcpServers.ostiary,
        env: { HOME: home, PATH: process.env["PATH"] ?? "" },
        stderr: "ignore",
      }),
    );
    const { tools } = await client.listTools().finally(() => client.close());
    expect(tools.map(({ name }) => name)).toContain("system_echo");
  });

  test("wrong words are usage errors; who is no administrator connects nobody", async () => {
    const typo = await cli(["connect", "curser"]);
    expect([typo.code, typo.stderr.includes("did you mean cursor?")]).toEqual([2, true]);
    expect((await cli(["connect", "cursor", "--level", "god"])).code).toBe(2);
    expect((await cli(["connect", "cursor", "--scope", "galaxy"])).code).toBe(2);
    expect((await cli(["connect", "cursor"], app.cliKey)).code).toBe(3);
    expect(existsSync(join(home, ".cursor/mcp.json"))).toBe(false);
  });
});
