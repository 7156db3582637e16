import { z } from "zod";
import { cutToBytes } from "../../util/text/lines.ts";
import { quote } from "../../util/text/quote.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_DIFF_BYTES = 200_000;
const MAX_ENTRIES = 1_000;

/**
 * One run for everything. Git never sees the repository's own settings: it is given a prepared folder, with the
 * repository's objects, refs and index and a configuration that holds nothing but the few values that say how to read
 * them. What is not copied cannot start anything, whatever it is called: filters, converters, monitors, helpers, hooks,
 * aliases, includes, remotes. Finding the repository is left to the script for the same reason; a folder that only
 * looks like a bare repository is not taken for one. Each answer is a line of base64, so that no name can end one. $1:
 * with diff; $2: commits.
 */
const SCRIPT = String.raw`
set -u
none() { echo "not a git repository" >&2; exit 128; }
unreadable() { cat /tmp/error >&2; exit 1; }
# The nearest folder above with a .git that is a folder with a HEAD, or a file that leads to one.
top=$(pwd -P); own=
while :; do
  if [ -f "$top/.git" ]; then
    to=$(sed -n '1s/^gitdir: //p' "$top/.git" | tr -d '\r'); [ -n "$to" ] || none
    case $to in /*) own=$to ;; *) own=$top/$to ;; esac
  elif [ -e "$top/.git/HEAD" ] || [ -L "$top/.git/HEAD" ]; then own=$top/.git; fi
  [ -z "$own" ] || break
  [ "$top" != / ] || none
  top=$(dirname "$top")
done
own=$(cd "$own" 2>/dev/null && pwd -P) || none
common=$own
if [ -f "$own/commondir" ]; then
  common=$(cat "$own/commondir"); case $common in /*) ;; *) common=$own/$common ;; esac
  common=$(cd "$common" 2>/dev/null && pwd -P) || none
fi
[ -d "$common/objects" ] && [ -d "$common/refs" ] || none
from_config() { (cd / && git config --file "$1" --no-includes "$2" "$3" 2>/dev/null); }
dir=/tmp/repository
mkdir -p "$dir/info" "$dir/refs"
head -c 4096 "$own/HEAD" >"$dir/HEAD" 2>/dev/null || none
rmdir "$dir/refs"
for part in objects refs packed-refs logs reftable; do [ ! -e "$common/$part" ] || ln -s "$common/$part" "$dir/$part"; done
for part in index "$own"/sharedindex.*; do [ ! -e "$own/$(basename "$part")" ] || ln -s "$own/$(basename "$part")" "$dir/"; done
for part in shallow info/exclude info/grafts; do [ ! -f "$common/$part" ] || ln -s "$common/$part" "$dir/$part"; done
[ ! -f "$own/info/sparse-checkout" ] || ln -s "$own/info/sparse-checkout" "$dir/info/sparse-checkout"
: >"$dir/config"
keep() { git config --file "$dir/config" "$1" "$2" || exit 1; }
if [ -e "$common/config" ]; then
  (cd / && git config --file "$common/config" --no-includes --list >/dev/null 2>/tmp/error) || unreadable
  for file in "$common/config" "$own/config.worktree"; do
    [ -f "$file" ] || continue
    for key in core.filemode core.symlinks core.ignorecase core.precomposeunicode core.trustctime core.sparsecheckout core.sparsecheckoutcone index.sparse; do
      value=$(from_config "$file" --get "$key") && case $value in true|false|yes|no|on|off|1|0) keep "$key" "$value" ;; esac
    done
    for key in core.autocrlf core.eol core.checkstat status.showuntrackedfiles; do
      value=$(from_config "$file" --get "$key") && case $value in true|false|input|lf|crlf|native|default|minimal|no|normal|all) keep "$key" "$value" ;; esac
    done
  done
  for key in extensions.objectformat extensions.refstorage; do
    value=$(from_config "$common/config" --get "$key") && case $value in sha1|sha256|files|reftable) keep core.repositoryformatversion 1; keep "$key" "$value" ;; esac
  done
  branch=$(sed -n '1s,^ref: refs/heads/,,p' "$dir/HEAD")
  if [ -n "$branch" ]; then
    remote=$(from_config "$common/config" --get "branch.$branch.remote") && merge=$(from_config "$common/config" --get "branch.$branch.merge") && {
      keep "branch.$branch.remote" "$remote"; keep "branch.$branch.merge" "$merge"
      [ "$remote" = . ] || from_config "$common/config" --get-all "remote.$remote.fetch" | while IFS= read -r spec; do git config --file "$dir/config" --add "remote.$remote.fetch" "$spec"; done
    }
  fi
fi
export GIT_DIR="$dir" GIT_WORK_TREE="$top"
export GIT_CONFIG_COUNT=0
n=0
set_config() { export "GIT_CONFIG_KEY_$n=$1" "GIT_CONFIG_VALUE_$n=$2"; n=$((n + 1)); }
# A second lock for what git would do without any setting.
for pair in core.hooksPath=/dev/null core.fsmonitor=false core.pager=cat core.attributesFile=/dev/null core.excludesFile=/dev/null \
  core.sshCommand=false core.askPass= core.editor=false core.untrackedCache=false core.commitGraph=true safe.bareRepository=explicit \
  diff.external= diff.submodule=short diff.ignoreSubmodules=all status.submoduleSummary=false submodule.recurse=false \
  credential.helper= protocol.allow=never gpg.program=false log.showSignature=false color.ui=false gc.auto=0 maintenance.auto=false
do set_config "${"${pair%%=*}"}" "${"${pair#*=}"}"; done
export GIT_CONFIG_COUNT=$n
git --no-optional-locks --no-pager status --porcelain=v2 --branch --show-stash -z --ignore-submodules=all -- . >/tmp/status 2>/tmp/error || unreadable
base64 -w0 /tmp/status; echo
if [ "$1" = 1 ]; then
  base=HEAD; git rev-parse -q --verify HEAD >/dev/null 2>&1 || base=$(git hash-object -t tree /dev/null)
  git --no-optional-locks --no-pager diff --no-ext-diff --no-textconv --no-color --ignore-submodules=all "$base" -- . 2>/dev/null | head -c ${MAX_DIFF_BYTES + 4} | base64 -w0
fi
echo
if [ "$2" -gt 0 ] && git rev-parse -q --verify HEAD >/dev/null 2>&1; then
  git --no-optional-locks --no-pager log --no-color --no-show-signature -z --format=%H%x1f%an%x1f%aI%x1f%s -n "$2" HEAD -- . 2>/dev/null | base64 -w0
fi
echo
`;

/** No system or personal settings, no prompts, no way to fetch what is missing. */
const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_CEILING_DIRECTORIES: "/",
  GIT_ALLOW_PROTOCOL: "none",
  GIT_PROTOCOL_FROM_USER: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_ASKPASS: "/bin/false",
  SSH_ASKPASS: "/bin/false",
  GIT_SSH_COMMAND: "/bin/false",
  GIT_PAGER: "cat",
  GIT_EDITOR: "/bin/false",
  LC_ALL: "C.UTF-8",
};

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
    "none of the programs that its settings name. Paths in the answer are relative to the repository.",
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
  needs: ["process", "files", "compute"],
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
      ownEnv: ENVIRONMENT,
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
    const {
      diff: difference,
      commits,
      ...state
    } = await powers.compute.run("gitAnswer", ended.stdout, {
      entries: MAX_ENTRIES,
      diffBytes: MAX_DIFF_BYTES,
    });
    return { ...state, ...(diff ? { diff: difference } : {}), ...(log > 0 ? { commits } : {}) };
  },
});
