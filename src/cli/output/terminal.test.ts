import { describe, expect, test } from "vitest";
import type { Streams } from "../cli.ts";
import { CliError, exitOf } from "../client/fail.ts";
import { milliseconds, problemLines, table } from "./render.ts";
import { mayColor, openTerminal, runByMachine } from "./terminal.ts";

const screen = { isTTY: true };

describe("colour and questions", () => {
  test("colour only on a screen that somebody looks at", () => {
    expect(mayColor(screen, {}, undefined)).toBe(true);
    expect(mayColor({ isTTY: false }, {}, undefined)).toBe(false);
    expect(mayColor(screen, {}, false)).toBe(false);
    for (const env of [
      { NO_COLOR: "1" },
      { CI: "true" },
      { AI_AGENT: "x" },
      { CLAUDECODE: "1" },
      { TERM: "dumb" },
    ])
      expect(mayColor(screen, env, undefined), JSON.stringify(env)).toBe(false);
    expect(mayColor(screen, { NO_COLOR: "", CI: "false" }, undefined)).toBe(true);
    expect(runByMachine({ CI: "0" })).toBe(false);
  });

  const streams = (isTTY: boolean, env: NodeJS.ProcessEnv = {}): Streams =>
    ({ env, stdin: { isTTY }, stdout: { isTTY }, stderr: { isTTY } }) as unknown as Streams;

  test("a question nobody can answer is a usage error that names the flag; --yes answers it", async () => {
    for (const given of [streams(false), streams(true, { CI: "1" })]) {
      const error: unknown = await openTerminal(given, {})
        .confirm("Sure?")
        .catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(CliError);
      expect(error).toMatchObject({ exit: 2, problem: { remedy: "repeat with --yes" } });
    }
    expect(await openTerminal(streams(false), { yes: true }).confirm("Sure?")).toBe(true);
    const asked: unknown = await openTerminal(streams(false), { yes: true })
      .ask("Why?", "--reason <text>")
      .catch((cause: unknown) => cause);
    expect(asked).toMatchObject({ exit: 2, problem: { remedy: "repeat with --reason <text>" } });
  });
});

test("exit codes come from the table; an unanswered approval is 4", () => {
  expect(exitOf("BAD_REQUEST")).toBe(2);
  expect(exitOf("NOT_FOUND")).toBe(3);
  expect(exitOf("UNAVAILABLE")).toBe(3);
  expect(exitOf("TOO_MANY_REQUESTS")).toBe(5);
  expect(exitOf("BUDGET_EXHAUSTED")).toBe(5);
  expect(exitOf("TIMEOUT")).toBe(1);
  expect(exitOf("FORBIDDEN", "approval_expired")).toBe(4);
  expect(exitOf("toString")).toBe(1);
  expect(exitOf(undefined)).toBe(1);
});

test("a denial reads as one block: where, why, gates, remedy, explanation", () => {
  const plain = openTerminal(
    { env: {}, stdin: {}, stdout: {}, stderr: {} } as unknown as Streams,
    {},
  ).err;
  const lines = problemLines(
    {
      title: "This call is not allowed",
      status: 403,
      detail: "the path is forbidden",
      code: "FORBIDDEN",
      reason: "path_forbidden",
      remedy: "read a file inside the workspace",
      execution_id: "exec_1_a",
      gates: [
        { stage: "registry", verdict: "allow", ms: 0 },
        { stage: "arguments", verdict: "deny", ms: 0, rule: "governance/tools.yaml:14" },
      ],
    },
    plain,
  );
  expect(lines).toEqual([
    "⛔ denied at arguments   FORBIDDEN / path_forbidden   exec_1_a",
    "   why      the path is forbidden",
    "   rule     governance/tools.yaml:14",
    "   gates    registry ✓ arguments ⛔",
    "   remedy   read a file inside the workspace",
    "   explain  ostiary explain exec_1_a",
  ]);
});

test("tables and times", () => {
  expect(
    table([
      ["a", "bb"],
      ["ccc", "d"],
    ]),
  ).toEqual(["a    bb", "ccc  d"]);
  expect(table([])).toEqual([]);
  expect([0.04, 9.96, 12.4, 1500, 61_000].map(milliseconds)).toEqual([
    "0 ms",
    "10 ms",
    "12 ms",
    "1.5 s",
    "1 min 1 s",
  ]);
});
