// Answers a caller who asks for one of their programs: with its end, or that it is still suspended.
import type { Call } from "../../../../contract/call.ts";
import { AppError } from "../../../../contract/errors.ts";
import type { ProgramAnswered } from "../../../../contract/powers/code.ts";
import type { ProgramRow } from "../../../../storage/store/store.ts";
import { PROGRAM_WORK, type CodeSettings, type ProgramSeal } from "./settings.ts";

/** Part of the call's time that is kept for its answer. */
const LAST_WORDS_MS = 1_000;
const [FIRST_LOOK_MS, LOOK_EVERY_MS] = [20, 500];

export async function join(
  p: CodeSettings,
  seal: ProgramSeal,
  { call, signal, programId }: { call: Call; signal: AbortSignal; programId: string },
): Promise<ProgramAnswered> {
  const { caller } = call;
  let until = call.startedAt + call.timeoutMs - LAST_WORDS_MS;
  let holds = false;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_EVERY_MS)) {
    const row = await p.store.programs.get(caller, programId);
    if (row === null) throw unknown(programId);
    if (row.state === "ended") return answerOf(row, seal);
    if (row.state === "suspended" && !holds) {
      holds = true;
      until = Math.min(until, p.now() + (await holdMs(row, call, p)));
      // In case the notice of a decision was lost.
      await p.work().wake({ kind: PROGRAM_WORK, id: programId });
    }
    if (p.now() >= until || signal.aborted) {
      if (row.state === "suspended") return answerOf(row, seal);
      throw new AppError("CONFLICT", "still_running", `program ${programId} is still running`, {
        remedy: "call run_code with its programId again",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function answerOf({ id, answer }: ProgramRow, seal: ProgramSeal): ProgramAnswered {
  if (answer === null) throw new Error(`program ${id} has no answer`);
  const kept = seal.answer.open(answer, id);
  if (!("fault" in kept)) return kept;
  const { code, reason, message, ...rest } = kept.fault;
  throw new AppError(code, reason, message, rest);
}

/** How long a door would wait for the first of its questions. */
async function holdMs({ waits }: ProgramRow, { caller }: Call, p: CodeSettings): Promise<number> {
  const asked = waits.find(({ approvalId }) => approvalId !== null);
  if (!asked) return 0;
  const { approval } = await p.engine().follow(caller, asked.executionId, { ms: 0 });
  return (approval?.holdSeconds ?? 0) * 1_000;
}

const unknown = (programId: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Program '${programId}' not found`, {
    remedy: "give the programId that run_code answered when the program was suspended",
  });
