// What AI clients are told over the API: entries that work once the key stands in them.
import { execFileSync } from "node:child_process";
import { parse as parseToml } from "smol-toml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";

interface Shown {
  readonly id: string;
  readonly format: "json" | "toml";
  readonly snippet: string;
  readonly transport: "http" | "stdio";
  readonly command: string | null;
  readonly deeplink: { template: string; encoding: "base64" | "uri"; config: string } | null;
  readonly files: Record<"linux" | "macos" | "windows", string> & { project: string | null };
}

interface Entry {
  readonly url?: string;
  readonly serverUrl?: string;
  readonly headers?: { Authorization: string };
  readonly http_headers?: { Authorization: string };
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
}

describe("what AI clients are told", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let key: string;
  let shown: { url: string; placeholder: string; clients: Shown[] };
  beforeAll(async () => {
    app = await startApp();
    key = await newUser(app, "ann");
    const { status, body } = await app.api("GET", "/connect", { key });
    expect(status).toBe(200);
    conforms("account.getConnections", body);
    shown = body as typeof shown;
  });
  afterAll(() => app.close());

  const entryOf = ({ format, snippet }: Shown): Entry => {
    const text = snippet.replaceAll(shown.placeholder, key);
    const tree = (format === "toml" ? parseToml(text) : JSON.parse(text)) as Record<
      string,
      { ostiary: Entry }
    >;
    return Object.values(tree)[0]?.ostiary ?? {};
  };
  const listed = async (url: string, authorization: string): Promise<number> => {
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        authorization,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
    return answer.status;
  };

  test("each snippet names this server, and its header lets the key in", async () => {
    expect(shown.clients.map(({ id }) => id)).toEqual([
      "claude-code",
      "claude-desktop",
      "cursor",
      "vscode",
      "windsurf",
      "codex",
    ]);
    expect(shown.url).toBe(`${app.url}/mcp`);
    for (const one of shown.clients.filter(({ transport }) => transport === "http")) {
      const { url, serverUrl = url, headers, http_headers: table = headers } = entryOf(one);
      expect([one.id, serverUrl, table?.Authorization]).toEqual([
        one.id,
        shown.url,
        `Bearer ${key}`,
      ]);
      expect(await listed(String(serverUrl), String(table?.Authorization))).not.toBe(401);
    }
    expect(await listed(shown.url, `Bearer ${shown.placeholder}`)).toBe(401);
  });

  test("a client that takes programs only is given one, with the key in a variable", () => {
    const desktop = shown.clients.find(({ transport }) => transport === "stdio");
    const { args, env } = entryOf(desktop as Shown);
    expect(args).toEqual(["-y", "ostiary", "mcp", "--server", app.url, "--key", "env:OSTIARY_KEY"]);
    expect(env).toEqual({ OSTIARY_KEY: key });
  });

  test("links carry the same entry, and commands survive a shell", () => {
    for (const { id, deeplink } of shown.clients) {
      if (deeplink === null) continue;
      const config = JSON.parse(deeplink.config) as Entry;
      expect([id, config.url]).toEqual([id, shown.url]);
      expect(deeplink.template.split("{config}")).toHaveLength(2);
    }
    const code = shown.clients.find(({ id }) => id === "claude-code")?.command ?? "";
    const words = execFileSync("sh", ["-c", `printf '%s\\n' ${code}`], { encoding: "utf8" });
    expect(words.trimEnd().split("\n").slice(-3)).toEqual([
      shown.url,
      "--header",
      `Authorization: Bearer ${shown.placeholder}`,
    ]);
  });

  test("files are named as people write them", () => {
    const { files } = shown.clients.find(({ id }) => id === "vscode") as Shown;
    expect(files).toEqual({
      linux: "~/.config/Code/User/mcp.json",
      macos: "~/Library/Application Support/Code/User/mcp.json",
      windows: "%APPDATA%\\Code\\User\\mcp.json",
      project: ".vscode/mcp.json",
    });
  });

  test("over tRPC; and to nobody without a key", async () => {
    const over = await trpcClient(app, key).account.getConnections.query();
    expect(over.clients).toHaveLength(shown.clients.length);
    expect((await app.api("GET", "/connect", { key: null })).status).toBe(401);
  });
});
