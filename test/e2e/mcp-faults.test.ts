// What a client of either path is told when something inside is broken: the code, and nothing of the cause.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { AppError } from "../../src/contract/errors.ts";
import { defineTool, type Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { connect, ERAS, META, MODERN, modernCall, modernHeaders, post } from "./mcp-clients.ts";

const SECRET = "password=hunter2";
const spare = (index: number): Tool =>
  defineTool({
    name: `system/spare_${String(index).padStart(3, "0")}`,
    description: "Fills a page.",
    input: z.strictObject({}),
    output: z.strictObject({}),
    risk: "safe",
    effects: "read_only",
    needs: [],
    timeoutMs: 1_000,
    examples: [{}],
    run: () => {
      throw new Error(SECRET);
    },
  });

let app: StartedApp;
beforeAll(async () => {
  app = await startApp({ tools: Array.from({ length: 220 }, (_, index) => spare(index)) });
});
afterAll(() => app.close());
afterEach(() => vi.restoreAllMocks());

const list = (cursor?: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/list",
  params: { _meta: META, ...(cursor !== undefined && { cursor }) },
});
const LIST_HEADERS = { "mcp-protocol-version": MODERN, "mcp-method": "tools/list" };
const postList = async (cursor?: string) => {
  const answer = await post(app.url, app.adminKey, list(cursor), LIST_HEADERS);
  return (await answer.json()) as {
    result?: { tools: { name: string }[]; nextCursor?: string; ttlMs: number; cacheScope: string };
    error?: { code: number; message: string };
  };
};

/** A progress token sends the call down the SDK path. */
const call = (path: "fast" | "sdk", name: string) => {
  const message = modernCall(name);
  if (path === "sdk") Object.assign(message.params, { _meta: { ...META, progressToken: 1 } });
  return post(app.url, app.adminKey, message, modernHeaders(name));
};

describe("the list", () => {
  test("comes in pages, complete and in order, private and short-lived", async () => {
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const { result } = await postList(cursor);
      expect(result).toMatchObject({ ttlMs: 30_000, cacheScope: "private" });
      names.push(...result!.tools.map(({ name }) => name));
      cursor = result!.nextCursor;
    } while (cursor !== undefined);
    expect(names.length).toBeGreaterThan(220);
    expect(names).toEqual([...new Set(names)].sort());
  });

  test("starts again when it has changed in between", async () => {
    const { result } = await postList();
    await app.doors.registry.setEnabled("system_spare_000", false);
    expect(await postList(result!.nextCursor)).toMatchObject({ error: { code: -32602 } });
    expect(await postList("forged")).toMatchObject({ error: { code: -32602 } });
    await app.doors.registry.setEnabled("system_spare_000", true);
  });

  test("fails when an engine is out, and is never empty", async () => {
    vi.spyOn(app.doors.engine, "discover").mockRejectedValue(
      new AppError("UNAVAILABLE", "engine_unavailable", "the store does not answer"),
    );
    expect(await postList()).toMatchObject({ error: { code: -32603 } });
  });

  test("tells nothing of an unforeseen failure", async () => {
    vi.spyOn(app.doors.engine, "discover").mockRejectedValue(new Error(SECRET));
    const answer = await postList();
    expect(answer).toMatchObject({ error: { code: -32603, message: "Internal error" } });
    expect(JSON.stringify(answer)).not.toContain("hunter2");
  });
});

describe.each(["fast", "sdk"] as const)("a call on the %s path", (path) => {
  test("says that it was not recorded and not run, with HTTP 503", async () => {
    vi.spyOn(app.doors.engine, "execute").mockRejectedValue(new Error(SECRET));
    const answer = await call(path, "system_echo");
    expect(answer.status).toBe(503);
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({
      id: 1,
      error: { code: -32603, message: "not recorded, not run" },
    });
    expect(text).not.toContain("hunter2");
  });

  test("tells nothing of an exception inside the tool", async () => {
    const answer = await call(path, "system_spare_001");
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({ result: { isError: true } });
    expect(text).not.toContain("hunter2");
  });
});

describe.each(ERAS)("a client of the %s era", (era) => {
  test("finds every tool by walking the pages", async () => {
    const { client } = await connect(app.url, app.adminKey, era);
    const names = new Set<string>();
    let cursor: string | undefined;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor });
      for (const { name } of page.tools) names.add(name);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(names.size).toBeGreaterThan(220);
    await client.close();
  });
});
