// docs/chat.md: every command of the page does what is written, in this order.
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PHASES } from "../../src/agents/chat/phases.ts";
import { agentConfigSchema } from "../../src/contract/agent-config.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openModelServer, type ModelServer } from "../fixtures/models.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/chat.md"), "utf8");
const blocks = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, code = ""]) => code);
/** Where `ostiary` is not installed. */
const PRELUDE = `set -euo pipefail
ostiary() { "${process.execPath}" "${join(ROOT, "src/main.ts")}" "$@"; }
`;

const missing = ["bash", "curl", "jq"].filter(
  (program) => spawnSync(program, ["--version"]).status !== 0,
);

describe("docs/chat.md", { timeout: 120_000 }, () => {
  let house: StartedApp;
  let models: ModelServer;
  let dir: string;
  beforeAll(async () => {
    models = await openModelServer();
    models.script(({ said, results, offered }) => {
      if (results.length > 0) return { text: "It is written." };
      if (said.startsWith("Write"))
        return { calls: [{ name: "file_write", arguments: { path: "notes.md", content: said } }] };
      return { text: /^wh/i.test(said) ? `${offered.length} tools` : `You said: ${said}` };
    });
    house = await startApp({ flags: { models: models.config } });
    dir = mkdtempSync(join(tmpdir(), "ostiary-docs-chat-"));
  }, 60_000);
  afterAll(async () => {
    await house.close();
    await models.close();
    rmSync(dir, { recursive: true });
  });

  const isSkipped = missing.length > 0 && !process.env["CI"];
  test.skipIf(isSkipped)("R235: the commands of the page, as they are", async () => {
    const said = blocks.map((block, at) => `echo "=== ${at}"\n${block}`).join("\n");
    const { stdout } = await promisify(execFile)("bash", ["-c", `${PRELUDE}${said}`], {
      cwd: dir,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: dir,
        OSTIARY: house.url,
        KEY: house.cliKey,
        OSTIARY_DATA_DIR: house.dataDir,
      },
    });
    const [terminal, , turn, stream, approval, stop, branches, direct] = stdout
      .split(/^=== \d+\n/m)
      .slice(1);
    expect(terminal).toMatch(/^\d+ tools\nYou said: Say hello\nYou said: Say hello again\nID /);
    expect(JSON.parse(turn ?? "")).toMatchObject({ status: "success", toolCalls: [] });
    const events = [...(stream ?? "").matchAll(/^event: (\w+)$/gm)].map(([, event]) => event);
    expect([events[0], events.at(-1)]).toEqual(["turn", "done"]);
    expect(events).toContain("text");
    expect(approval).toMatch(/^waiting\nhttp\S+\/a\/apr_\w+\napr_\w+ {2}approved\n\{/);
    expect(approval).toContain('"reply": "It is written."');
    expect(stop).toMatch(/"stopped":true/);
    expect(stop).toMatch(/"status": "stopped"/);
    // The regenerated answer, the edited one, then the tree: three answers to the first message's place.
    expect(branches).toMatch(/^\d+ tools\n\d+ tools\n/);
    expect(branches?.match(/\tassistant\t\d+ tools$/gm)).toHaveLength(3);
    expect(branches).toMatch(/^(msg_\w+)\t\tuser\tWhat tools[^]*\n\1\n$/m);
    expect(direct).toMatch(/^system\/echo /m);
    expect(direct).toMatch(/"text": "hello"/);
    expect(direct).toMatch(/^arguments {2}deny/m);
  });

  test("the phases of a turn are those of the page, and each limit is a field", () => {
    const [, listed = ""] = /^The phases of a turn, in order: ([^.]+)\./m.exec(PAGE) ?? [];
    expect(listed.match(/\w+/g)).toEqual(PHASES);
    for (const limit of PAGE.matchAll(/`limits\.(\w+)`/g))
      expect(
        agentConfigSchema.safeParse({ limits: { [limit[1] ?? ""]: 1 } }).success,
        limit[0],
      ).toBe(true);
  });
});
