// `ostiary agents`, `personas`, `models` and versions of `capsules` as a script uses them: the real program, with
// --json.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

describe("records of agents on the command line", { timeout: 120_000 }, () => {
  let app: StartedApp;
  let models: ModelServer;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-cli-agents-"));
    models = await openModelServer();
    app = await startApp();
  });
  afterAll(async () => {
    await app.close();
    await models.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const plain = (args: string[], input = ""): Promise<BinResult> =>
    runBin([...args, "--server", app.url, "--key", "env:KEY"], {
      env: { KEY: app.adminKey },
      input,
      cwd: folder,
    });
  const cli = async (...args: string[]) => {
    const result = await plain([...args, "--json"]);
    expect([result.code, result.stderr]).toEqual([0, expect.anything()]);
    return result.json();
  };

  test("R045: personas are created, listed, shown, updated and removed", async () => {
    const knobs = ["--intelligence", "7", "--trait", "tone=dry"];
    const made = await cli("personas", "create", "Critic", "--id", "critic", ...knobs);
    expect(made).toMatchObject({ id: "critic", knobs: { intelligence: 7 }, capabilities: null });
    expect((await cli("personas", "list")).items).toEqual([made]);
    const changed = await cli("personas", "update", "critic", "--tools", "system/echo");
    expect(changed).toMatchObject({ capabilities: ["system/echo"], traits: { tone: "dry" } });
    expect(await cli("personas", "show", "critic")).toEqual(changed);
    expect(await cli("personas", "remove", "critic")).toEqual({ removed: true });
    const gone = await plain(["personas", "show", "critic", "--json"]);
    expect(gone.code).not.toBe(0);
    expect((await plain(["personas", "update", "critic"])).code).toBe(2);
  });

  test("R023: models are added, listed, shown, updated, tested and removed", async () => {
    const made = await cli("models", "add", "own", "--provider", "openai", "--url", models.url);
    expect(made).toMatchObject({ name: "own", source: "api", hasKey: false });
    expect((await cli("models", "list")).items).toEqual([made]);
    expect(await cli("models", "show", "own")).toEqual(made);
    expect(await cli("models", "test", "own")).toMatchObject({ ok: true });
    const changed = await cli("models", "update", "own", "--key-env", "OWN_API_KEY", "--disable");
    expect(changed).toMatchObject({ keyReference: "env:OWN_API_KEY", enabled: false });
    expect(changed.settings).toEqual(made.settings);
    expect(await cli("models", "remove", "own")).toEqual({ removed: true });
    expect((await cli("models", "list")).items).toEqual([]);
    expect((await plain(["models", "update", "own"])).code).toBe(2);
  });

  test("R048: versions of a capsule are listed, compared and brought back", async () => {
    await cli("capsules", "create", "V", "--id", "v", "--tools", "system/echo");
    await cli("capsules", "edit", "v", "--add", "system/time");
    const { items } = await cli("capsules", "versions", "v");
    expect(items.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
    const { differences } = await cli("capsules", "diff", "v", "1", "2");
    expect(differences).toEqual([
      {
        path: "/capabilities",
        from: ["system/echo"],
        to: ["system/echo", "system/time"],
      },
    ]);
    const back = await cli("capsules", "activate", "v", "1");
    expect(back).toMatchObject({ version: 3, parent: 1, capabilities: ["system/echo"] });
    expect(await cli("capsules", "show", "v")).toEqual(back);
  });

  test("C5: agents are exported to a file, edited, tried and imported; faults have their line", async () => {
    await cli("agents", "export", "--capsule", "v", "--out", "v.yaml");
    const file = join(folder, "v.yaml");
    const text = readFileSync(file, "utf8");
    expect(text).toContain("capsules:\n  v:\n    name: V\n");
    expect((await plain(["agents", "export", "--capsule", "v"])).stdout.trim()).toBe(text.trim());

    writeFileSync(file, text.replace("autonomy: null", "autonomy: 4"));
    const trial = await plain(["agents", "import", "v.yaml", "--dry-run"]);
    expect(trial.stdout).toBe("changed    capsule v\n           /agentConfig/autonomy: null → 4\n");
    expect(trial.stderr).toContain("nothing was written");
    expect(await cli("capsules", "show", "v")).toMatchObject({ version: 3 });
    const { changes } = await cli("agents", "import", "v.yaml");
    expect(changes).toMatchObject([{ kind: "capsule", id: "v", change: "changed" }]);
    expect(await cli("capsules", "show", "v")).toMatchObject({ agentConfig: { autonomy: 4 } });

    const wrong = await plain(
      ["agents", "import", "-"],
      "version: 1\ncapsules:\n  v: { name: 5 }\n",
    );
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toContain("stdin:3:8 capsules.v.name: expected string");
    expect((await plain(["agents", "import", "none.yaml"])).code).toBe(2);
    expect((await plain(["agents"])).code).toBe(2);
  });
});
