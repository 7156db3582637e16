// What tools, callers, upstream servers and people wrote is shown as text everywhere: no script of theirs runs, no
// address of theirs is asked. Pages of others can neither act for somebody signed in nor frame the console.
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConsoleHouse, NO_BROWSER, startConsole } from "../fixtures/console-browser.ts";
import { type McpUpstream, startMcpUpstream } from "../fixtures/mcp-upstream.ts";

/** Each would leave `window.ranTheirs`, or ask for /their-picture. */
const PAYLOADS = [
  `<script>window.ranTheirs=1</script>`,
  `<img src=/their-picture onerror="window.ranTheirs=1">`,
  `<svg/onload=window.ranTheirs=1>`,
  `"><iframe srcdoc="<script>parent.ranTheirs=1</script>"></iframe>`,
  `javascript:window.ranTheirs=1//`,
  `[click](javascript:window.ranTheirs=1)`,
  `<a href="javascript:window.ranTheirs=1" id=their-link>x</a>`,
  `{{constructor.constructor('window.ranTheirs=1')()}}`,
  `<style>@import "/their-picture";</style>`,
  `</title></textarea><script>window.ranTheirs=1</script>`,
  `\u202e<script>window.ranTheirs=1</script>\u0000`.replace("\u0000", ""),
];
const BLNS = join(import.meta.dirname, "../../../shared/corpora/naughty-strings/blns.json");
const PAGES = [
  "/",
  "/executions",
  "/approvals",
  "/tools",
  "/explain",
  "/policies",
  "/relationships",
  "/audit",
  "/figures",
  "/servers",
  "/work",
  "/people",
  "/people?tab=users",
  "/people?tab=keys",
  "/people?tab=capsules",
  "/people?tab=personas",
  "/chat",
  "/settings",
];

