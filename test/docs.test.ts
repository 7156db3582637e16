// What documents and READMEs name in the repository exists.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const pages = ["*.md", "docs/**/*.md", "src/**/README.md", "packages/*/README.md", "examples/*.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .filter((page) => page !== "CHANGELOG.md"); // It names files of earlier versions.

/** Paths from the root or from the page; those with a placeholder or a pattern in them are left out. */
const SOURCE =
  /(?<![\w./-])(?:src|packages|test|bench|scripts|governance)\/[\w@./-]*[\w/](?![\w*<…{]|\/?\*)/g;
const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)/g;

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

test.each(pages)("paths in %s exist", (page) => {
  const named = [...textOf(page).matchAll(SOURCE)].map(([path]) => path);
  const exists = (path: string): boolean =>
    existsSync(join(ROOT, path)) || existsSync(join(ROOT, dirname(page), path));
  expect(named.filter((path) => !exists(path))).toEqual([]);
});

test.each(pages)("links in %s lead to files", (page) => {
  const links = [...textOf(page).matchAll(LINK)].map(([, path]) => path ?? "");
  expect(links.filter((path) => !existsSync(join(ROOT, dirname(page), path)))).toEqual([]);
});

test("the walk names files, and enough of them", () => {
  const named = [...textOf("docs/design/walk.md").matchAll(SOURCE)].map(([path]) => path);
  expect(named.length).toBeGreaterThan(40);
});
