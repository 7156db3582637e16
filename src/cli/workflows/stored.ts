// Workflows as the server has them, in their newest version.
import type { JsonObject } from "../../contract/call.ts";
import type { WorkflowStep } from "../../storage/store/store.ts";
import { nearest } from "../../util/text/nearest.ts";
import type { Api } from "../client/client.ts";
import { refused } from "../client/fail.ts";

/** The answer of `GET /workflows`. */
export interface StoredWorkflow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: number;
  readonly userId: string;
  readonly trigger: string;
  readonly risk: "safe" | "moderate" | "dangerous";
  readonly steps: readonly WorkflowStep[];
  readonly inputSchema?: JsonObject;
  readonly createdAt: string;
}

const PAGE = 100;

export async function storedWorkflows(api: Api, userId?: string): Promise<StoredWorkflow[]> {
  const found: StoredWorkflow[] = [];
  for (;;) {
    const { items } = await api.get<{ items: StoredWorkflow[] }>("workflows", {
      userId,
      limit: PAGE,
      offset: found.length,
    });
    found.push(...items);
    if (items.length < PAGE) return found;
  }
}

/** By its name or id, as workflow/execute takes them. */
export async function storedWorkflow(api: Api, named: string): Promise<StoredWorkflow> {
  const all = await storedWorkflows(api);
  const found = all.find(({ id }) => id === named) ?? all.find(({ name }) => name === named);
  if (found) return found;
  const error = refused({
    title: "Not found",
    status: 404,
    detail: `workflow ${JSON.stringify(named)} not found`,
    code: "NOT_FOUND",
    reason: "workflow_not_found",
    remedy: "list your workflows: ostiary workflows list",
  });
  const guess = nearest(
    named,
    all.map(({ name }) => name),
  );
  error.hint = guess === null ? null : `did you mean ${guess}?`;
  throw error;
}
