// `ostiary workflows` as people use it: files become versions, runs are started, followed, looked at and run again.
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { collect, runBin, spawnBin, type BinResult } from "../fixtures/bin.ts";
import { newUser } from "../fixtures/contract.ts";

const GREETING = `name: Greeting
inputSchema:
  type: object
  properties: { times: { type: integer }, name: { type: string } }
  required: [name]
  additionalProperties: false
steps:
  - id: hello
    tool: system/echo
    input: { text: "hello {{input.name}}" }
  - id: again
    tool: system/echo
    input: { text: "{{steps.hello.output.text}}!" }
`;
const ASKING = `name: Asking
steps:
  - id: ask
    wait: { kind: person, question: Go on? }
  - id: greet
    workflow: Greeting
    input: { name: "{{steps.ask.output.answer}}" }
`;
const EXAMPLES = join(import.meta.dirname, "../../examples/workflows");

describe("workflows on the command line", { timeout: 180_000 }, () => {
  let app: StartedApp;
  let folder: string;
  let key: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-cli-workflows-"));
    app = await startApp({ flags: { "rateLimit.enabled": "false" } });
    key = await newUser(app, "worker", { level: "admin", capsuleId: "all", scopes: ["*"] });
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const plain = (args: string[], input = ""): Promise<BinResult> =>
    runBin(["workflows", ...args, "--server", app.url, "--key", "env:KEY"], {
      env: { KEY: key },
      input,
      cwd: folder,
    });
  const cli = async (...args: string[]) => {
    const result = await plain([...args, "--json"]);
    expect([result.code, result.stderr]).toEqual([0, expect.anything()]);
    return result.json();
  };
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const lastRun = async (name: string) => (await cli("runs", name)).items[0];

  test("empty states say what to do", async () => {
    const none = await plain(["list"]);
    expect([none.code, none.stdout]).toEqual([0, ""]);
    expect(none.stderr).toContain("ostiary workflows apply <file>");
    expect(await cli("list")).toEqual({ items: [] });
    const unknown = await plain(["show", "Greeting"]);
    expect(unknown.code).toBe(3);
    expect(unknown.stderr).toContain("ostiary workflows list");
    expect((await plain([])).code).toBe(2);
    expect((await plain(["apply", "none.yaml"])).code).toBe(2);
  });

  test("a dry run says what would change and what the gate would say; nothing is stored", async () => {
    put("greeting.yaml", GREETING);
    put("asking.yaml", ASKING);
    const dry = await plain(["apply", "asking.yaml", "greeting.yaml", "--dry-run"]);
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining("nothing was written")]);
    expect(dry.stdout).toMatch(/^created {4}Greeting\n {11}allow {4}hello {2}system\/echo {2}\S/);
    expect(dry.stdout).toContain("created    Asking\n           allow    ask  wait  it waits for");
    expect(await cli("list")).toEqual({ items: [] });
    const refused = `name: R\nsteps: [{ tool: file/read, input: { path: /etc/passwd } }]\n`;
    put("refused.yaml", refused);
    const { items } = await cli("apply", "refused.yaml", "--dry-run");
    expect(items[0].steps).toMatchObject([{ tool: "file/read", verdict: "deny" }]);
  });

  test("faults are told with file, line and column, before anything is stored", async () => {
    const wrong = GREETING.replace("system/echo", "system/nothing").replace(
      "steps.hello.output.text",
      "steps.hi.output.text",
    );
    put("wrong.yaml", wrong);
    for (const verb of ["apply", "validate"]) {
      const { code, stderr } = await plain([verb, "greeting.yaml", "wrong.yaml"]);
      expect(code).toBe(2);
      expect(stderr).toContain('wrong.yaml:9:5 steps.0.tool: there is no tool "system/nothing"');
      expect(stderr).toContain("wrong.yaml:13:14 steps.1.input.text: {{steps.hi.output.text}}");
      expect(stderr).toContain("wrong.yaml:1:1 name: another workflow here");
    }
    expect(await cli("list")).toEqual({ items: [] });
    const offline = await plain(["validate", "wrong.yaml", "--offline"]);
    expect(offline.stderr).not.toContain("system/nothing");
    expect(offline.stderr).toContain("wrong.yaml:13:14");
    expect(await cli("validate", "greeting.yaml")).toMatchObject({ valid: true });
  });

  test("a file is a new version only where it differs", async () => {
    const first = await plain(["apply", "asking.yaml", "greeting.yaml"]);
    expect([first.code, first.stdout]).toEqual([
      0,
      "created    Greeting  version 1\ncreated    Asking  version 1\n",
    ]);
    const same = await plain(["apply", "greeting.yaml", "asking.yaml"]);
    expect(same.stdout).toBe("unchanged  Greeting  version 1\nunchanged  Asking  version 1\n");
    put("greeting.yaml", GREETING.replace("}}!", "}}!!"));
    const changed = await plain(["apply", "greeting.yaml"]);
    expect(changed.stdout).toBe(
      'changed    Greeting  version 2\n           steps.again.input.text: "{{steps.hello.output.text}}!" → "{{steps.hello.output.text}}!!"\n',
    );
    expect((await cli("apply", "greeting.yaml", "--force")).items).toMatchObject([{ version: 3 }]);
    const { items } = await cli("list");
    expect(items.map(({ name }: { name: string }) => name).sort()).toEqual(["Asking", "Greeting"]);
    expect((await plain(["list"])).stdout).toMatch(/^NAME +VERSION[\s\S]*Greeting +3 +manual/);
    // Each version is a call on the record.
    const calls = await app.api("GET", "/executions?toolName=workflow/create", { key });
    expect(calls.body.executions).toHaveLength(4);
  });

  test("shown and exported, a workflow is the file it came from, or a picture", async () => {
    expect(await cli("show", "Greeting")).toMatchObject({ version: 3, risk: "safe" });
    expect((await plain(["show", "Greeting"])).stdout).toContain("steps\n   hello  system/echo\n");
    const { stdout: yaml } = await plain(["show", "Greeting", "--yaml"]);
    expect((await plain(["export", "Greeting"])).stdout).toBe(yaml);
    await plain(["export", "Greeting", "--out", "out.yaml"]);
    expect(readFileSync(join(folder, "out.yaml"), "utf8").trim()).toBe(yaml.trim());
    expect((await plain(["apply", "out.yaml"])).stdout).toBe("unchanged  Greeting  version 3\n");
    const { stdout: picture } = await plain(["export", "Asking", "--mermaid"]);
    expect(picture).toBe(
      'flowchart TD\n  s1{{"ask<br/>ask: Go on?"}}\n  s2[["greet<br/>workflow Greeting"]]\n  s1 --> s2\n',
    );
  });

  test("a run is followed to its end; its history is kept", async () => {
    const { code, stdout, stderr } = await plain(["run", "Greeting", "name=Ada", "times=2"]);
    expect([code, JSON.parse(stdout)]).toEqual([0, { text: "hello Ada!!" }]);
    expect(stderr).toMatch(/^run run_\S+\n✓ success/);
    const watched = await plain(["run", "Greeting", "--input", '{"name":"Bo"}', "--watch"]);
    const kinds = watched.stdout
      .split("\n")
      .flatMap((line) => /(?:run|step)\.\w+/.exec(line) ?? []);
    expect(kinds.slice(0, 3)).toEqual(["run.started", "step.started", "step.success"]);
    expect(kinds.at(-1)).toBe("run.success");
    const run = await lastRun("Greeting");
    expect((await plain(["logs", run.id])).stdout.trim().split("\n")).toHaveLength(kinds.length);
    expect((await cli("logs", run.id)).items.at(-1)).toMatchObject({ kind: "run.success" });
    expect((await plain(["logs", run.id, "--follow"])).code).toBe(0);
    expect(await cli("run", "Greeting", "name=Cy")).toMatchObject({ status: "success" });
  });

  test("what stops a run gives the exit code of a call, and says how to go on", async () => {
    const bad = await plain(["run", "Greeting", "name=Ada", "size=2"]);
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain("/input/size");
    await cli("apply", "refused.yaml");
    const denied = await plain(["run", "R"]);
    expect(denied.code).toBe(3);
    const run = await lastRun("R");
    expect(denied.stderr).toContain("FORBIDDEN / path_forbidden");
    expect(denied.stderr).toContain(`ostiary workflows rerun ${run.id} --from step1`);
    expect((await plain(["rerun", run.id])).code).toBe(3);
    expect((await cli("runs", "R")).items).toHaveLength(2);
    const ended = await plain(["cancel", run.id]);
    expect(ended.code).toBe(1);
  });

  test("a run that waits for a person is paused, resumed, answered, and cancelled", async () => {
    const waiting = plain(["run", "Asking"]);
    await expect.poll(async () => (await lastRun("Asking"))?.status, SLOW).toBe("pending");
    const run = await lastRun("Asking");
    expect(await cli("pause", run.id)).toMatchObject({ id: run.id });
    await expect.poll(async () => (await lastRun("Asking")).status, SLOW).toBe("paused");
    await cli("resume", run.id);
    await expect.poll(async () => (await lastRun("Asking")).status, SLOW).toBe("pending");
    const { questionId } = (await lastRun("Asking")).steps[0];
    const answered = { key, body: { answer: "Ada" } };
    await app.api("POST", `/questions/${questionId}/answer`, answered);
    const { code, stdout, stderr } = await waiting;
    expect([code, stdout]).toEqual([0, expect.stringContaining("hello Ada!!")]);
    expect(stderr).toContain(`ostiary questions answer ${questionId}`);

    const other = plain(["run", "Asking", "--json"]);
    await expect.poll(async () => (await lastRun("Asking")).status, SLOW).toBe("pending");
    expect(await cli("cancel", (await lastRun("Asking")).id)).toMatchObject({
      id: expect.any(String),
    });
    const ended = await other;
    expect([ended.code, ended.json().status]).toEqual([1, "cancelled"]);
  });

  test("who stops waiting leaves the run; a version that a person must agree to is told", async () => {
    const child = spawnBin(
      ["workflows", "run", "Asking", "--server", app.url, "--key", "env:KEY"],
      {
        env: { KEY: key },
        cwd: folder,
      },
    );
    const { stderr } = collect(child);
    const closed = once(child, "close");
    await expect.poll(stderr, SLOW).toContain("waits for an answer");
    child.kill("SIGINT");
    expect((await closed)[0]).toBe(4);
    const { id } = await lastRun("Asking");
    expect(stderr()).toContain(`${id} continues; cancel it with: ostiary workflows cancel ${id}`);
    await cli("cancel", id);

    await app.api("PUT", "/mode", { body: { mode: "ALERT", reason: "drill" } });
    put("greeting.yaml", GREETING.replace("hello {{", "hey {{"));
    const held = await plain(["apply", "greeting.yaml"]);
    await app.api("PUT", "/mode", { body: { mode: "NORMAL", reason: "drill" } });
    expect([held.code, held.stdout]).toEqual([4, ""]);
    expect(held.stderr).toMatch(
      /Greeting: a person has to agree first: ostiary approvals show apr_/,
    );
    expect(await cli("show", "Greeting")).toMatchObject({ version: 3 });
  });

  test("references stay where secrets are masked; a masked value is never stored again", async () => {
    const secret = "hunter2-hunter2";
    const text = `name: Login\nsteps:\n  - { tool: system/echo, input: { text: x, password: "{{input.password}}" } }\n`;
    put("login.yaml", text);
    await cli("apply", "login.yaml");
    expect((await cli("apply", "login.yaml")).items).toMatchObject([{ change: "unchanged" }]);
    put("login.yaml", text.replace("{{input.password}}", secret));
    for (const version of [2, 3]) {
      const applied = await plain(["apply", "login.yaml"]);
      expect(applied.stdout).toContain(`changed    Login  version ${version}`);
      expect(applied.stdout).not.toContain(secret);
    }
    const exported = await plain(["export", "Login", "--out", "masked.yaml"]);
    expect(exported.stderr).toContain("were masked");
    expect(readFileSync(join(folder, "masked.yaml"), "utf8")).not.toContain(secret);
    const again = await plain(["apply", "masked.yaml"]);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(
      /masked\.yaml:\d+:7 steps\.0\.input\.password: stands for a secret/,
    );
  });

  test("the examples of the repository are valid", async () => {
    for (const name of ["greeting.yaml", "review.yaml"])
      copyFileSync(join(EXAMPLES, name), join(folder, name));
    expect(await cli("validate", "greeting.yaml", "review.yaml")).toMatchObject({ valid: true });
  });
});

const SLOW = { timeout: 30_000, interval: 200 };
