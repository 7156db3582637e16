// ripgrep, in the sandbox, finds the files that have a match at all; the matches come from our own engine, so that a
// search has the same result with and without it.
import type { Sandbox } from "../../../../reach/sandbox/sandbox.ts";
import { patternText, type Pattern } from "./search-matcher.ts";
import { rustPattern } from "./rust-pattern.ts";

const MAX_OUTPUT = 16_777_216;

/** Null: it could not run, or its result is not certain. `paths` are relative to the folder. */
export async function filesThatMatch(
  sandbox: Sandbox,
  folder: string,
  paths: readonly string[],
  query: Pattern,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | null> {
  const pattern = rustPattern(patternText(query));
  if (pattern === null) return null;
  const options = [
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--text",
    "--encoding",
    "none",
    "--crlf",
    "--threads",
    "2",
    "--files-with-matches",
    "--null",
    query.caseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(query.multiline ? ["--multiline"] : []),
    "--regexp",
    pattern,
    "--",
  ];
  try {
    const result = await sandbox.run({
      argv: ["xargs", "-0", "-n", "2000", "--", "rg", ...options],
      cwd: "/search",
      env: {},
      mounts: [{ host: folder, at: "/search", access: "ro" }],
      stdin: Buffer.from(paths.map((path) => `./${path}\0`).join("")),
      limits: { outputBytes: MAX_OUTPUT },
      signal,
    });
    // xargs ends with 123 when a batch has no match, and also with a fault; only a fault writes a message.
    const sure =
      (result.exitCode === 0 || result.exitCode === 123) &&
      result.stderr.length === 0 &&
      !result.overflowed;
    if (!sure) return null;
    const names = Buffer.from(result.stdout).toString("utf8").split("\0");
    return new Set(names.filter(Boolean).map((name) => name.replace(/^\.\//, "")));
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof Error) return null; // no sandbox is available at the moment; our own engine needs none
    throw cause;
  }
}
