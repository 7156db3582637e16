// A call that timed out or failed with something in hand: every door hands that over, and the record keeps it.
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, toolError } from "../../src/contract/tool.ts";
import { bridgeStdio } from "../../src/server/stdio/bridge.ts";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { connect, ERAS, modernCall, modernHeaders, post } from "./mcp-clients.ts";

/** Says three lines, then waits for ever or breaks. */
const speaker = defineTool({
  name: "system/speaker",
  description: "Say a few lines, then hang or fail. For tests only.",
  input: z.strictObject({ end: z.enum(["hang", "fail"]) }),
  output: z.strictObject({ lines: z.array(z.string()) }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 1_000,
  examples: [{ end: "fail" }],
  async run({ end }, _powers, { signal }) {
    const so = { lines: ["first line", "second line", "third line"] };
    if (end === "fail") throw toolError("source_unavailable", "the rest is gone", { partial: so });
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return so;
  },
});

let app: StartedApp;
beforeAll(async () => {
  app = await startApp({ tools: [speaker] });
});
afterAll(() => app.close());

type End = "hang" | "fail";

async function overStdio(
  end: End,
  serve: (input: PassThrough, output: PassThrough) => Promise<void>,
): Promise<string> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const done = serve(input, output);
  input.write(`${JSON.stringify(modernCall("system_speaker", { end }, "door"))}\n`);
  await until(() => text.includes('"id":"door"'));
  input.end();
  await done;
  return text;
}

async function overCli(end: End, ...more: string[]): Promise<string> {
  const env = { OSTIARY_DATA_DIR: app.dataDir, DOOR_KEY: app.adminKey };
  const ran = await runBin(
    ["call", "system/speaker", `end=${end}`, "--key", "env:DOOR_KEY", ...more],
    { env },
  );
  expect(ran.code).toBe(1);
  return ran.stdout;
}

const rest = async (end: End, name = "system/speaker", args: object = { end }) =>
  (await app.api("POST", "/executions", { body: { name, arguments: args } })).body;

/** Each answers with everything the caller gets. */
const DOORS: Record<string, (end: End) => Promise<string>> = {
  REST: async (end) => JSON.stringify(await rest(end)),
  "REST, asked later": async (end) => {
    const { executionId } = await rest(end);
    return JSON.stringify((await app.api("GET", `/executions/${executionId}`)).body);
  },
  tRPC: async (end) => {
    const input = { name: "system/speaker", arguments: { end } };
    return (await trpcFailure(trpcClient(app).tools.executeTool.mutate(input))).text;
  },
  "MCP, fast path": async (end) => {
    const message = modernCall("system_speaker", { end });
    return (await post(app.url, app.adminKey, message, modernHeaders("system_speaker"))).text();
  },
  ...Object.fromEntries(
    ERAS.map((era) => [
      `MCP, SDK client of the ${era} era`,
      async (end: End) => {
        const { client } = await connect(app.url, app.adminKey, era);
        const result = await client.callTool({ name: "system_speaker", arguments: { end } });
        await client.close();
        return JSON.stringify(result);
      },
    ]),
  ),
  "stdio, engine in this process": async (end) => {
    const caller = await app.callerOf(app.adminKey);
    return overStdio(end, (input, output) => serveStdioDoor(app.doors, caller, { input, output }));
  },
  "stdio, bridge to a server": (end) =>
    overStdio(end, (input, output) =>
      bridgeStdio({ url: `${app.url}/mcp`, key: app.adminKey, input, output }),
    ),
  "ostiary call": (end) => overCli(end),
  "ostiary call --json": (end) => overCli(end, "--json"),
  "a call made by another call": async (end) => {
    const args = { name: "system_speaker", arguments: { end } };
    return JSON.stringify(await rest(end, "system/call_tool", args));
  },
};

describe.each(["hang", "fail"] as const)(
  "R141 R167: a tool that %ss",
  { timeout: 30_000 },
  (end) => {
    test.each(Object.keys(DOORS))("%s: what it had so far is in the answer", async (name) => {
      const told = await DOORS[name]?.(end);
      for (const line of ["first line", "third line"]) expect(told).toContain(line);
    });

    test("the step of a workflow leads to its record, which has it", async () => {
      const steps = [{ id: "s", tool: "system/speaker", input: { end } }];
      const workflow = { name: `speak-${end}`, steps };
      const made = await rest(end, "workflow/create", workflow);
      const ran = await rest(end, "workflow/execute", { workflowId: made.result.workflowId });
      const [step] = ran.result.steps as { status: string; executionId: string }[];
      const { body } = await app.api("GET", `/executions/${step?.executionId}`);
      expect(body.execution).toMatchObject({
        status: end === "hang" ? "cancelled" : "failed",
        result: { lines: ["first line", "second line", "third line"] },
      });
    });
  },
);
