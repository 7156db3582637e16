// Runs a drafted tool: the program that is linked at this moment, always in the sandbox, with what the link grants it.
import type { Call, Json, JsonObject } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { ProcessPower, ProcessResult } from "../../contract/powers/process.ts";
import type { Tool } from "../../contract/tool.ts";
import { draftHash } from "../../reach/code/draft-hash.ts";
import { answerOf, jobOf } from "../../reach/code/drafted-program.ts";
import type { Store, ToolDraftRow } from "../../storage/store/store.ts";
import { exhaustedBy } from "../../util/exhaustion.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import { exhaustedFailure, failure, unexpectedFailure } from "./failure.ts";
import type { Runner, RunResult } from "./index.ts";

export interface DraftedRunnerPowers {
  readonly toolDrafts: Pick<Store["toolDrafts"], "version">;
  readonly process: (call: Call, signal: AbortSignal) => ProcessPower;
  /** Null when the output fits the schema that was reviewed. */
  readonly checkOutput: (
    schema: JsonObject,
    output: Json,
  ) => readonly { path: string; message: string }[] | null;
  readonly masker: Pick<Masker, "resultInSlices" | "shownText">;
  readonly report: (call: Call, cause: unknown) => void;
}

const MAX_NOTED = 100;

export function draftedRunner(p: DraftedRunnerPowers): Runner {
  return async (call) => {
    const notes: Record<string, Json> = {};
    try {
      const { tool } = call;
      const drafted = tool?.drafted;
      if (!tool || !drafted)
        throw new AppError("UNSUPPORTED_PROVIDER", "drafted", "this tool has no program");
      notes["draft"] = { version: drafted.version, hash: drafted.hash };
      const { program } = await linkedRow(tool, p);
      const ended = await p.process(call, call.signal).run({
        ...jobOf(program, call.arguments),
        workspace: drafted.workspace,
        network: drafted.hosts.length > 0,
      });
      Object.assign(notes, notesOf(ended));
      return await finish(tool, answerOf(program, tool.outputSchema, ended), notes, p);
    } catch (cause) {
      return caught(call, cause, notes, p);
    }
  };
}

/** Read at every call: another instance may have linked another version, or none, a moment ago. */
async function linkedRow(
  { name, drafted }: Tool,
  { toolDrafts }: DraftedRunnerPowers,
): Promise<ToolDraftRow> {
  const row = await toolDrafts.version(name, drafted?.version ?? "");
  if (row?.state === "linked" && draftHash(row) === drafted?.hash) return row;
  throw new AppError(
    "FORBIDDEN",
    "definition_changed",
    `${name} ${drafted?.version} is not the program that is linked now`,
    { remedy: "list the tools again; an administrator sees its versions: ostiary tools drafts" },
  );
}

function notesOf({ filesWritten, filesRemoved, refused, hosts, timedOut }: ProcessResult) {
  const touched = [...filesWritten.map(({ path }) => path), ...filesRemoved];
  return {
    ...(timedOut ? { timedOut: true } : {}),
    ...(touched.length > 0 ? { filesTouched: touched.slice(0, MAX_NOTED) } : {}),
    ...(refused.length > 0
      ? { refused: refused.slice(0, MAX_NOTED).map((one) => ({ ...one })) }
      : {}),
    ...(hosts.length > 0 ? { hosts: [...hosts], untrusted: true } : {}),
  };
}

async function finish(
  { name, outputSchema }: Tool,
  output: Json,
  notes: JsonObject,
  { checkOutput, masker }: DraftedRunnerPowers,
): Promise<RunResult> {
  const [fault] = (outputSchema === null ? null : checkOutput(outputSchema, output)) ?? [];
  if (fault)
    return failure(
      {
        code: "EXECUTION_FAILED",
        reason: "output_invalid",
        message: `Execution error: the answer of ${name} does not fit its output schema (${fault.path || "/"}: ${masker.shownText(fault.message)})`,
        remedy: "tell whoever wrote the tool",
      },
      notes,
    );
  const { answer, recorded, masked } = await masker.resultInSlices(output);
  const metadata = masked > 0 ? { ...notes, masked } : notes;
  return { output: answer, recorded, error: null, metadata };
}

function caught(
  call: Call,
  cause: unknown,
  notes: JsonObject,
  { masker, report }: DraftedRunnerPowers,
): RunResult {
  const exhausted = exhaustedBy(cause);
  if (exhausted !== null) return exhaustedFailure(exhausted, notes);
  if (!(cause instanceof AppError)) {
    if (!call.signal.aborted) report(call, cause);
    return unexpectedFailure("tool", notes);
  }
  const { remedy, ...fault } = cause.fault;
  const shown: Fault = {
    ...fault,
    message: masker.shownText(fault.message),
    ...(remedy === undefined ? {} : { remedy: masker.shownText(remedy) }),
  };
  return failure(shown, notes);
}
