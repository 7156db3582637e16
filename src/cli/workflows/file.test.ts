import { describe, expect, test } from "vitest";
import { CliError } from "../client/fail.ts";
import { changesBetween } from "./changes.ts";
import { checkFiles, definitionOf, storedDefinition } from "./check.ts";
import { readWorkflows, writeWorkflow } from "./file.ts";
import type { StoredWorkflow } from "./stored.ts";

const GREETING = `name: Greeting
inputSchema:
  type: object
  properties: { name: { type: string } }
  additionalProperties: false
steps:
  - id: hello
    tool: system/echo
    input: { text: "hello {{input.name}}" }
  - tool: system/echo
    input:
      text: "{{steps.hello.output.text}}"
    if: '{{input.name}} != "nobody"'
`;

/** Without a server: as `validate --offline`. */
const faultsOf = async (...texts: string[]): Promise<string[]> => {
  const files = texts.map((text, at) => ({ file: `${"ab"[at] ?? ""}.yaml`, text }));
  try {
    await checkFiles(files, null);
    return [];
  } catch (cause) {
    if (!(cause instanceof CliError)) throw cause;
    return (cause.problem.errors ?? []).map(({ path, message }) => `${path} ${message}`);
  }
};

const step = (fields: string): string => `name: A\nsteps:\n  - ${fields}\n`;

describe("a file of workflows", () => {
  test("holds one, or a list of them, with the fields of workflow/create", () => {
    const one = readWorkflows("a.yaml", GREETING);
    expect(one.faults).toEqual([]);
    expect(one.workflows[0]?.draft).toMatchObject({
      name: "Greeting",
      trigger: "manual",
      steps: [{ id: "hello", continueOnError: false }, { tool: "system/echo" }],
    });
    const item = GREETING.trimEnd().replaceAll("\n", "\n    ");
    const several = readWorkflows("a.yaml", `workflows:\n  - ${item}\n`);
    expect(several.faults).toEqual([]);
    expect(several.workflows[0]?.draft).toEqual(one.workflows[0]?.draft);
  });

  test.each([
    ["", "a.yaml:1:1 file: expected a workflow, or a list of them under workflows:"],
    ["name: A\nsteps: [\n", /^a\.yaml:3:1 not valid YAML/],
    ["name: A\nname: B\nsteps: []\n", /^a\.yaml:2:1 not valid YAML: Map keys must be unique/],
    ["workflows: []\n", /^a\.yaml:1:1 workflows: expected a list of at least one/],
    [`workflows:\n  - ${step("{}").split("\n")[0] ?? ""}\nsteps: []\n`, /^a\.yaml:2:5 .*steps/],
    [step("tool: system/echo\n    inputs: {}"), /^a\.yaml:4:5 .*unknown field; did you mean input/],
    [step("tool: 5"), /^a\.yaml:3:5 steps\.0\.tool: expected string/],
    [step("wait: { kind: rain }"), /^a\.yaml:3:13 .*expected time, person or event/],
    [step("wait: { kind: time }"), /^a\.yaml:3:5 .*exactly one of seconds and until/],
    [step("input: {}"), /^a\.yaml:3:5 steps\.0: expected exactly one of tool, workflow and wait/],
    [step("tool: system/echo\n    needs: [b]"), /^a\.yaml:4:13 .*there is no step "b"/],
    [step("tool: system/echo\n    if: '1 ='"), /^a\.yaml:4:5 .*cannot be read/],
    [
      step("tool: system/echo\n    input:\n      a/b:\n        text: '{{steps.x.output}}'"),
      /^a\.yaml:6:9 steps\.0\.input\.a\/b\.text: \{\{steps\.x\.output\}\}: there is no step x/,
    ],
    [step("tool: system/echo\n    id: a\n    needs: [a]"), /^a\.yaml:3:5 .*needs its own output/],
    [step("workflow: A"), /^a\.yaml:3:5 steps\.0\.workflow: the workflow runs itself/],
    [
      step("tool: system/echo\n    input: { token: '[masked]' }"),
      /^a\.yaml:4:14 .*stands for a secret/,
    ],
    [`trigger: webhook\n${GREETING}`, /^a\.yaml:1:1 trigger: nothing here takes webhooks/],
  ])("names the place of a fault: %j", async (text, expected) => {
    const [fault = ""] = await faultsOf(text);
    if (typeof expected === "string") expect(fault).toBe(expected);
    else expect(fault).toMatch(expected);
  });

  test("every fault of every file is told at once", async () => {
    const bad = step("tool: system/echo\n    needs: [b]\n  - { id: 7, tool: x }");
    const worse = `name: B\nsteps:\n  - { tool: system/echo, needs: [b] }\n  - { wait: { kind: time } }\n`;
    const faults = await faultsOf(bad, worse);
    expect(faults.map((fault) => fault.split(" ")[0])).toEqual([
      "a.yaml:5:7",
      "a.yaml:5:14",
      "b.yaml:3:34",
      "b.yaml:4:7",
    ]);
  });

  test("a name is given once, and workflows that others run come first", async () => {
    const parent = "name: Parent\nsteps: [{ workflow: Greeting }]\n";
    expect(await faultsOf(parent, GREETING)).toEqual([]);
    const files = [parent, GREETING].map((text, at) => ({ file: `${at}.yaml`, text }));
    const checked = await checkFiles(files, null);
    expect(checked.map(({ draft }) => draft.name)).toEqual(["Greeting", "Parent"]);
    expect(await faultsOf(GREETING, GREETING)).toEqual([
      'b.yaml:1:1 name: another workflow here is named "Greeting", too',
    ]);
    const child = `${GREETING}  - workflow: Parent\n`;
    const circle = await faultsOf(parent, child);
    expect(circle).toEqual([
      expect.stringMatching(/^a\.yaml:2:11 .*runs itself: Parent → Greeting → Parent/),
      expect.stringMatching(/^b\.yaml:14:5 .*runs itself: Greeting → Parent → Greeting/),
    ]);
  });

  test("what is exported is the same definition again", async () => {
    const waits = `  - id: ask
    wait: { kind: person, question: "Go on?", options: ["yes", "no"] }
  - tool: system/echo
    needs: [ask]
    input: { text: "{{item}}" }
    forEach: { items: "{{input.name}}" }
    continueOnError: true
`;
    const [one] = await checkFiles([{ file: "a.yaml", text: GREETING + waits }], null);
    if (!one) throw new Error("nothing was read");
    const { inputSchema, description, name } = one.draft;
    const stored: StoredWorkflow = {
      ...{ id: "wfl_1", version: 1, userId: "u", risk: "safe", createdAt: "", trigger: "manual" },
      ...{ name, description, steps: one.checked.steps, ...(inputSchema && { inputSchema }) },
    };
    const { text, masked } = writeWorkflow(stored);
    expect(masked).toBe(false);
    const [again] = await checkFiles([{ file: "b.yaml", text }], null);
    expect(again && definitionOf(again)).toEqual(definitionOf(one));
    expect(changesBetween(storedDefinition(stored), definitionOf(one))).toEqual([]);
  });

  test("differences name the step and the field", () => {
    const of = (text: string) => ({
      trigger: "manual",
      steps: [{ id: "a", tool: "system/echo", input: { text } }],
    });
    expect(changesBetween(of("x"), of("y"))).toEqual([
      { path: "steps.a.input.text", from: "x", to: "y" },
    ]);
  });
});
