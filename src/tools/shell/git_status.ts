import { z } from "zod";
import { readLog, readStatus } from "../../util/git-report.ts";
import { cutToBytes } from "../../util/lines.ts";
import { quote } from "../../util/quote.ts";
import { defineTool, toolError } from "../tool.ts";

const MAX_DIFF_BYTES = 200_000;
const MAX_ENTRIES = 1_000;

/**
 * One run for everything. Whatever a repository's own settings could start is switched off: filters, converters and
 * merge drivers by their names, the rest by name here. Each answer is a line of base64, so that no name can end one.
 * $1: with diff; $2: commits.
 */
const SCRIPT = `
set -u
n=0
set_config() { export "GIT_CONFIG_KEY_$n=$1" "GIT_CONFIG_VALUE_$n=$2"; n=$((n + 1)); }
set_config safe.directory '*'
export GIT_CONFIG_COUNT=$n
git rev-parse --is-inside-work-tree >/tmp/inside 2>/tmp/error || { cat /tmp/error >&2; exit 128; }
git config --includes --name-only --get-regexp '^(filter|diff|merge|gpg|credential|alias|pager|remote|url|submodule|difftool|mergetool)\\.' >/tmp/names 2>/dev/null
while IFS= read -r key; do
  case $key in
    filter.*.required) set_config "$key" false ;;
    filter.*|diff.*.textconv|diff.*.command|merge.*.driver) set_config "$key" "" ;;
  esac
done </tmp/names
for pair in core.hooksPath=/dev/null core.fsmonitor=false core.pager=cat core.attributesFile=/dev/null core.excludesFile=/dev/null \\
  core.sshCommand=false core.askPass= core.editor=false core.gitProxy= core.alternateRefsCommand= core.untrackedCache=false \\
  diff.external= diff.submodule=short diff.ignoreSubmodules=all status.submoduleSummary=false submodule.recurse=false \\
  credential.helper= protocol.allow=never gpg.program=false log.showSignature=false color.ui=false gc.auto=0 maintenance.auto=false
do set_config "\${pair%%=*}" "\${pair#*=}"; done
export GIT_CONFIG_COUNT=$n
git --no-optional-locks --no-pager status --porcelain=v2 --branch --show-stash -z --ignore-submodules=all -- . >/tmp/status 2>/tmp/error || { cat /tmp/error >&2; exit 1; }
base64 -w0 /tmp/status; echo
if [ "$1" = 1 ]; then
  base=HEAD; git rev-parse -q --verify HEAD >/dev/null 2>&1 || base=4b825dc642cb6eb9a060e54bf8d69288fbee4904
  git --no-optional-locks --no-pager diff --no-ext-diff --no-textconv --no-color --ignore-submodules=all "$base" -- . 2>/dev/null | head -c ${MAX_DIFF_BYTES + 4} | base64 -w0
fi
echo
if [ "$2" -gt 0 ] && git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  git --no-optional-locks --no-pager log --no-color --no-show-signature -z --format=%H%x1f%an%x1f%aI%x1f%s -n "$2" HEAD -- . 2>/dev/null | base64 -w0
fi
echo
`;

const change = z.strictObject({
  path: z.string(),
  change: z.string().describe("added, modified, deleted, renamed, copied or typechange."),
  from: z.string().optional().describe("The earlier name of what was renamed or copied."),
});

