// The packed product: the tarball, installed into an empty folder, does what the clone does.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runBin, startServer, type BinResult, type RunningServer } from "../fixtures/bin.ts";
import { startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { openPetApi, PET_DOCUMENT_YAML, type PetApi } from "../fixtures/pet-api.ts";
import { installTarball, packTarball } from "../fixtures/tarball.ts";

describe("item 8: installed from the tarball", { timeout: 60_000 }, () => {
  let folder: string;
  let program: string;
  let server: RunningServer;
  let upstream: McpUpstream;
  let pets: PetApi;
  const cli = (args: string[]): Promise<BinResult> =>
    runBin(args, { program, cwd: join(folder, "empty"), env: { HOME: join(folder, "home") } });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-packed-"));
    mkdirSync(join(folder, "home"));
    program = installTarball(packTarball(folder), join(folder, "empty"));
    upstream = await startMcpUpstream();
    pets = await openPetApi();
    server = await startServer(["--port", "0"], {
      program,
      cwd: join(folder, "empty"),
      env: { HOME: join(folder, "home") },
    });
  }, 240_000);
  afterAll(async () => {
    await server.stop();
    await upstream.close();
    await pets.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("every lazy chunk loads where no package is beside it", () => {
    const dist = join(folder, "empty/node_modules/ostiary/dist");
    // Programs and threads run when they are loaded; chunks only define. Each has its hash in its name.
    const chunks = readdirSync(dist).filter((name) => /-[0-9A-Z]{8}\.js$/.test(name));
    expect(chunks.length).toBeGreaterThan(100);
    const script = `
      for (const name of ${JSON.stringify(chunks)})
        await import(${JSON.stringify(`file://${dist}/`)} + name).catch((cause) => console.log(name, cause.message));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    expect(output).toBe("");
  });

  test("R255: a program beside it imports the planner step, with its types", () => {
    const home = join(folder, "empty");
    const script = `
      import { createPlanStep } from "ostiary/plan";
      const step = createPlanStep({ url: ${JSON.stringify(server.url)}, apiKey: process.env.KEY });
      const tools = [{ name: "system/echo", input: { text: "packed" } }, "file/invented"];
      console.log(JSON.stringify(await step({ plan: { tools } })));`;
    const key = readFileSync(join(folder, "home/.ostiary/cli.key"), "utf8").trim();
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      cwd: home,
      encoding: "utf8",
      env: { KEY: key },
    });
    expect(JSON.parse(output)).toMatchObject({
      tool_results: [
        { tool: "system/echo", success: true, result: { text: "packed" }, error: null },
        { tool: "file/invented", success: false, error: "Tool 'file/invented' not found" },
      ],
    });
    writeFileSync(
      join(home, "typed.mts"),
      `import { createPlanStep, type ToolResult } from "ostiary/plan";
       const step = createPlanStep({ url: "http://localhost", apiKey: "x" });
       export const results: Promise<ToolResult[] | undefined> = step({ plan: { tools: ["a"] } }).then((u) => u.tool_results);
       // @ts-expect-error a key is needed
       createPlanStep({ url: "http://localhost" });\n`,
    );
    const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
    const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "esnext"];
    execFileSync(process.execPath, [tsc, ...options, "typed.mts"], { cwd: home, stdio: "inherit" });
  });

  test("connect writes a client's file, disconnect takes it back", async () => {
    const made = await cli(["connect", "claude-code"]);
    expect(made.stderr).toContain("✓ connected");
    expect(made.code).toBe(0);
    const file = join(folder, "home/.claude.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toHaveProperty("mcpServers.ostiary");
    const undone = await cli(["disconnect", "claude-code"]);
    expect([undone.code, undone.stderr]).toEqual([0, expect.stringContaining("claude")]);
    expect(existsSync(file) ? readFileSync(file, "utf8") : "").not.toContain("ostiary");
  });

  test("completion writes a script that the shell reads", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout, stderr } = await cli(["completion", shell]);
      expect([shell, code, stderr]).toEqual([shell, 0, ""]);
      expect(stdout).toContain("disconnect");
      if (shell === "bash") execFileSync("bash", ["-n"], { input: stdout });
    }
  });

  test("servers import reads the configuration of an AI client", async () => {
    const file = join(folder, "empty/clients.json");
    writeFileSync(file, JSON.stringify({ mcpServers: { near: { url: upstream.url } } }));
    const imported = await cli(["servers", "import", file]);
    expect(imported.stderr + imported.stdout).toContain("near");
    expect(imported.code).toBe(0);
    expect((await cli(["servers", "list"])).stdout).toContain("near");
  });

  test("a YAML OpenAPI document becomes tools", async () => {
    const file = join(folder, "empty/pets.yaml");
    writeFileSync(file, PET_DOCUMENT_YAML);
    const added = await cli(["servers", "add", "pets", pets.url, "--openapi", file]);
    expect(added.stderr).toContain("✓ pets imported — api, up; 1 pending");
    expect(added.code).toBe(0);
  });
});
