// Folders of the host that a server upstream is given, a real program in the real box: repositories in them stay as
// they are, none is left behind, and nothing of Ostiary's own is among them.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BOX } from "../fixtures/programs.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const AS_ROOT = process.getuid?.() === 0;
const UID = 12_345;

/** One tool, `run`: evaluates its argument inside. */
const PROGRAM = `
import { createInterface } from "node:readline";
import fs from "node:fs";
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") answer(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "probe", version: "1" } });
  else if (method === "tools/list") answer(id, { tools: [{ name: "run", description: "Runs.", inputSchema: { type: "object", properties: { code: { type: "string" } } } }] });
  else if (method === "tools/call") {
    let text;
    try { text = "did " + String(eval(params.arguments.code)); } catch (cause) { text = "failed " + cause.code; }
    answer(id, { content: [{ type: "text", text }] });
  } else if (id !== undefined) answer(id, {});
});
`;

describe.skipIf(!HAS_BOX)("folders of servers", { timeout: 120_000 }, () => {
  let app: StartedApp;
  let folder: string;
  const at = (...names: string[]): string => join(folder, ...names);
  const own = (path: string): void => {
    if (AS_ROOT) chownSync(path, UID, UID);
  };
  const make = (...names: string[]): void => {
    mkdirSync(at(...names));
    own(at(...names));
  };
  beforeAll(async () => {
    app = await startApp();
    folder = mkdtempSync(join(tmpdir(), "ostiary-folders-"));
    chmodSync(folder, 0o755);
    mkdirSync(at("program"));
    writeFileSync(at("program/probe.mjs"), PROGRAM);
    for (const names of [["work"], ["work", ".git"], ["work", "sub"]]) make(...names);
    writeFileSync(at("work/.git/config"), "[core]\n");
    own(at("work/.git/config"));
  }, 60_000);
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const transport = (path: string, access: "ro" | "rw") => ({
    kind: "stdio",
    argv: ["node", at("program/probe.mjs")],
    folders: [{ path, access }],
  });

  test("A1: repositories stay as they are, and what is made of them does not outlive the program", async () => {
    await app.api("POST", "/servers", {
      body: { name: "writer", transport: transport(at("work"), "rw") },
    });
    const terms = { risk: "safe", effects: "read_only" };
    expect((await app.api("POST", "/servers/writer/approve", { body: { terms } })).status).toBe(
      200,
    );
    const run = async (code: string): Promise<string> => {
      const { body } = await app.api("POST", "/executions", {
        body: { name: "writer/run", arguments: { code } },
      });
      const content = body?.result?.$content as { text: string }[] | undefined;
      return content?.[0]?.text ?? JSON.stringify(body);
    };
    const file = (...names: string[]): string => JSON.stringify(at("work", ...names));
    expect(
      await run(`fs.writeFileSync(${file(".git/config")}, "[core]\\n fsmonitor = x")`),
    ).toMatch(/^failed E/);
    expect(await run(`fs.renameSync(${file(".git")}, ${file("old")})`)).toMatch(/^failed E/);
    expect(await run(`fs.writeFileSync(${file("plain.txt")}, "x")`)).toBe("did undefined");
    expect(
      await run(
        `fs.mkdirSync(${file("sub/.git")}); fs.writeFileSync(${file("sub/.git/HEAD")}, "x")`,
      ),
    ).toBe("did undefined");
    expect((await app.api("DELETE", "/servers/writer")).status).toBeLessThan(300);
    await expect.poll(() => existsSync(at("work/sub/.git")), { timeout: 20_000 }).toBe(false);
    expect(readFileSync(at("work/.git/config"), "utf8")).toBe("[core]\n");
    expect(readFileSync(at("work/plain.txt"), "utf8")).toBe("x");
  });

  test("A1: a folder of a repository's own is not given to a server", async () => {
    expect(await refused("hooks", at("work/.git"), "rw")).toContain("belongs to the repository");
  });

  test.each(["ro", "rw"] as const)(
    "A2: what Ostiary keeps is not given to a server: %s",
    async (access) => {
      const word = "which no program may reach";
      expect(await refused(`own${access}`, app.dataDir, access)).toContain(word);
      expect(await refused(`above${access}`, tmpdir(), access)).toContain(word);
    },
  );

  async function refused(name: string, path: string, access: "ro" | "rw"): Promise<string> {
    const made = await app.api("POST", "/servers", {
      body: { name, transport: transport(path, access) },
    });
    const approved = await app.api("POST", `/servers/${name}/approve`, { body: {} });
    const found = await app.api("GET", `/servers/${name}`);
    return JSON.stringify([made.body, approved.body, found.body]);
  }
});
