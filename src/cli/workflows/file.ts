// Workflows as files: one, or a list under `workflows:`, with the fields that workflow/create takes.
import type { Draft } from "../../agents/workflows/definition.ts";
import { faultsIn, readYaml, writeYaml, type FieldPath } from "../../agents/yaml-file.ts";
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import { workflowDraft } from "../../tools/workflow/shared/step-shape.ts";
import { holdsMask } from "../../util/secrets/mask.ts";
import { nearest } from "../../util/text/nearest.ts";
import type { StoredWorkflow } from "./stored.ts";

export interface FileWorkflow {
  readonly file: string;
  readonly draft: Draft;
  /** A fault of the field at this path, with its line. */
  fault(path: FieldPath, message: string): FieldFault;
}

export interface ReadWorkflows {
  readonly workflows: readonly FileWorkflow[];
  readonly faults: readonly FieldFault[];
}

/** Everything that can be checked without a server. */
export function readWorkflows(file: string, text: string): ReadWorkflows {
  const workflows: FileWorkflow[] = [];
  const faults: FieldFault[] = [];
  try {
    const read = readYaml(file, text);
    const { value } = read;
    if (!isMap(value))
      return {
        workflows,
        faults: [read.fault([], "expected a workflow, or a list of them under workflows:")],
      };
    for (const { base, one } of entriesOf(value)) {
      const at = {
        value: one,
        fault: (path: FieldPath, message: string) => read.fault([...base, ...path], message),
      };
      const parsed = workflowDraft.safeParse(one);
      if (!parsed.success) {
        faults.push(...faultsIn(at, parsed.error.issues.map(inWords), unknownField));
        continue;
      }
      // As arguments that arrive: JSON, without fields that are undefined.
      const draft = JSON.parse(JSON.stringify(parsed.data)) as Draft;
      faults.push(...masksIn(draft).map((path) => at.fault(path, MASKED)));
      workflows.push({ file, draft, fault: at.fault });
    }
    if (Object.hasOwn(value, "workflows")) faults.push(...faultsOfList(value, read.fault));
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    faults.push(...(cause.fault.errors ?? []));
  }
  return { workflows, faults };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function entriesOf(
  value: Readonly<Record<string, unknown>>,
): { readonly base: FieldPath; readonly one: unknown }[] {
  if (!Object.hasOwn(value, "workflows")) return [{ base: [], one: value }];
  const { workflows } = value;
  return Array.isArray(workflows)
    ? workflows.map((one: unknown, at) => ({ base: ["workflows", at], one }))
    : [];
}

function faultsOfList(
  { workflows, ...others }: Readonly<Record<string, unknown>>,
  fault: FileWorkflow["fault"],
): FieldFault[] {
  const isList = Array.isArray(workflows) && workflows.length > 0;
  return [
    ...(isList ? [] : [fault(["workflows"], "expected a list of at least one workflow")]),
    ...Object.keys(others).map((key) =>
      fault([key], "unknown field beside workflows; write it into one of them"),
    ),
  ];
}

/** Replaces zod's message about the union of waits, which does not help. */
function inWords(issue: { readonly code: string; readonly path: FieldPath }): unknown {
  const isWait = issue.code === "invalid_union" && issue.path.includes("wait");
  return isWait ? { ...issue, message: "expected time, person or event" } : issue;
}

const STEP_FIELDS = Object.keys(workflowDraft.shape.steps.element.shape);

function unknownField(path: FieldPath, key: string): string {
  const known =
    path.length === 0 ? Object.keys(workflowDraft.shape) : path.length === 2 ? STEP_FIELDS : [];
  const guess = nearest(key, known);
  return `unknown field${guess === null ? "" : `; did you mean ${guess}?`}`;
}

const MASKED =
  "stands for a secret that the server did not show: write a reference, e.g. {{input.token}}, instead";

/** Where the text of an export has lost a value. */
function masksIn({ steps }: Pick<Draft, "steps">): FieldPath[] {
  const found: FieldPath[] = [];
  const visit = (value: Json, path: FieldPath): void => {
    if (typeof value === "string") {
      if (holdsMask(value)) found.push(path);
    } else if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value as JsonObject))
        visit(inner ?? null, [...path, key]);
  };
  steps.forEach(({ input }, at) => visit(input, ["steps", at, "input"]));
  return found;
}

const HEAD = " A workflow of Ostiary: ostiary workflows apply takes it.";
const HEAD_MASKED = `${HEAD}\n Values that may be secrets were masked: write references in their place before it is applied.`;

/** Without what is the default. */
export function writeWorkflow(workflow: StoredWorkflow): { text: string; masked: boolean } {
  const { name, description, trigger, inputSchema, steps } = workflow;
  const masked = masksIn(workflow).length > 0;
  const value = {
    name,
    ...(description === "" ? {} : { description }),
    ...(trigger === "manual" ? {} : { trigger }),
    ...(inputSchema === undefined ? {} : { inputSchema }),
    steps: steps.map(({ id, tool, workflow: other, wait, input, continueOnError, ...rest }) => ({
      id,
      ...(tool === undefined ? {} : { tool }),
      ...(other === undefined ? {} : { workflow: other }),
      ...(wait === undefined ? {} : { wait }),
      ...(Object.keys(input).length === 0 ? {} : { input }),
      ...rest,
      ...(continueOnError ? { continueOnError } : {}),
    })),
  };
  return { text: writeYaml(value, masked ? HEAD_MASKED : HEAD), masked };
}
