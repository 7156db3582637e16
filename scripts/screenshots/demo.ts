// What the pictures show: two agents with keys of their own, a small project, and calls as agents make them.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { StartedApp } from "../../test/fixtures/app.ts";

export interface Demo {
  /** Waits for a decision; the same tool was approved with other arguments before. */
  readonly approvalId: string;
  /** Was refused by a rule for commands. */
  readonly refusedId: string;
  /** Made several calls of its own. */
  readonly programId: string;
}

const FILES: Readonly<Record<string, string>> = {
  "README.md": "# Shop\n\nThe web shop and its deployment.\n",
  "CHANGELOG.md": "# Changelog\n\n## 2.4.0\n\n- Checkout remembers the address.\n",
  "deploy/production.yaml": "image: shop:2.4.0\nreplicas: 3\nregion: eu-central\n",
  "deploy/staging.yaml": "image: shop:2.5.0-rc.1\nreplicas: 1\nregion: eu-central\n",
  "src/cart.ts": "export const total = (prices: number[]) => prices.reduce((a, b) => a + b, 0);\n",
  "src/checkout.ts":
    "// TODO: retry when the payment provider is slow\nexport const retries = 0;\n",
};

const PROGRAM = `const files = await call("file/glob", { pattern: "**/*.yaml", path: "." });
const texts = [];
for (const name of ["deploy/production.yaml", "deploy/staging.yaml"])
  texts.push(await call("file/read", { path: name }));
const todo = await call("file/search", { pattern: "TODO", path: "." });
const lines = await call("shell/exec", { command: ["wc", "-l", "README.md", "CHANGELOG.md"] });
let secret = null;
try {
  secret = await call("file/read", { path: "~/.aws/credentials" });
} catch (refusal) {
  secret = refusal.code;
}
const now = await call("system/time", {});
return { compared: texts.length, secret, at: now.iso };`;

/** What the deploy bot is for; all else does not exist for it. */
const CAPABILITIES = [
  ...["read", "stat", "list", "write", "copy", "delete", "move"].map((tool) => `file/${tool}`),
  "shell/exec",
  "system/time",
  "memory/store",
  "web/get",
];

export async function makeDemo(app: StartedApp): Promise<Demo> {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(app.workspace, path)), { recursive: true });
    writeFileSync(join(app.workspace, path), text);
  }
  const make = makerOf(app);
  const coder = await make.agent("claude-code", "Claude Code", "admin", "all");
  await make.capsule();
  const bot = await make.agent("deploy-bot", "Deploy bot", "execute_advanced", "deployment");
  await everydayCalls(make, coder, bot);
  const refused = await make.call(coder, "shell/exec", {
    command: ["sudo", "systemctl", "restart", "shop"],
  });
  const program = await make.call(coder, "system/run_code", { code: PROGRAM });
  const approved = await make.held(coder, { command: ["git", "push", "origin", "main"] });
  await make.ask("POST", `/approvals/${approved}/approve`, { comment: "after the review" });
  await make.ended(approved);
  return {
    approvalId: await make.held(coder, { command: ["git", "push", "--force", "origin", "main"] }),
    refusedId: refused.execution_id ?? "",
    programId: program.executionId ?? "",
  };
}

type Maker = ReturnType<typeof makerOf>;

/** So that lists, figures and a replay have something to show. */
async function everydayCalls(make: Maker, coder: string, bot: string): Promise<void> {
  for (const path of Object.keys(FILES)) {
    await make.call(coder, "file/read", { path });
    await make.call(bot, "file/stat", { path });
  }
  for (const pattern of ["TODO", "retries", "replicas"])
    await make.call(coder, "file/search", { pattern, path: "." });
  await make.call(bot, "file/read", { path: "deploy/production.yaml" });
  await make.call(bot, "file/read", { path: "deploy/staging.yaml" });
  await make.call(bot, "file/read", { path: "src/checkout.ts" });
  await make.call(coder, "file/diff", {
    a: "deploy/production.yaml",
    b: "deploy/staging.yaml",
  });
  await make.call(coder, "file/list", { path: "src" });
  for (const command of [
    ["ls", "deploy"],
    ["grep", "-n", "TODO", "src/checkout.ts"],
  ])
    await make.call(coder, "shell/exec", { command });
  await make.call(bot, "system/time", {});
  await make.call(bot, "memory/store", { key: "staging", value: "2.5.0-rc.1" });
}

interface Answer {
  readonly status?: string;
  readonly executionId?: string;
  readonly execution_id?: string;
  readonly approval?: { readonly id: string };
  readonly outcome?: { readonly endTime?: string };
  readonly secret?: string;
}

function makerOf(app: StartedApp) {
  const ask = async (method: string, path: string, body?: object, key = app.adminKey) => {
    const answer = await app.api(method, path, { key, body });
    return { status: answer.status, body: answer.body as Answer };
  };
  const must = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await ask(method, path, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
  };
  const call = async (key: string, name: string, args: object): Promise<Answer> => {
    const body = { name, arguments: args, wait: name !== "shell/exec" };
    const answer = await ask("POST", "/executions", body, key);
    if (answer.status === 400) throw new Error(`${name}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    ask: must,
    call,
    /** A user that stands for an agent; its key. */
    async agent(id: string, name: string, level: string, capsuleId: string): Promise<string> {
      await must("POST", "/users", { id, name });
      const relationship = `tenant:local#shell_executor@user:${id}`;
      await must("POST", "/relationships", { changes: [{ relationship }] });
      const scopes = ["safe", "moderate", "dangerous"].map((risk) => `agent:execute:${risk}`);
      const key = { userId: id, name: id, level, capsuleId, scopes };
      return (await must("POST", "/keys", key)).secret ?? "";
    },
    /** Asks before it copies. */
    capsule: () =>
      must("POST", "/capsules", {
        id: "deployment",
        name: "Deployment",
        capabilities: CAPABILITIES,
        agentConfig: {
          toolPolicy: { auto: [], ask: ["file/copy"], never: [] },
        },
      }),
    /** The approval that a call of shell/exec waits for. */
    async held(key: string, args: object): Promise<string> {
      const answer = await call(key, "shell/exec", args);
      if (!answer.approval) throw new Error(`It does not wait: ${JSON.stringify(answer)}`);
      return answer.approval.id;
    },
    /** Once the call of an approval has ended. */
    async ended(id: string): Promise<void> {
      while (!(await must("GET", `/approvals/${id}`)).outcome?.endTime)
        await new Promise((resolve) => setTimeout(resolve, 50));
    },
  };
}
