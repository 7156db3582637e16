// A8: settings of a repository that make git start something while shell/git_status looks at it.
import { existsSync } from "node:fs";
import type { Attack, Case } from "./attack.ts";

const CANARY = "echo RAN-CANARY; echo RAN-CANARY >&2; cat";

/**
 * Each case has a repository of its own, made by a person (the attacker's clone); the settings are planted with git.
 */
function armed(name: string, settings: Record<string, string>, more = "true"): Case {
  return {
    name,
    async run(target) {
      const folder = `r${name.replaceAll(/[^a-z]/gi, "")}`;
      const lines = Object.entries(settings).map(
        ([key, value]) => `git config '${key}' '${value.replaceAll("@", `/workspace/${folder}`)}'`,
      );
      const script = `git init -q ${folder} && cd ${folder} && echo a > a.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm x && echo b > a.txt; ${more}; ${lines.join("; ")}`;
      await target.asUser(["sh", "-c", script], { cwd: target.workspace });
      const { body } = await target.call("shell/git_status", { path: folder, diff: true, log: 5 });
      const text = JSON.stringify(body);
      return text.includes("RAN-CANARY") ? `something ran: ${text.slice(0, 200)}` : null;
    },
  };
}

const attributes = (text: string): string => `echo '${text}' > .gitattributes`;
const promisor = {
  "core.repositoryformatversion": "1",
  "extensions.partialClone": "origin",
  "remote.origin.promisor": "true",
  "remote.origin.partialclonefilter": "blob:none",
  "protocol.file.allow": "always",
  "protocol.ext.allow": "always",
};
const lose =
  "t=$(git rev-parse HEAD^{tree}); rm -f .git/objects/$(echo $t | cut -c1-2)/$(echo $t | cut -c3-)";

const attack: Attack = {
  item: "A8",
  title: "git_status starts a program of the repository",
  skip: () =>
    existsSync("/usr/bin/git") && existsSync("/usr/bin/bwrap")
      ? null
      : "git or bubblewrap is not installed",
  control: {
    name: "the state of an ordinary repository",
    async run(target) {
      await target.asUser(
        ["sh", "-c", "git init -q -b main plain && cd plain && echo a > a && git add a"],
        { cwd: target.workspace },
      );
      const { body } = await target.call("shell/git_status", { path: "plain" });
      return body.result?.branch === "main" && body.result.staged.length === 1
        ? null
        : JSON.stringify(body).slice(0, 300);
    },
  },
  cases: [
    armed(
      "upload pack of a partial clone",
      { ...promisor, "remote.origin.url": "@", "remote.origin.uploadpack": CANARY },
      lose,
    ),
    armed(
      "an ext transport of a partial clone",
      { ...promisor, "remote.origin.url": "ext::sh -c echo% RAN-CANARY% >&2" },
      lose,
    ),
    armed("a monitor", { "core.fsmonitor": CANARY }),
    armed(
      "a clean filter",
      { "filter.evil.clean": CANARY, "filter.evil.required": "true" },
      attributes("* filter=evil"),
    ),
    armed("a filter process", { "filter.evil.process": CANARY }, attributes("* filter=evil")),
    armed(
      "text conversion",
      { "diff.evil.textconv": CANARY, "diff.evil.command": CANARY },
      attributes("* diff=evil"),
    ),
    armed("an external difference", { "diff.external": CANARY }),
    armed("a pager", { "core.pager": CANARY, "pager.status": CANARY, "pager.log": CANARY }),
    armed(
      "an include",
      { "include.path": "../more.cfg" },
      `printf '[core]\\n\\tfsmonitor = "${CANARY}"\\n' > more.cfg`,
    ),
    armed(
      "a conditional include",
      { "includeIf.gitdir:/**.path": "../more.cfg" },
      `printf '[core]\\n\\tfsmonitor = "${CANARY}"\\n' > more.cfg`,
    ),
    armed(
      "settings of the worktree",
      { "extensions.worktreeConfig": "true" },
      `printf '[core]\\n\\tfsmonitor = "${CANARY}"\\n' > .git/config.worktree`,
    ),
    armed(
      "hooks",
      { "core.hooksPath": "." },
      `for h in post-index-change fsmonitor-watchman; do printf '#!/bin/sh\\n${CANARY}\\n' > $h; chmod 755 $h; done`,
    ),
    armed("signatures", { "gpg.program": CANARY, "log.showSignature": "true" }),
    armed("an alias", { "alias.status": `!${CANARY}`, "alias.config": `!${CANARY}` }),
    armed("credentials and ssh", {
      "credential.helper": `!${CANARY}`,
      "core.sshCommand": CANARY,
      "core.askPass": CANARY,
    }),
  ],
};

export default attack;
