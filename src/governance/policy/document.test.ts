import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DocumentVersion } from "../../contract/document.ts";
import { policyDocuments } from "./document.ts";
import { openEmbedded } from "./embedded.ts";
import { ADA, POWERS, STARTER } from "./policy.suite.ts";

const engine = openEmbedded(POWERS);
const handler = policyDocuments({ ...POWERS, engine, starter: STARTER });
const HEAD = "package ostiary.tools\n\ndefault allow := false\n\n";
const TESTED = { "t_test.rego": "package t_test\n\ntest_ok if 1 == 1" };

const told = async (files: Record<string, string>): Promise<string[]> =>
  (await handler.check(files)).map(
    ({ file, line, column, message, severity }) =>
      `${severity ?? "fault"} ${file}:${line}:${column} ${message}`,
  );

test("L05: the starter policy checks, and would not if it refused whom it must allow", async () => {
  expect(await told(STARTER)).toEqual([]);
  const mute = { "a.rego": HEAD, ...TESTED };
  const strict = policyDocuments({ ...POWERS, engine, starter: mute });
  expect(await strict.check(mute)).toMatchObject([
    {
      file: "a.rego",
      line: 3,
      message: expect.stringContaining("a tool user is refused") as string,
    },
  ]);
  expect(await told(mute)).toEqual([]);
});

test("a failing test is a fault with the line that does not hold", async () => {
  const files = {
    "a.rego": `${HEAD}allow if input.user_id == "ada"`,
    "a_test.rego":
      'package a_test\n\nimport data.ostiary.tools\n\ntest_bob if {\n\tinput_of_bob := {"user_id": "bob"}\n\ttools.allow with input as input_of_bob\n}\n\ntest_conflict if f(1) == 1\n\nf(x) := 1 if x\n\nf(x) := 2 if x == 1\n\ntest_case[name] if {\n\tsome name in ["x"]\n\tname == "y"\n}\n\ntodo_test_later if false',
  };
  expect(await told(files)).toEqual([
    "fault a_test.rego:5:1 data.a_test.test_bob failed: a_test.rego:7:2 does not hold",
    expect.stringMatching(
      /^fault a_test\.rego:10:1 data\.a_test\.test_conflict failed: .*eval_conflict_error/,
    ) as string,
    expect.stringMatching(/^fault a_test\.rego:16:1 data\.a_test\.test_case failed/) as string,
  ]);
});

test("no tests at all is a warning", async () => {
  expect(await told({ "a.rego": HEAD })).toEqual([
    expect.stringMatching(/^warning a\.rego:1:1 nothing tests this policy/) as string,
  ]);
});

test("C32: what does not compile, answers elsewhere or allows nobody in particular is a fault", async () => {
  expect(await told({ "a.rego": "package" })).toEqual([
    expect.stringContaining("fault a.rego:1:") as string,
  ]);
  expect(await told({ "a.rego": "package other\n\nallow := false" })).toEqual([
    expect.stringContaining("no rule defines data.ostiary.tools.allow") as string,
  ]);
  expect(await told({ "a.rego": "package ostiary.tools\n\nallow := true" })).toEqual([
    expect.stringContaining("an empty input is allowed") as string,
  ]);
  expect(
    await told({
      "a.rego": `${HEAD}allow := true if not input.x\n\nallow := false if not input.x`,
    }),
  ).toEqual([expect.stringContaining("eval_conflict_error") as string]);
  expect(
    await told({ "a.rego": HEAD, "a_test.rego": "package a_test\n\ntest_x if y == 1" }),
  ).toEqual([expect.stringContaining("fault a_test.rego:3:") as string]);
});

test("tests that take too long are stopped", async () => {
  const endless =
    "if {\n\tsome a in numbers.range(1, 9000)\n\tsome b in numbers.range(1, 9000)\n\ta * b == -1\n}";
  const files = { "a.rego": HEAD, "a_test.rego": `package a_test\n\ntest_x ${endless}` };
  expect(await told(files)).toEqual([expect.stringContaining("eval_cancel_error") as string]);
});

test("the example of docs/policies.md checks, and its tests pass", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/policies.md"), "utf8");
  const [policy = "", tests = ""] = [...page.matchAll(/```rego\n(.*?)```/gs)].map(
    ([, text]) => text,
  );
  expect(await told({ "tools.rego": policy, "office_test.rego": tests })).toEqual([]);
});

test("what is applied decides; null empties the trial", async () => {
  const document = { version: 4, files: STARTER } as unknown as DocumentVersion;
  await handler.apply("enforced", document);
  await handler.apply("shadow", document);
  expect(await engine.decide("enforced", ADA, false)).toMatchObject({ version: "4" });
  await handler.apply("shadow", null);
  expect(await engine.decide("shadow", ADA, false)).toBeNull();
});
