// Finds a caller's workflow, and says whether and with whose rights it may run.
import { mandateOf, narrowed, type Caller, type JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Store, WorkflowRow } from "../../storage/store/store.ts";
import type { WorkflowsPowers } from "./workflows.ts";

export async function findWorkflow(
  workflows: Pick<Store["workflows"], "get" | "named">,
  caller: Caller,
  idOrName: string,
  version: number | null = null,
): Promise<WorkflowRow> {
  const byId = await workflows.get(caller, idOrName, version);
  if (byId) return byId;
  const named = await workflows.named(caller, idOrName);
  const found =
    named && (version === null ? named : await workflows.get(caller, named.id, version));
  if (found) return found;
  throw notFound(
    `workflow ${JSON.stringify(idOrName)}${version === null ? "" : ` with version ${version}`}`,
  );
}

/** The caller, narrowed to the rights the author had then and has now: a definition must not lend rights of others. */
export async function runAs(
  caller: Caller,
  workflow: WorkflowRow,
  callerAgain: WorkflowsPowers["callerAgain"],
): Promise<Caller> {
  const author = workflow.author && (await callerAgain(workflow.author));
  if (author) return narrowed(caller, mandateOf(author));
  const why = workflow.author
    ? "the user or key that defined it is not active any more"
    : "it does not say who defined it (it is of an earlier release)";
  throw new AppError(
    "FORBIDDEN",
    "definition_orphaned",
    `version ${workflow.version} of the workflow ${JSON.stringify(workflow.name)} does not run: ${why}`,
    { remedy: "read it, then define it again: workflow/create with the same name" },
  );
}

export function requireInput(
  { inputSchema }: WorkflowRow,
  input: JsonObject,
  validate: WorkflowsPowers["validate"],
): void {
  const faults = inputSchema === null ? null : validate(inputSchema, input);
  if (faults === null) return;
  const errors = faults.map(({ path, message }) => ({ path: `/input${path}`, message }));
  throw new AppError(
    "BAD_REQUEST",
    "invalid_arguments",
    `the input does not fit the workflow: ${errors.map((one) => `${one.path} ${one.message}`).join("; ")}`,
    { errors, remedy: "send an input that fits the workflow's inputSchema" },
  );
}

export function notFound(what: string): AppError {
  return new AppError("NOT_FOUND", "workflow_not_found", `${what} not found`, {
    remedy: "list your workflows with workflow/list",
  });
}
