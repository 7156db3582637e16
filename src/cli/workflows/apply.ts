// `ostiary workflows apply` and `validate`: files become versions, each by a call of workflow/create.
import { readFileSync } from "node:fs";
import { dryRun, type DryStep, type Verdict } from "../../agents/workflows/dry-run.ts";
import type { JsonObject } from "../../contract/call.ts";
import { holdsMask } from "../../util/secrets/mask.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { CliError, refused, usage } from "../client/fail.ts";
import type { CallAnswer } from "../commands/call.ts";
import { oneLine, short } from "../output/render.ts";
import { changesBetween, type FieldChange } from "./changes.ts";
import {
  checkFiles,
  definitionOf,
  storedDefinition,
  type CheckedWorkflow,
  type SourceFile,
} from "./check.ts";

interface Applied {
  readonly name: string;
  readonly file: string;
  readonly change: "created" | "changed" | "unchanged";
  /** The newest version afterwards; of a dry run the stored one. */
  readonly version: number | null;
  readonly fields: readonly FieldChange[];
  readonly warnings: readonly string[];
  readonly steps?: readonly DryStep[];
}

/** A person has to approve, and has not yet. */
const EXIT_PENDING = 4;
const MAX_SHOWN = 200;

export async function validate(
  cli: Cli,
  files: readonly string[],
  { offline = false }: { offline?: boolean },
): Promise<void> {
  const sources = files.map(sourceOf);
  const checked = await checkFiles(sources, offline ? null : await cli.connect());
  const items = checked.map(({ file, draft, checked: { steps, risk, warnings } }) => ({
    file,
    name: draft.name,
    steps: steps.length,
    ...(offline ? {} : { risk, warnings }),
  }));
  if (cli.flags.json) return cli.term.printJson({ valid: true, offline, items });
  for (const { file, name, steps, warnings = [] } of items) {
    cli.term.print(`valid  ${name}  ${steps} ${steps === 1 ? "step" : "steps"}  ${file}`);
    for (const warning of warnings) cli.term.note(`   ${warning}`);
  }
  if (offline)
    cli.term.note("   without a server: tools and workflows of other files were not looked up");
}

export async function apply(
  cli: Cli,
  files: readonly string[],
  { dryRun: dry = false, force = false }: { dryRun?: boolean; force?: boolean },
): Promise<void> {
  const sources = files.map(sourceOf);
  const api = await cli.connect();
  const applied: Applied[] = [];
  for (const one of await checkFiles(sources, api)) {
    const result = dry ? await planned(api, one) : await applyOne(cli, api, one, force);
    if (result === null) break; // A person has to agree first; what comes later may run this one.
    applied.push(result);
    if (!cli.flags.json) tell(cli, result);
  }
  if (cli.flags.json) cli.term.printJson({ dryRun: dry, items: applied });
  else if (dry) cli.term.note("nothing was written");
}

function before(one: CheckedWorkflow): Pick<Applied, "name" | "file" | "change" | "fields"> {
  const fields = one.stored ? changesBetween(storedDefinition(one.stored), definitionOf(one)) : [];
  const change = one.stored === null ? "created" : fields.length > 0 ? "changed" : "unchanged";
  return { name: one.draft.name, file: one.file, change, fields };
}

async function planned(api: Api, one: CheckedWorkflow): Promise<Applied> {
  const steps = await dryRun(one.checked, null, ({ name, arguments: args }) =>
    api.post<Verdict>("explain", { tool: name, arguments: args }),
  );
  const { warnings } = one.checked;
  return { ...before(one), version: one.stored?.version ?? null, warnings, steps };
}

async function applyOne(
  cli: Cli,
  api: Api,
  one: CheckedWorkflow,
  force: boolean,
): Promise<Applied | null> {
  const compared = before(one);
  if (compared.change === "unchanged" && !force)
    return { ...compared, version: one.stored?.version ?? null, warnings: [] };
  const answer = await create(api, one);
  if (answer.approval) {
    cli.exitCode = EXIT_PENDING;
    cli.term.warn(
      `${one.draft.name}: a person has to agree first: ostiary approvals show ${answer.approval.id}; apply it again after that`,
    );
    return null;
  }
  const { version, warnings } = answer.result as { version: number; warnings: string[] };
  const change = one.stored ? "changed" : "created";
  return { ...compared, change, version, warnings };
}

async function create(api: Api, { draft, file }: CheckedWorkflow): Promise<CallAnswer> {
  const name = "workflow/create";
  const answer = await api
    .post<CallAnswer>("executions", { name, arguments: draft as unknown as JsonObject })
    .catch((cause: unknown) => {
      if (!(cause instanceof CliError)) throw cause;
      const detail = `${file}: ${draft.name}: ${cause.problem.detail}`;
      throw new CliError({ ...cause.problem, detail }, cause.exit);
    });
  if (answer.status === "success" || answer.approval) return answer;
  throw refused({
    title: "The workflow was not stored",
    status: 400,
    detail: `${file}: ${draft.name}: ${answer.error ?? "it was not stored"}`,
    code: answer.errorCode ?? "EXECUTION_FAILED",
    reason: answer.errorReason ?? "unexpected",
    execution_id: answer.executionId,
    ...(answer.gates ? { gates: answer.gates } : {}),
    ...(answer.remedy === undefined ? {} : { remedy: answer.remedy }),
  });
}

function tell(cli: Cli, { name, change, version, fields, warnings, steps }: Applied): void {
  const { term } = cli;
  term.print(`${change.padEnd(9)}  ${name}${version === null ? "" : `  version ${version}`}`);
  for (const { path, from, to } of fields)
    term.print(`           ${path}: ${shown(from)} → ${shown(to)}`);
  if (fields.some(({ from }) => holdsMask(JSON.stringify(from ?? null))))
    term.note("           the server does not show secrets: a masked value counts as changed");
  for (const { id, tool, verdict, summary } of steps ?? [])
    term.print(`           ${verdict.padEnd(7)}  ${id}  ${tool}  ${summary}`);
  for (const warning of warnings) term.note(`           ${warning}`);
}

/** As JSON: nothing and an empty text differ. */
const shown = (value: unknown): string =>
  value === undefined ? "nothing" : short(oneLine(JSON.stringify(value)), MAX_SHOWN);

function sourceOf(file: string): SourceFile {
  try {
    return {
      file: file === "-" ? "stdin" : file,
      text: readFileSync(file === "-" ? 0 : file, "utf8"),
    };
  } catch (cause) {
    throw usage(`${file} cannot be read: ${(cause as Error).message}`);
  }
}
