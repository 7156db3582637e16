// One rule for every way content gets into a place where file/write asks: the same class, the same risk, the same
// question.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NATIVE_TOOLS } from "../../src/tools/index.ts";
import type { Touch } from "../../src/contract/tool.ts";
import { agreedAgent, patientGovernance, reasonOf, type Agent } from "../fixtures/agreed.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

let app: StartedApp;
let agent: Agent;
beforeAll(async () => {
  app = await startApp({ flags: { governance: patientGovernance() } });
  agent = await agreedAgent(app);
  writeFileSync(join(app.workspace, "important.txt"), "important");
  mkdirSync(join(app.workspace, "folder"));
  writeFileSync(join(app.workspace, "folder/important.txt"), "important");
});
afterAll(() => app.close());

type Gates = Record<string, Record<string, unknown> | undefined>;
async function gatesOf(tool: string, args: object, key = agent.key): Promise<Gates> {
  const { body } = await app.api("POST", "/explain", { key, body: { tool, arguments: args } });
  if (!Array.isArray(body.gates)) throw new Error(JSON.stringify(body));
  return Object.fromEntries(
    (body.gates as Record<string, unknown>[]).map((gate) => [gate["stage"], gate]),
  ) as Gates;
}
const asks = async (tool: string, args: object): Promise<unknown> =>
  (await gatesOf(tool, args))["approval"]?.["verdict"];

const writes = ({ kind, access, makes }: Touch): boolean =>
  kind === "path" && access !== "read" && makes !== "folder";
const writers = NATIVE_TOOLS.filter(({ touches }) => touches.some(writes));

/** The tool's own example with every path that it writes in another place. */
function exampleFor(name: string, path: string): object {
  const tool = writers.find((one) => one.name === name);
  const given: Record<string, unknown> = {
    ...tool?.examples[0],
    ...(name === "web/download" && { url: "https://github.com/x" }),
  };
  for (const touch of tool?.touches.filter(writes) ?? []) given[touch.argument.slice(1)] = path;
  return given;
}

test("A4: the catalogue has the writers that are known", () => {
  expect(writers.map(({ name }) => name).sort()).toEqual([
    "ai/generate_image",
    "ai/speak",
    "file/copy",
    "file/delete",
    "file/edit",
    "file/move",
    "file/write",
    "web/download",
  ]);
});

test.each(writers.map(({ name }) => name))(
  "A4: %s asks where file/write asks, and not where it does not",
  async (name) => {
    for (const path of ["important.txt", "new.txt", "folder/new.txt"]) {
      const like = await asks("file/write", { path, content: "x" });
      expect([path, await asks(name, exampleFor(name, path))]).toEqual([path, like]);
    }
    expect(await asks("file/write", { path: "important.txt", content: "x" })).toBe("hold");
    expect(await asks(name, exampleFor(name, "$SCRATCH/x"))).toBe("allow");
  },
);

test("A4: a copy, a download and a move over an attended file wait for a person; into the scratch folder they do not", async () => {
  expect(
    reasonOf(await agent.call("file/write", { path: "$SCRATCH/new", content: "changed" })),
  ).toBe("success");
  expect(agent.asked()).toBe(0);
  const call = (name: string, args: object) =>
    app.api("POST", "/executions", { key: agent.key, body: { name, arguments: args } });
  for (const [name, args] of [
    ["file/copy", { from: "$SCRATCH/new", to: "important.txt", overwrite: true }],
    ["file/copy", { from: "$SCRATCH/new", to: "another.txt" }],
    ["file/copy", { from: "$SCRATCH", to: "folder", recursive: true, overwrite: true }],
    ["file/move", { from: "$SCRATCH/new", to: "important.txt", overwrite: true }],
    ["web/download", { url: "https://github.com/x", path: "important.txt", overwrite: true }],
    ["ai/speak", { text: "x", path: "important.txt" }],
    ["ai/generate_image", { prompt: "x", path: "important.txt" }],
  ] as const)
    expect([name, (await call(name, args)).body.status]).toEqual([name, "pending"]);
  expect(readFileSync(join(app.workspace, "important.txt"), "utf8")).toBe("important");
  expect(
    reasonOf(await agent.call("file/copy", { from: "important.txt", to: "$SCRATCH/copy" })),
  ).toBe("success");
  expect(agent.asked()).toBe(0);
});

test("A4: with a person's yes the copy is made", async () => {
  const made = await agent.call("file/copy", { from: "important.txt", to: "copy.txt" });
  expect([reasonOf(made), agent.asked()]).toEqual(["success", 1]);
  expect(readFileSync(join(app.workspace, "copy.txt"), "utf8")).toBe("important");
});

test("A4: a link from the scratch folder leads to the question of where it leads", async () => {
  const linked = await agent.call("file/write", { path: "$SCRATCH/x", content: "x" });
  expect(reasonOf(linked)).toBe("success");
  expect(
    await asks("file/copy", { from: "$SCRATCH/x", to: `${app.workspace}/folder/../important.txt` }),
  ).toBe("hold");
});

test("A4: a caller of a lower level, who may copy but not write, is asked about too", async () => {
  const key = (
    await app.api("POST", "/keys", {
      body: {
        userId: "agent",
        name: "small",
        scopes: ["*"],
        capsuleId: "all",
        level: "execute_advanced",
      },
    })
  ).body.secret as string;
  const write = await gatesOf("file/write", { path: "important.txt", content: "x" }, key);
  expect(write["level"]).toMatchObject({ reason: "level_too_low" });
  const copy = await gatesOf("file/copy", { from: "important.txt", to: "x.txt" }, key);
  expect(copy["arguments"]).toMatchObject({ verdict: "allow", asks: "path_asks" });
  expect(copy["approval"]).toMatchObject({ verdict: "hold" });
});

test("A4: an empty folder is no content: it asks nobody, as before", async () => {
  expect(await asks("file/mkdir", { path: "empty" })).toBe("allow");
});

test("A4: in the other modes the question is that of file/write, too", async () => {
  for (const mode of ["ALERT", "DEGRADED", "LOCKDOWN", "RECOVERY"]) {
    const verdicts = await Promise.all(
      ["file/write", "file/copy", "ai/speak", "web/download"].map(async (tool) => {
        const { body } = await app.api("POST", "/explain", {
          key: agent.key,
          body: {
            tool,
            mode,
            arguments: tool === "file/write" ? { path: "x", content: "x" } : exampleFor(tool, "x"),
          },
        });
        return body.verdict as string;
      }),
    );
    expect([
      mode,
      new Set(verdicts.map((verdict) => (verdict === "allow" ? "allow" : "not"))),
    ]).toEqual([mode, new Set(["not"])]);
  }
});