export default defineTool({
  name: "shell/git_status",
  displayName: "Git status",
  description:
    "Say how a git repository of the workspace stands: branch, upstream, what is staged, changed, untracked or in " +
    "conflict, and on request the difference to the last commit and the latest commits. Changes nothing and runs " +
    "none of the repository's hooks or filters. Paths in the answer are relative to the repository.",
  input: z.strictObject({
    path: z
      .string()
      .min(1)
      .max(4_096)
      .default(".")
      .describe("Folder of the repository, or one inside it."),
    diff: z
      .boolean()
      .default(false)
      .describe("Also the difference to the last commit, staged and unstaged together."),
    log: z.int().min(0).max(50).default(0).describe("Also this many of the latest commits."),
  }),
  output: z.strictObject({
    branch: z.string().nullable().describe("Null when no branch is checked out."),
    upstream: z.string().optional(),
    ahead: z.int().describe("Commits that the upstream lacks."),
    behind: z.int().describe("Commits of the upstream that are missing here."),
    clean: z.boolean(),
    staged: z.array(change),
    unstaged: z.array(change),
    untracked: z.array(z.string()),
    conflicts: z.array(z.string()),
    stash: z.int().describe("Stashed states."),
    diff: z.string().optional().describe("Unified; at most 200,000 bytes."),
    commits: z
      .array(
        z.strictObject({
          hash: z.string(),
          author: z.string(),
          date: z.string(),
          subject: z.string(),
        }),
      )
      .optional()
      .describe("Newest first."),
    truncated: z.boolean().describe("A list or the difference was longer than fits."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["process", "files"],
  sandbox: "ro",
  timeoutMs: 15_000,
  tags: ["git"],
  aliases: ["git_status"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  examples: [{ path: ".", log: 5 }],
  async run({ path, diff, log }, powers) {
    const found = await powers.files.stat(path);
    if (found === null)
      throw toolError("path_not_found", `path ${quote(path)}: does not exist`, {
        remedy: "list the directory to see what is there",
      });
    if (found.type !== "dir")
      throw toolError("not_a_directory", `path ${quote(path)}: is not a directory`, {
        remedy: "name the folder of the repository",
      });
    if ((await powers.process.find("git")) === null)
      throw toolError("provider_not_configured", "git is not installed on the server", {
        code: "UNAVAILABLE",
        remedy: "install git on the server",
      });
    const ended = await powers.process.run({
      argv: ["sh", "-c", SCRIPT, "sh", diff ? "1" : "0", String(log)],
      workspace: "ro",
      cwd: path,
      ownEnv: {
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_TERMINAL_PROMPT: "0",
        GIT_OPTIONAL_LOCKS: "0",
        GIT_CEILING_DIRECTORIES: "/",
        LC_ALL: "C.UTF-8",
      },
      inlineBytes: 10_485_760,
    });
    if (
      ended.exitCode === 128 &&
      /not a git repository|not in a git directory|must be run in a work tree/.test(ended.stderr)
    )
      throw toolError("not_a_repository", `path ${quote(path)}: is not inside a git repository`, {
        remedy: "name a folder that holds a .git folder",
      });
    if (ended.exitCode !== 0)
      throw toolError(
        "repository_unreadable",
        `git could not read the repository: ${cutToBytes(ended.stderr.trim(), 500)}`,
        { remedy: "check the repository with git fsck" },
      );
    return answer(ended.stdout.split("\n"), { diff, log });
  },
});

function answer(
  [status = "", difference = "", commits = ""]: readonly string[],
  asked: { diff: boolean; log: number },
) {
  const { staged, unstaged, untracked, conflicts, ...state } = readStatus(decoded(status));
  const lists = {
    staged: staged.slice(0, MAX_ENTRIES),
    unstaged: unstaged.slice(0, MAX_ENTRIES),
    untracked: untracked.slice(0, MAX_ENTRIES),
    conflicts: conflicts.slice(0, MAX_ENTRIES),
  };
  const text = decoded(difference);
  const shown = cutToBytes(text, MAX_DIFF_BYTES);
  const cut = [staged, unstaged, untracked, conflicts].some((list) => list.length > MAX_ENTRIES);
  return {
    ...state,
    ...lists,
    ...(asked.diff ? { diff: shown } : {}),
    ...(asked.log > 0 ? { commits: readLog(decoded(commits)) } : {}),
    truncated: cut || shown.length < text.length,
  };
}

function decoded(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
}
