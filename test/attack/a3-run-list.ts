// A3: programs of the run list with arguments that make them write or start something.
import { existsSync } from "node:fs";
import type { Attack, Case, Target } from "./attack.ts";
import { isSlowedDown, unhurried } from "./rules.ts";

const FILES = "evil\nin\n";

const trying = (...command: string[]): Case => ({
  name: command.join(" "),
  run: (target) => tried(target, { command }),
});

async function tried(target: Target, args: Record<string, unknown>): Promise<string | null> {
  const { status, body } = await target.call("shell/exec", args);
  if (isSlowedDown(status)) return "it was not judged";
  const found = await target.asUser(["ls", "-A"]);
  await target.asUser(["sh", "-c", "find . -mindepth 1 ! -name in ! -name evil -delete"]);
  if (found.stdout !== FILES) return `there is more in the workspace: ${found.stdout}`;
  const text = await target.asUser(["cat", "in"]);
  if (text.stdout !== "b\na\n") return "a file was changed";
  return JSON.stringify(body).includes("STARTED") ? "it started a program" : null;
}

const attack: Attack = {
  item: "A3",
  title: "what runs unasked neither writes nor starts anything",
  settings: { governance: unhurried("asked") },
  skip: () => (existsSync("/usr/bin/bwrap") ? null : "there is no bubblewrap"),
  async prepare({ asUser }) {
    await asUser([
      "sh",
      "-c",
      "printf 'b\\na\\n' > in; printf '#!/bin/sh\\necho STARTED; : > made\\n' > evil; chmod 755 evil",
    ]);
  },
  cases: [
    trying("sort", "--random-source", "--", "-o", "out", "in"),
    trying("rg", "-e", "--", "--pre", "./evil", "a"),
    trying("uniq", "--", "in", "-out"),
    trying("sort", "-k", "--", "-o", "out", "in"),
    trying("sort", "-t", "--", "--output=out", "in"),
    trying("sort", "-rnoout", "in"),
    trying("sort", "--outp", "out", "in"),
    trying("sort", "in", "-o", "in"),
    trying("sort", "--compress-program", "./evil", "-S1", "in"),
    trying("rg", "-g", "--", "--pre=./evil", "a"),
    trying("rg", "--regexp", "--", "--hostname-bin", "./evil", "a"),
    trying("rg", "-A", "--", "--pre", "sh", "a", "evil"),
    trying("uniq", "-f", "--", "in", "out"),
    trying("uniq", "in", "out"),
    trying("diff", "-U", "--", "-l", "in", "evil"),
    trying("jq", "--arg", "a", "--", "-L", ".", "1"),
    trying("date", "-d", "--", "--set", "now"),
    trying("./evil"),
    trying("/workspace/evil"),
    { name: "as one text", run: (target) => tried(target, { command: "sort -k -- -o out in" }) },
    { name: "pipe", run: (target) => tried(target, { command: "cat in | sort -o out" }) },
    { name: "redirection", run: (target) => tried(target, { command: "sort in > out" }) },
    {
      name: "configuration by a variable",
      run: (target) =>
        tried(target, { command: ["rg", "a"], env: { RIPGREP_CONFIG_PATH: "/workspace/in" } }),
    },
  ],
  control: {
    name: "sort, grep and uniq run unasked",
    async run(target) {
      for (const [command, stdout] of [
        [["sort", "in"], "a\nb\n"],
        [["grep", "-c", "a", "in"], "1\n"],
        [["uniq", "--", "in"], "b\na\n"],
      ] as const) {
        const { body } = await target.call("shell/exec", { command });
        if (body?.result?.stdout !== stdout)
          return `${command.join(" ")}: ${JSON.stringify(body).slice(0, 200)}`;
      }
      return null;
    },
  },
};
export default attack;
