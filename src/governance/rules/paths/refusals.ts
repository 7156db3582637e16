// Why a path is refused, for the answer: by which rule, and what to do instead.
import { quote } from "../../../util/text/quote.ts";
import type { Access, Refused, RuleSource } from "../governance.ts";
import type { Ruled } from "../files/yaml.ts";
import type { Region } from "../patterns.ts";

export const MAX_LINKS = 40;
export const CONTROL: RuleSource = {
  at: "built in",
  text: "a path holds no NUL or control characters",
};
const CIRCLE: RuleSource = {
  at: "built in",
  text: `a path leads through at most ${MAX_LINKS} links`,
};
/** Built in: what git reads from there can start programs, and no governance file makes that harmless. */
export const GIT: Ruled<string> = {
  value: "what git keeps in .git is written by git alone",
  rule: { at: "built in", text: ".git is forbidden for writing, in every spelling" },
};
const REPOSITORY: RuleSource = {
  at: "built in",
  text: "a git repository's own folder is forbidden for writing, and none is made",
};
/** What a rule is called in messages, where its text would say too little. */
const CALLED: Partial<Record<string, string>> = {
  $DATA_DIR: "the server's own data",
  $CONFIG: "the server's own configuration",
};

export function forbiddenPath(
  given: string,
  by: { value: Region | string; rule: RuleSource },
  access: Access,
  unwritable: readonly Ruled<Region>[],
): Refused {
  const text = typeof by.value === "string" ? by.value : (CALLED[by.value.text] ?? by.value.text);
  const writing =
    access === "write" && unwritable.some((region) => region === by) ? " for writing" : "";
  return {
    ok: false,
    reason: "path_forbidden",
    message: `Path ${shownPath(given)} is forbidden${writing}: ${text}`,
    remedy: "use a path inside the workspace; this rule has no exception",
    rule: by.rule,
  };
}

/** As it was given, where nothing in it could be taken for the text around it. */
const shownPath = (given: string): string => (PLAIN_PATH.test(given) ? given : quote(given));
const PLAIN_PATH = /^[\w./~$@%+,=-]{1,200}$/;

export function outside(given: string, rule: RuleSource): Refused {
  return {
    ok: false,
    reason: "path_not_allowed",
    message: `Path ${shownPath(given)} not in allowed paths`,
    remedy: "use a path inside the workspace, or ask an administrator to allow the folder",
    rule,
  };
}

export function inRepository(given: string, folder: string): Refused {
  return {
    ok: false,
    reason: "path_forbidden",
    message: `path ${quote(given)}: ${quote(folder)} is a git repository, or would become one: its files are written by git alone`,
    remedy: "use another folder; this rule has no exception",
    rule: REPOSITORY,
  };
}

export function linksInCircle(given: string): Refused {
  return {
    ok: false,
    reason: "path_not_found",
    message: `Path ${shownPath(given)}: its links lead in a circle`,
    remedy: "remove one of the links",
    rule: CIRCLE,
  };
}
