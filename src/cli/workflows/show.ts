// Workflows for people: the list, one of them, its runs, and as a file or a picture.
import { writeFileSync } from "node:fs";
import type { WorkflowStep } from "../../storage/store/store.ts";
import type { Cli } from "../cli.ts";
import { failed } from "../client/fail.ts";
import { fields, short, table } from "../output/render.ts";
import { printTable } from "../output/table.ts";
import { mermaidOf } from "./mermaid.ts";
import type { Run } from "./runs.ts";
import { storedWorkflow, storedWorkflows } from "./stored.ts";
import { writeWorkflow } from "./file.ts";

const MAX_DESCRIPTION = 60;

export async function list(cli: Cli, { user }: { user?: string }): Promise<void> {
  const api = await cli.connect(user === undefined ? "caller" : "admin");
  const items = await storedWorkflows(api, user);
  if (cli.flags.json) return cli.term.printJson({ items });
  if (items.length === 0)
    return cli.term.note("no workflows yet; make one of a file: ostiary workflows apply <file>");
  printTable(
    cli,
    ["name", "version", "trigger", "risk", "steps", "description"],
    items.map((one) => [
      one.name,
      String(one.version),
      one.trigger,
      one.risk,
      String(one.steps.length),
      short(one.description, MAX_DESCRIPTION),
    ]),
  );
}

export async function show(cli: Cli, named: string, { yaml }: { yaml?: boolean }): Promise<void> {
  const workflow = await storedWorkflow(await cli.connect(), named);
  if (cli.flags.json) return cli.term.printJson(workflow);
  if (yaml) return cli.term.print(writeWorkflow(workflow).text.trimEnd());
  const { steps, ...rest } = workflow;
  for (const line of fields(rest)) cli.term.print(line);
  cli.term.print("steps");
  for (const line of table(steps.map(stepRow))) cli.term.print(`   ${line}`);
}

function stepRow(step: WorkflowStep): string[] {
  const { id, tool, workflow, wait, needs, forEach, retry, continueOnError } = step;
  const what =
    tool ?? (workflow === undefined ? `wait: ${wait?.kind ?? ""}` : `workflow ${workflow}`);
  const more = [
    needs && needs.length > 0 ? `after ${needs.join(", ")}` : "",
    step.if === undefined ? "" : `if ${step.if}`,
    forEach ? `for each ${forEach.items}` : "",
    retry ? `at most ${retry.attempts} attempts` : "",
    continueOnError ? "goes on when it fails" : "",
  ];
  return [id, what, more.filter((word) => word !== "").join("; ")];
}

export async function listRuns(
  cli: Cli,
  named: string,
  { limit }: { limit: string },
): Promise<void> {
  const api = await cli.connect();
  const { id } = await storedWorkflow(api, named);
  const answer = await api.get<{ items: Run[] }>(`workflows/${id}/runs`, { limit });
  if (cli.flags.json) return cli.term.printJson(answer);
  if (answer.items.length === 0)
    return cli.term.note(`it has not run yet; start it: ostiary workflows run ${named}`);
  printTable(
    cli,
    ["run", "version", "status", "started", "ended", "why"],
    answer.items.map((one) => [
      one.id,
      String(one.version),
      one.status,
      one.startedAt,
      one.endedAt ?? "",
      one.error ? `${one.error.code} / ${one.error.reason}` : "",
    ]),
  );
}

export async function exportOne(
  cli: Cli,
  named: string,
  { mermaid, out }: { mermaid?: boolean; out?: string },
): Promise<void> {
  const workflow = await storedWorkflow(await cli.connect(), named);
  const { text, masked } = mermaid
    ? { text: mermaidOf(workflow.steps), masked: false }
    : writeWorkflow(workflow);
  if (out !== undefined) {
    try {
      writeFileSync(out, text);
    } catch (cause) {
      throw failed("not_writable", `${out} cannot be written: ${(cause as Error).message}`);
    }
  }
  if (cli.flags.json) cli.term.printJson(out === undefined ? { text } : { file: out });
  else if (out === undefined) cli.term.print(text.trimEnd());
  else cli.term.note(`written to ${out}`);
  if (masked)
    cli.term.warn("values that may be secrets were masked: write references in their place");
}
