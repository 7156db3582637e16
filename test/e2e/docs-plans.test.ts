// docs/plans.md and docs/frameworks.md: the request and the function do what is written, the code is that of examples/.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPlanStep } from "../../src/client/plan.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const blocks = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(
    ([, code]) => code ?? "",
  );

describe("docs/plans.md", () => {
  const page = read("docs/plans.md");
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  test("R255: the request of the page is answered as the page says", async () => {
    const [text = ""] = blocks(page, "json");
    const { status, body } = await app.api("POST", "/plans/execute", {
      body: JSON.parse(text) as object,
    });
    expect([status, body.success, body.skipped]).toEqual([200, true, null]);
    expect(body.state.question).toBe("what time is it?");
    const results = body.state.tool_results as Record<string, unknown>[];
    expect(results.map(({ tool, success }) => [tool, success])).toEqual([
      ["system/time", true],
      ["system/echo", true],
      ["file/read", false],
    ]);
    const keys = [...page.matchAll(/^\| `(\w+)` +\| [^|]+\|$/gm)].map(([, key]) => key);
    expect(keys).toEqual(Object.keys(results[0] ?? {}));
  });

  test("R257: the program of the page", async () => {
    const [code = ""] = blocks(page, "js");
    const body = code
      .replace(/^import .*$/m, "")
      .replace("http://127.0.0.1:3100", app.url)
      .replace("process.env.OSTIARY_KEY", JSON.stringify(app.adminKey));
    // The program as it stands; its import is handed in.
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
    const program = new AsyncFunction("createPlanStep", `${body}; return tool_results;`);
    expect(await (program(createPlanStep) as Promise<unknown>)).toMatchObject([
      { tool: "system/echo", success: true, result: { text: "hello" } },
    ]);
  });
});

test("docs/frameworks.md: every piece of code is in the example that runs", () => {
  const sources = globSync("examples/*.ts", { cwd: ROOT }).map(read);
  const pieces = blocks(read("docs/frameworks.md"), "ts");
  expect(pieces.length).toBeGreaterThan(5);
  const strange = pieces.filter((piece) => !sources.some((source) => source.includes(piece)));
  expect(strange).toEqual([]);
});
