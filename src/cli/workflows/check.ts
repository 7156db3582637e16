// Checks the definitions of files as workflow/create would, each fault with its line.
import {
  judgeDefinition,
  type Checked,
  type Nested,
  type Visible,
} from "../../agents/workflows/definition.ts";
import { notValid, type FieldPath } from "../../agents/yaml-file.ts";
import type { JsonObject } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import { type FieldFault } from "../../contract/errors.ts";
import type { Risk } from "../../contract/tool.ts";
import type { Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { findTool } from "../client/find-tool.ts";
import { readWorkflows, type FileWorkflow } from "./file.ts";
import { storedWorkflows, type StoredWorkflow } from "./stored.ts";

export interface CheckedWorkflow extends FileWorkflow {
  readonly checked: Checked;
  /** The newest version under this name; null without one, or without a server. */
  readonly stored: StoredWorkflow | null;
}

export interface SourceFile {
  readonly file: string;
  readonly text: string;
}

/** In an order in which each workflow comes after those that it runs. Throws with every fault of all files. */
export async function checkFiles(
  files: readonly SourceFile[],
  api: Api | null,
): Promise<CheckedWorkflow[]> {
  const read = files.map(({ file, text }) => readWorkflows(file, text));
  const workflows = read.flatMap((one) => one.workflows);
  const faults = [...read.flatMap((one) => one.faults), ...namedTwice(workflows)];
  const stored = api ? await storedWorkflows(api) : [];
  const visible = await toolsOf(workflows, api);
  const named = (name: string): Promise<Nested | null> => {
    const written = workflows.find(({ draft }) => draft.name === name);
    if (written) return Promise.resolve({ risk: "safe", steps: written.draft.steps });
    // Without a server any other workflow may exist.
    if (!api) return Promise.resolve({ risk: "safe", steps: [] });
    return Promise.resolve(stored.find((one) => one.name === name) ?? null);
  };
  const found: CheckedWorkflow[] = [];
  for (const one of workflows) {
    const judged = await judgeDefinition(one.draft, { visible, named });
    faults.push(...judged.faults.flatMap(({ fault }) => placed(one, fault)));
    const before = stored.find(({ name }) => name === one.draft.name) ?? null;
    found.push({ ...one, checked: judged.checked, stored: before });
  }
  if (faults.length > 0) throw faulty(files, inOrder(files, faults));
  return ordered(found);
}

/** Sorted by file, line and column. */
function inOrder(files: readonly SourceFile[], faults: readonly FieldFault[]): FieldFault[] {
  const place = ({ path }: FieldFault): [number, number, number] => {
    const [, file = "", line = "", column = ""] = /^(.*):(\d+):(\d+)$/s.exec(path) ?? [];
    return [files.findIndex((one) => one.file === file), Number(line), Number(column)];
  };
  return faults.toSorted((one, other) => {
    const [a, b] = [place(one), place(other)];
    return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
  });
}

function faulty(files: readonly SourceFile[], faults: readonly FieldFault[]): Error {
  const { fault } = notValid(files.map(({ file }) => file).join(", "), faults);
  const error = usage(fault.message, fault.remedy);
  return Object.assign(error, { problem: { ...error.problem, errors: faults } });
}

function namedTwice(workflows: readonly FileWorkflow[]): FieldFault[] {
  return workflows
    .filter((one, at) => workflows.findIndex(({ draft }) => draft.name === one.draft.name) !== at)
    .map(({ draft, fault }) =>
      fault(["name"], `another workflow here is named ${JSON.stringify(draft.name)}, too`),
    );
}

/** Tools of the steps that the caller sees; without a server every tool counts as visible. */
async function toolsOf(workflows: readonly FileWorkflow[], api: Api | null): Promise<Visible[]> {
  const names = new Set(
    workflows.flatMap(({ draft }) =>
      draft.steps.flatMap(({ tool, workflow }) =>
        tool !== undefined ? [tool] : workflow !== undefined ? ["workflow/execute"] : [],
      ),
    ),
  );
  const found: Visible[] = [];
  for (const name of names) {
    if (!api) found.push({ ...ANY, name, wireName: name });
    else {
      const details = await findTool(api, name);
      if (details) found.push(details.tool as unknown as Visible);
    }
  }
  return found;
}

const ANY = { aliases: [], risk: "safe" as Risk, outputSchema: null, idempotent: true };

/** Translates faults of the definition's fields to places in the file. */
function placed(one: FileWorkflow, { message, errors = [] }: AppError["fault"]): FieldFault[] {
  if (errors.length === 0) return [one.fault([], message)];
  return errors.map((error) => one.fault(pathOf(error.path), error.message));
}

const pathOf = (pointer: string): FieldPath =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

function ordered(workflows: readonly CheckedWorkflow[]): CheckedWorkflow[] {
  const done: CheckedWorkflow[] = [];
  const visit = (one: CheckedWorkflow): void => {
    if (done.includes(one)) return;
    for (const { workflow } of one.draft.steps) {
      const other = workflows.find(({ draft }) => draft.name === workflow);
      if (other) visit(other);
    }
    done.push(one);
  };
  for (const one of workflows) visit(one);
  return done;
}

/** What workflow/create would store, and what is stored. */
export const definitionOf = ({ draft, checked }: CheckedWorkflow): JsonObject => ({
  description: draft.description,
  trigger: draft.trigger,
  inputSchema: draft.inputSchema ?? null,
  steps: JSON.parse(JSON.stringify(checked.steps)) as JsonObject[],
});

export const storedDefinition = (stored: StoredWorkflow): JsonObject => ({
  description: stored.description,
  trigger: stored.trigger,
  inputSchema: stored.inputSchema ?? null,
  steps: stored.steps as unknown as JsonObject[],
});