describe.skipIf(NO_BROWSER)(NO_BROWSER ?? "texts of others in the console", () => {
  let house: ConsoleHouse;
  let upstream: McpUpstream;
  const paths = [...PAGES];

  beforeAll(async () => {
    [house, upstream] = await Promise.all([startConsole(), startMcpUpstream()]);
    await fill();
  });
  afterAll(async () => {
    await house.close();
    await upstream.close();
  });

  async function fill(): Promise<void> {
    const api = async (method: string, path: string, options: { body: unknown }) => {
      const answer = await house.app.api(method, path, options);
      const isCall = path === "/executions";
      if (answer.status >= 300 && !isCall)
        throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer;
    };
    const all = PAYLOADS.join(" ");
    const run = async (name: string, args: object) =>
      (await api("POST", "/executions", { body: { name, arguments: args } })).body;
    for (const text of PAYLOADS) await run("system/echo", { text });
    const echoed = await run("system/echo", { text: all });
    await run(`<img src=/their-picture onerror=window.ranTheirs=1>`.slice(0, 100), { [all]: all });
    const refused = await run("file/read", { path: `/etc/${PAYLOADS[1]}` });
    const held = await run("file/write", { path: "<b>x</b>.html", content: all });
    await api("POST", "/users", { body: { id: "mallory", name: PAYLOADS[1] } });
    await api("POST", "/keys", { body: { userId: "mallory", name: PAYLOADS[0], scopes: ["*"] } });
    await api("POST", "/capsules", {
      body: { id: "odd", name: PAYLOADS[2], capabilities: ["system/echo"], systemPrompt: all },
    });
    await api("POST", "/personas", { body: { id: "odd", name: PAYLOADS[3], prompt: all } });
    upstream.tools = [
      {
        name: "their_tool",
        description: all,
        inputSchema: {
          type: "object",
          title: all,
          properties: { text: { type: "string", title: PAYLOADS[0], description: all } },
        },
      },
    ];
    const transport = { kind: "http", url: upstream.url };
    await api("POST", "/servers", {
      body: { name: "theirs", description: all.slice(0, 500), transport },
    });
    const said = await api("POST", "/chat", {
      body: { message: `/tool system/echo {"text": ${JSON.stringify(all)}}` },
    });
    await api("PATCH", `/sessions/${said.body.sessionId}`, { body: { title: PAYLOADS[1] } });
    paths.push(
      `/executions/${echoed.executionId}`,
      `/executions/${refused.execution_id}`,
      `/x/${refused.execution_id}`,
      `/approvals/${held.approval?.id}`,
      `/servers/theirs`,
      `/chat/${said.body.sessionId}`,
      `/tools/system/echo`,
      `/executions?search=${encodeURIComponent(PAYLOADS[0] ?? "")}`,
    );
  }

  test("no page runs or fetches anything of theirs", { timeout: 180_000 }, async () => {
    const { page, visit, faults } = await house.open();
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("their-picture")) asked.push(request.url());
    });
    page.on("dialog", async (dialog) => {
      asked.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    for (const path of paths) {
      await visit(path);
      await expect
        .poll(() => page.getByRole("heading").count(), { message: `a heading at ${path}` })
        .toBeGreaterThan(0);
      await page.waitForLoadState("networkidle", { timeout: 3_000 }).catch(() => undefined);
      const state = await page.evaluate<{ ran: unknown; links: number; frames: number }>(`({
        ran: window.ranTheirs ?? null,
        links: document.querySelectorAll("a[href^='javascript:'], #their-link").length,
        frames: document.querySelectorAll("iframe").length,
      })`);
      expect([path, state]).toEqual([path, { ran: null, links: 0, frames: 0 }]);
    }
    expect(asked).toEqual([]);
    expect(faults()).toEqual([]);
  });

  test.skipIf(!existsSync(BLNS))("the list of naughty strings is shown as it is", async () => {
    const strings = (JSON.parse(readFileSync(BLNS, "utf8")) as string[]).filter(
      (text) => text.isWellFormed() && !text.includes("\u0000"),
    );
    const { body } = await house.app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: strings.join("\n") } },
    });
    const { page, visit, faults } = await house.open();
    await visit(`/executions/${body.executionId}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("<script>alert(123)</script>").first().waitFor();
    expect(await page.evaluate("window.ranTheirs ?? null")).toBeNull();
    expect(faults()).toEqual([]);
  });

  describe("a page of somebody else", () => {
    let theirs: Server;
    let theirUrl: string;
    beforeAll(async () => {
      theirs = createServer((_req, res) => {
        res.setHeader("content-type", "text/html");
        res.end(`<!doctype html><title>theirs</title><form method=post></form>`);
      });
      await new Promise<void>((resolve) => theirs.listen(0, "127.0.0.1", resolve));
      theirUrl = `http://localhost:${(theirs.address() as AddressInfo).port}`;
    });
    afterAll(() => void theirs.close());

    test("can neither change anything nor read anything with the cookie", async () => {
      const { page } = await house.open();
      const before = (await house.app.api("GET", "/executions?userId=*&limit=1")).body;
      await page.goto(theirUrl);
      const call = JSON.stringify({ name: "system/echo", arguments: { text: "theirs" } });
      const outcomes = await page.evaluate<string[]>(`(async () => {
        const url = ${JSON.stringify(house.app.url)} + "/api/v1/executions";
        const ways = [
          { method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(call)} },
          { method: "POST", headers: { "content-type": "text/plain" }, body: ${JSON.stringify(call)}, mode: "no-cors" },
          { method: "GET" },
        ];
        const outcomes = [];
        for (const way of ways) {
          try {
            const answer = await fetch(url, { credentials: "include", ...way });
            outcomes.push(answer.type + " " + answer.status);
          } catch { outcomes.push("refused"); }
        }
        return outcomes;
      })()`);
      expect(outcomes).toEqual(["refused", "opaque 0", "refused"]);
      await page.evaluate(`(() => {
        const form = document.querySelector("form");
        form.action = ${JSON.stringify(house.app.url)} + "/logout";
        form.submit();
      })()`);
      await page.waitForURL(`${house.app.url}/logout`);
      await page.goto(house.app.url);
      await page.getByRole("heading", { name: "Home" }).waitFor();
      const after = (await house.app.api("GET", "/executions?userId=*&limit=1")).body;
      expect(after.executions[0].id).toBe(before.executions[0].id);
    });

    test("cannot frame the console", async () => {
      const { page } = await house.open();
      await page.goto(theirUrl);
      await page.evaluate(`(() => {
        const frame = document.createElement("iframe");
        frame.src = ${JSON.stringify(house.app.url)};
        document.body.append(frame);
      })()`);
      await expect
        .poll(() => page.frames().map((frame) => frame.url()))
        .toContainEqual(expect.stringContaining("chrome-error://"));
    });
  });
});
