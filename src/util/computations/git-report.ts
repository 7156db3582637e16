// Reads what git says about a repository, in its format for programs.
import { cutToBytes } from "../text/lines.ts";

export interface GitChange {
  path: string;
  /** added, modified, deleted, renamed, copied, typechange. */
  change: string;
  from?: string;
}

export interface GitState {
  branch: string | null;
  upstream?: string;
  ahead: number;
  behind: number;
  clean: boolean;
  staged: GitChange[];
  unstaged: GitChange[];
  untracked: string[];
  conflicts: string[];
  stash: number;
}

const CHANGES: Partial<Record<string, string>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "typechange",
};

/** `git status --porcelain=v2 --branch --show-stash -z`. */
export function readStatus(text: string): GitState {
  const state: GitState = {
    branch: null,
    ahead: 0,
    behind: 0,
    clean: true,
    staged: [],
    unstaged: [],
    untracked: [],
    conflicts: [],
    stash: 0,
  };
  const records = text.split("\0");
  for (let at = 0; at < records.length; at++) {
    const record = records[at] ?? "";
    if (record.startsWith("# ")) header(record.slice(2), state);
    else if (record.startsWith("1 ")) changed(record.split(" "), 8, null, state);
    // The old name is a record of its own.
    else if (record.startsWith("2 ")) changed(record.split(" "), 9, records[++at] ?? "", state);
    else if (record.startsWith("u ")) state.conflicts.push(record.split(" ").slice(10).join(" "));
    else if (record.startsWith("? ")) state.untracked.push(record.slice(2));
  }
  const { staged, unstaged, untracked, conflicts } = state;
  state.clean = staged.length + unstaged.length + untracked.length + conflicts.length === 0;
  return state;
}

function header(line: string, state: GitState): void {
  const [name, ...rest] = line.split(" ");
  const value = rest.join(" ");
  if (name === "branch.head") state.branch = value === "(detached)" ? null : value;
  if (name === "branch.upstream") state.upstream = value;
  if (name === "stash") state.stash = Number(value);
  const counts = name === "branch.ab" ? /^\+(\d+) -(\d+)$/.exec(value) : null;
  if (counts) {
    state.ahead = Number(counts[1]);
    state.behind = Number(counts[2]);
  }
}

function changed(
  fields: readonly string[],
  pathAt: number,
  from: string | null,
  state: GitState,
): void {
  const path = fields.slice(pathAt).join(" ");
  const [index = ".", tree = "."] = fields[1] ?? "";
  const named = (letter: string): GitChange => ({
    path,
    change: CHANGES[letter] ?? "modified",
    ...(from === null ? {} : { from }),
  });
  if (index !== ".") state.staged.push(named(index));
  if (tree !== ".") state.unstaged.push(named(tree));
}

export interface GitAnswer extends GitState {
  diff: string;
  commits: GitCommit[];
  /** Entries or parts of the diff were left out. */
  truncated: boolean;
}

/** Three lines of base64: the status, the diff, the log. */
export function gitAnswer(
  stdout: string,
  most: { readonly entries: number; readonly diffBytes: number },
): GitAnswer {
  const [status = "", difference = "", commits = ""] = stdout
    .split("\n")
    .map((line) => Buffer.from(line, "base64").toString("utf8"));
  const state = readStatus(status);
  const diff = cutToBytes(difference, most.diffBytes);
  const cut = [state.staged, state.unstaged, state.untracked, state.conflicts].some(
    ({ length }) => length > most.entries,
  );
  return {
    ...state,
    staged: state.staged.slice(0, most.entries),
    unstaged: state.unstaged.slice(0, most.entries),
    untracked: state.untracked.slice(0, most.entries),
    conflicts: state.conflicts.slice(0, most.entries),
    diff,
    commits: readLog(commits),
    truncated: cut || diff.length < difference.length,
  };
}

export interface GitCommit {
  hash: string;
  author: string;
  date: string;
  subject: string;
}

/** `git log -z --format=%H%x1f%an%x1f%aI%x1f%s`. */
export function readLog(text: string): GitCommit[] {
  return text
    .split("\0")
    .filter((record) => record !== "")
    .map((record) => {
      const [hash = "", author = "", date = "", ...subject] = record.split("\x1f");
      return { hash, author, date, subject: subject.join("\x1f") };
    });
}
