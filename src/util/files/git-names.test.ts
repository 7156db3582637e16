import { expect, test } from "vitest";
import { isGitName, makesRepository, repositoryPart, type RepositoryPart } from "./git-names.ts";

test.each([
  ".git",
  ".GIT",
  ".Git",
  ".git ",
  ".git.",
  ".git. .",
  "git~1",
  "GIT~2",
  ".git::$INDEX_ALLOCATION",
  ".g\u200cit",
  "\ufeff.git",
  ".git\u00ad",
  "x\\.git",
  ".git\\x",
])("A1: %j is a name of .git somewhere", (name) => expect(isGitName(name)).toBe(true));

test.each([
  ".gitignore",
  ".github",
  "git",
  ".git-blame-ignore-revs",
  "x.git",
  ".gitkeep",
  "digit",
  "git~",
  "",
  ".",
])("%j is an ordinary name", (name) => expect(isGitName(name)).toBe(false));

test("A1: which parts make a repository", () => {
  const made = (...parts: RepositoryPart[]) => makesRepository((part) => parts.includes(part));
  expect(made("HEAD", "objects", "refs")).toBe(true);
  expect(made("HEAD", "commondir")).toBe(true);
  for (const few of [["HEAD"], ["HEAD", "objects"], ["objects", "refs"], ["commondir", "refs"]])
    expect(made(...(few as RepositoryPart[]))).toBe(false);
  expect(["head", "OBJECTS", "Refs", "HEADER"].map(repositoryPart)).toEqual([
    "HEAD",
    "objects",
    "refs",
    null,
  ]);
});
