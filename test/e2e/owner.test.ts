// The owner of a fresh install, step by step with the real program: connects a first agent, whose dangerous call
// waits; finds it, agrees, and sees what became of it and who did what. Once at the command line, once on the pages,
// once in Chromium.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runBin, startServer, type BinResult, type RunningServer } from "../fixtures/bin.ts";
import { signIn } from "../fixtures/console.ts";
import { until } from "../fixtures/contract.ts";
import { connect } from "./mcp-clients.ts";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
  (path) => existsSync(path),
);

interface Waiting {
  readonly id: string;
  readonly executionId: string;
  readonly requester: string;
  readonly toolName: string;
  readonly mayDecide: boolean;
}

describe("item 5, 9, 14: the owner of a fresh install", { timeout: 180_000 }, () => {
  let home: string;
  let dataDir: string;
  let workspace: string;
  let server: RunningServer;
  const options = () => ({ env: { HOME: home, OSTIARY_DATA_DIR: dataDir }, cwd: workspace });
  const ostiary = (...args: string[]): Promise<BinResult> => runBin(args, options());
  const done = async (...args: string[]): Promise<BinResult> => {
    const result = await ostiary(...args);
    expect([result.code, result.stderr]).toEqual([0, expect.any(String)]);
    return result;
  };

  /** The key as the client finds it in its own configuration. */
  const agentKey = (): string => {
    const config = JSON.parse(readFileSync(join(home, ".cursor/mcp.json"), "utf8")) as {
      mcpServers: { ostiary: { url: string; headers: { Authorization: string } } };
    };
    const { url, headers } = config.mcpServers.ostiary;
    expect(url).toBe(`${server.url}/mcp`);
    return headers.Authorization.replace("Bearer ", "");
  };

  /** The agent asks over MCP and is kept waiting, as agents are. */
  async function agentWrites(path: string) {
    const { client } = await connect(server.url, agentKey(), "modern");
    const answer = client.callTool({
      name: "file_write",
      arguments: { path, content: "by the agent" },
    });
    return { answer: answer.finally(() => client.close()) };
  }

  async function found(path: string): Promise<Waiting> {
    let waiting: Waiting | undefined;
    await until(async () => {
      const { items } = (await done("approvals", "list", "--json")).json() as {
        items: (Waiting & { arguments: { path: string } })[];
      };
      waiting = items.find((item) => item.arguments.path === path);
      return waiting !== undefined;
    }, 20_000);
    return waiting as Waiting;
  }

  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-owner-")));
    dataDir = join(home, ".ostiary");
    workspace = join(home, "project");
    mkdirSync(workspace);
    mkdirSync(join(home, ".cursor"));
    server = await startServer(["--port", "0"], options());
    const connected = await done("connect", "cursor");
    expect(connected.stderr).toContain("dangerous tools ask a person");
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  });

  test("at the command line", async () => {
    const { answer } = await agentWrites("cli.md");
    const waiting = await found("cli.md");
    expect(waiting).toMatchObject({ requester: "cursor", toolName: "file/write", mayDecide: true });
    expect(existsSync(join(workspace, "cli.md"))).toBe(false);
    // Found by a person, too: one line that says who wants what.
    expect((await done("approvals", "list")).stdout).toMatch(/pending.*cursor.*file\/write/);
    const agreed = await done("approvals", "approve", waiting.id, "--reason", "fine");
    expect(agreed.stderr).toContain(`ostiary runs show ${waiting.executionId}`);
    expect(await answer).not.toMatchObject({ isError: true });
    expect(readFileSync(join(workspace, "cli.md"), "utf8")).toBe("by the agent");

    // The outcome and who did what, with the very command that was printed.
    const shown = (await done("runs", "show", waiting.executionId, "--json")).json();
    expect(shown.execution).toMatchObject({
      userId: "cursor",
      status: "success",
      entry: "mcp",
      approval: { state: "consumed", decidedBy: ["owner"], comment: "fine" },
    });
    expect((await done("explain", waiting.executionId)).stdout).toMatch(
      /as\s+cursor with key key_/,
    );
    const events = (await done("audit", "search", "--text", waiting.executionId, "--json")).json();
    const acts = (events.events as { action: string; actor: string }[]).map(
      ({ action, actor }) => `${actor} ${action}`,
    );
    expect(acts).toEqual(
      expect.arrayContaining([
        "cursor tool.execution.held",
        "owner approval.voted",
        "owner approval.approved",
        "cursor tool.execution.complete",
      ]),
    );
    expect((await done("runs", "list", "--user", "*")).stdout).toContain(waiting.executionId);
  });

  test("in the console's session", async () => {
    const { answer } = await agentWrites("page.md");
    const { id, executionId } = await found("page.md");
    const owner = await signIn((await done("open", "--json")).json().url as string);
    const waiting = (await owner.api("GET", "/approvals?state=pending")).body;
    expect(waiting.items).toContainEqual(
      expect.objectContaining({ id, requester: "cursor", toolName: "file/write", mayDecide: true }),
    );
    const said = { comment: "from the console" };
    expect((await owner.api("POST", `/approvals/${id}/approve`, said)).status).toBe(200);
    expect(await answer).not.toMatchObject({ isError: true });
    expect(readFileSync(join(workspace, "page.md"), "utf8")).toBe("by the agent");
    const { execution } = (await owner.api("GET", `/executions/${executionId}`)).body;
    expect(execution).toMatchObject({
      userId: "cursor",
      status: "success",
      approval: { decidedBy: ["owner"], comment: "from the console" },
    });
    // Everybody's newest calls, with whose they are.
    const { executions } = (await owner.api("GET", "/executions?userId=*")).body;
    expect(executions).toContainEqual(
      expect.objectContaining({ id: executionId, userId: "cursor" }),
    );
  });

  test.skipIf(CHROMIUM === undefined)("in Chromium", async () => {
    const { answer } = await agentWrites("browser.md");
    const { id, executionId } = await found("browser.md");
    const browser = await chromium.launch({
      executablePath: CHROMIUM as string,
      args: ["--no-sandbox"],
    });
    try {
      const page = await browser.newPage();
      await page.goto((await done("open", "--json")).json().url as string);
      await page.goto(`${server.url}/a/${id}`);
      await page.waitForURL(`${server.url}/approvals/${id}`);
      await page
        .getByRole("button", { name: /^Approve/ })
        .first()
        .click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^Approve/ })
        .click();
      expect(await answer).not.toMatchObject({ isError: true });
      await page.goto(`${server.url}/e/${executionId}`);
      for (const word of ["cursor", "owner", "file/write", "success"])
        await page.getByText(word).filter({ visible: true }).first().waitFor();
    } finally {
      await browser.close();
    }
    expect(readFileSync(join(workspace, "browser.md"), "utf8")).toBe("by the agent");
  });

  test("the agent's own key opens none of these doors", async () => {
    const { answer } = await agentWrites("never.md");
    const { id } = await found("never.md");
    const headers = { authorization: `Bearer ${agentKey()}`, "content-type": "application/json" };
    const ask = (method: string, path: string) =>
      fetch(`${server.url}/api/v1${path}`, {
        method,
        headers,
        ...(method === "POST" ? { body: "{}" } : {}),
      }).then(({ status }) => status);
    expect(await ask("POST", `/approvals/${id}/approve`)).toBe(403);
    expect(await ask("POST", "/login-links")).toBe(403);
    expect(await ask("GET", "/keys")).toBe(403);
    await done("approvals", "deny", id, "--reason", "no");
    expect(await answer).toMatchObject({ isError: true });
    expect(existsSync(join(workspace, "never.md"))).toBe(false);
  });
});
