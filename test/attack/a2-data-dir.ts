// A2: what the server keeps for itself, placed in a workspace or moved from under the rule that names it.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Attack, Case, Target } from "./attack.ts";
import { isSlowedDown, unhurried } from "./rules.ts";
import { programFor } from "./target.ts";

const RULES = "rules/deep/governance";
const TIMED_OUT = 124;

/** Starts a second server with these folders: held when it refuses. */
const starting = (
  name: string,
  place: (t: Target) => { dataDir: string; env?: Record<string, string>; before?: string[][] },
): Case => ({
  name: `start with ${name}`,
  async run(target) {
    const { dataDir, env = {}, before = [] } = place(target);
    for (const argv of before) await target.asUser(argv);
    const { node, main } = programFor(target.user);
    const settings = Object.entries({ OSTIARY_WORKSPACE: target.workspace, ...env }).map(
      ([key, value]) => `${key}=${value}`,
    );
    const ran = await target.asUser([
      "timeout",
      "30",
      "env",
      ...settings,
      node,
      main,
      "serve",
      "--no-open",
      "--port",
      "0",
      "--data-dir",
      dataDir,
    ]);
    if (ran.code === TIMED_OUT || ran.code === 0) return "it started";
    return ran.stderr.includes("lies in the workspace")
      ? null
      : `another reason: ${ran.stderr.slice(0, 200)}`;
  },
});

/** Something done in a box or by a file tool: held when the rules are where they were, as they were. */
const moving = (name: string, tool: string, args: Record<string, unknown>): Case => ({
  name,
  async run(target) {
    const before = await target.asUser(["cat", `${RULES}/tools.yaml`]);
    const { status } = await target.call(tool, args);
    if (isSlowedDown(status)) return "it was not judged";
    const after = await target.asUser(["cat", `${RULES}/tools.yaml`]);
    return after.code === 0 && after.stdout === before.stdout
      ? null
      : "the governance folder was moved or changed";
  },
});

const script = (text: string): Case => moving(`box: ${text}`, "shell/script", { script: text });

const attack: Attack = {
  item: "A2",
  title: "the server's own folders stay out of reach",
  settings: { governance: `../workspace/${RULES}` },
  skip: () => (existsSync("/usr/bin/bwrap") ? null : "there is no bubblewrap"),
  async prepare({ asUser }) {
    await asUser(["mkdir", "-p", dirname(RULES)]);
    await asUser(["cp", "-r", unhurried("open"), RULES]);
  },
  cases: [
    starting("the data directory in a folder of the workspace", (t) => ({
      dataDir: join(t.workspace, "var/ostiary"),
    })),
    starting("the data directory right in it", (t) => ({ dataDir: join(t.workspace, ".ostiary") })),
    starting("the data directory behind a link", (t) => ({
      dataDir: join(t.workspace, "../lnk/x"),
      before: [
        ["mkdir", "-p", "v"],
        ["ln", "-sfn", join(t.workspace, "v"), join(t.workspace, "../lnk")],
      ],
    })),
    starting("the workspace behind a link", (t) => ({
      dataDir: join(t.workspace, "d"),
      env: { OSTIARY_WORKSPACE: join(t.workspace, "../ws") },
      before: [["ln", "-sfn", t.workspace, join(t.workspace, "../ws")]],
    })),
    starting("a folder for each session", (t) => ({
      dataDir: join(t.workspace, "s1"),
      env: { OSTIARY_WORKSPACE_PER_SESSION: "true" },
    })),
    starting("the database in the workspace", (t) => ({
      dataDir: join(t.workspace, "../data2"),
      env: { OSTIARY_STORE: `sqlite:${join(t.workspace, "db/o.db")}` },
    })),
    starting("dots in the name", (t) => ({ dataDir: `${t.workspace}/../workspace/./q/../r` })),
    starting("a configuration behind a link", (t) => ({
      dataDir: join(t.workspace, "../data3"),
      env: { OSTIARY_CONFIG: join(t.workspace, "cl/o.yaml") },
      before: [
        ["mkdir", "-p", "cr"],
        ["sh", "-c", "echo 'log: { level: error }' > cr/o.yaml; ln -sfn cr cl"],
      ],
    })),
    starting("a workspace that holds the whole installation", (t) => ({
      dataDir: join(t.workspace, "../data4"),
      env: { OSTIARY_WORKSPACE: dirname(t.workspace) },
    })),
    script("mv rules moved"),
    script("mv rules/deep rules/moved"),
    script(`mv ${RULES} elsewhere; mkdir ${RULES}; echo x > ${RULES}/tools.yaml`),
    script(`rm -rf rules; echo x > ${RULES}/tools.yaml`),
    script(`cp ${RULES}/tools.yaml t; echo x >> t; mv t ${RULES}/tools.yaml`),
    script(
      `ln -sfn /tmp rules; rmdir ${RULES}; chmod 777 ${RULES}/tools.yaml; : > ${RULES}/tools.yaml`,
    ),
    moving("file/move of a folder above", "file/move", { from: "rules", to: "moved" }),
    moving("file/move of the folder", "file/move", { from: RULES, to: "moved" }),
    moving("file/write into it", "file/write", {
      path: `${RULES}/tools.yaml`,
      content: "x",
      mode: "overwrite",
    }),
  ],
  control: {
    name: "another folder can be moved in a box and read afterwards",
    async run(target) {
      const moved = await target.call("shell/script", {
        script:
          "rm -rf plain2; mkdir -p plain/a && echo it-was-moved > plain/a/b && mv plain plain2",
      });
      if (moved.body?.result?.exitCode !== 0)
        return `the box answered ${JSON.stringify(moved.body).slice(0, 300)}`;
      const read = await target.call("file/read", { path: "plain2/a/b" });
      return read.body?.result?.content === "it-was-moved\n"
        ? null
        : `the file reads ${JSON.stringify(read.body).slice(0, 300)}`;
    },
  },
};
export default attack;
