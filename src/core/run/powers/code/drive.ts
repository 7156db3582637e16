// Runs a program once, from its beginning: questions that its journal has answered are answered from there, the others
// now. The run ends with the program's end, or suspends it.
import type { Call, JsonObject, Outcome } from "../../../../contract/call.ts";
import { AppError, faultOf } from "../../../../contract/errors.ts";
import type {
  ProgramAnswered,
  ProgramCall,
  ProgramHost,
  ToldToProgram,
} from "../../../../contract/powers/code.ts";
import { programArguments } from "../../../../reach/code/arguments.ts";
import type { Program, ProgramEnd, Question } from "../../../../reach/code/programs.ts";
import type { ProgramEntry, ProgramRow, ProgramWait } from "../../../../storage/store/store.ts";
import { callsOf } from "./calls.ts";
import { createJournal, type Entry, type Journal } from "./journal.ts";
import { PROGRAM_WORK, type Beginning, type CodeSettings, type ProgramSeal } from "./settings.ts";

export interface Drive {
  readonly call: Call;
  readonly signal: AbortSignal;
  readonly row: ProgramRow;
  readonly beginning: Beginning;
  readonly entries: readonly ProgramEntry[];
  /** The first run: its caller waits, and nothing of it is stored before its first question. */
  readonly isFirst: boolean;
}

/** When a program's item is checked first, and how often while an instance runs the program. */
export const LOOK_AFTER_MS = 5_000;
/** Characters of answers that no execution has on record, of one program. */
const MAX_KEPT = 4_000_000;

export async function drive(
  p: CodeSettings,
  seal: ProgramSeal,
  host: ProgramHost,
  { call, signal, row, beginning, entries, isFirst }: Drive,
): Promise<ProgramAnswered> {
  const { id, fence } = row;
  const outcomes: Outcome[] = [];
  const calls: ProgramCall[] = [];
  const waits = new Map<number, ProgramWait>();
  let isStored = !isFirst;
  let kept = 0;
  const journal = createJournal({
    entries,
    startedAt: row.startedAt,
    now: p.now,
    newExecutionId: () => p.ids.execution(p.now()),
    async write(changed) {
      if (!isStored) {
        // First the work item that continues it: no stored program may be without one.
        await p.work().add({ kind: PROGRAM_WORK, id }, p.now() + LOOK_AFTER_MS);
        await p.store.programs.create(row);
        isStored = true;
      }
      if (!(await p.store.programs.write(id, fence, changed))) throw superseded(id);
    },
  });
  const make = callsOf({
    engine: p.engine,
    now: p.now,
    call,
    parent: beginning.parent,
    isAttended: isFirst,
  });

  /** Stores an answer that no execution has in its record. */
  function keep(entry: Entry, told: ToldToProgram): ToldToProgram {
    const length = JSON.stringify(told).length;
    const fits = kept + length <= MAX_KEPT;
    if (fits) kept += length;
    const answer = fits ? told : { fault: tooMuch(entry.name, length) };
    entry.answer = seal.entry.close(answer, id, entry.seq);
    return answer;
  }

  /** Null: it has not ended yet. */
  async function answerTo(
    { entry, isNew }: { readonly entry: Entry; readonly isNew: boolean },
    { kind, name, json }: Question,
    over: AbortSignal,
  ): Promise<{ readonly told: ToldToProgram; readonly outcome: Outcome | null } | null> {
    if (entry.answer !== null)
      return { told: seal.entry.open(entry.answer, id, entry.seq), outcome: null };
    if (kind === "call" && isNew) await journal.durable();
    try {
      const given = programArguments(json);
      if (kind === "find")
        return { told: keep(entry, await host.find(name, given)), outcome: null };
      const executionId = String(entry.executionId);
      const key = `${id}/${entry.seq}`;
      const state = isNew ? "new" : entry.answered === null ? "open" : "answered";
      const outcome = await make({ executionId, key, name, arguments: given, state, signal: over });
      if (outcome.endedAt === null) {
        waits.set(entry.seq, waitOf(outcome));
        return null;
      }
      const told = host.tell(outcome);
      return { told: isOnRecord(outcome) ? told : keep(entry, told), outcome };
    } catch (cause) {
      return {
        told: keep(entry, { fault: faultOf(cause) as unknown as JsonObject }),
        outcome: null,
      };
    }
  }

  const program: Program = {
    source: beginning.source,
    seed: beginning.seed,
    startedAt: row.startedAt,
    owner: `${call.caller.tenantId} ${call.caller.userId}`,
    signal,
    async ask(question, reply, over) {
      const taken = journal.take(question);
      const answer = await answerTo(taken, question, over);
      if (answer === null) return false;
      await journal.answer(taken.entry, answer.told, reply, () => {
        if (!answer.outcome) return;
        const { executionId, status } = answer.outcome;
        outcomes.push(answer.outcome);
        calls.push({ name: question.name, executionId, status });
      });
      return true;
    },
    idle: journal.checkIdle,
  };

  async function suspend(printed: readonly string[]): Promise<ProgramAnswered> {
    await journal.durable();
    const waitsFor = [...waits.values()];
    const suspended = { programId: id, waitsFor };
    const answer = { suspended, printed, calls, notes: host.notes(outcomes) };
    const sealed = seal.answer.close(answer, id);
    const change = { state: "suspended", waits: waitsFor, answer: sealed, endedAt: null } as const;
    if (!(await p.store.programs.update(id, fence, change))) throw superseded(id);
    // The approval it waits for may have been decided in the meantime.
    if (isFirst) await p.work().wake({ kind: PROGRAM_WORK, id });
    return answer;
  }

  async function end(answer: Parameters<typeof seal.answer.close>[0]): Promise<void> {
    if (!isStored) return;
    const hasOpen = journal.hasOpen();
    // Its caller has the answer, and nothing waits on its behalf.
    if (isFirst && !hasOpen) return p.store.programs.remove(id);
    const sealed = seal.answer.close(answer, id);
    const change = { state: "ended", waits: [], answer: sealed, endedAt: p.now() } as const;
    if (!(await p.store.programs.update(id, fence, change))) throw superseded(id);
    if (hasOpen) p.onEnded();
  }

  let ended: ProgramEnd;
  try {
    ended = await p.threads.run(program);
    if (ended.kind === "returned") journal.checkEnd();
  } catch (thrown) {
    const notes = host.notes(outcomes);
    if (isLeftToOthers(thrown, call, isFirst)) throw thrown;
    const isFault = thrown instanceof AppError && thrown.fault.reason === "program_diverged";
    const cause = (isFault ? null : endedEarly(journal)) ?? thrown;
    await end({ fault: faultOf(cause), notes });
    throw cause;
  }
  if (ended.kind === "suspended") return suspend(ended.printed);
  const { result, printed } = ended;
  const answer = { result, printed, calls, notes: host.notes(outcomes) };
  await end(answer);
  return answer;
}

/** Only this run has ended, not the program: a later run or the maker of this call decides how it continues. */
function isLeftToOthers(cause: unknown, { signal }: Call, isFirst: boolean): boolean {
  if (cause instanceof Superseded) return true;
  if (signal.aborted) return !isFirst || signal.reason === "shutdown";
  return !isFirst && cause instanceof AppError && cause.code === "UNAVAILABLE";
}

/** A program that fails at a point that its earlier run passed has diverged. */
function endedEarly(journal: Journal): unknown {
  try {
    journal.checkEnd();
    return null;
  } catch (cause) {
    return cause;
  }
}

class Superseded extends AppError {}

const superseded = (id: string): Superseded =>
  new Superseded("CONFLICT", "still_running", `program ${id} goes on elsewhere`, {
    remedy: "call run_code with its programId to wait for its result",
  });

const waitOf = ({ executionId, toolName, approval }: Outcome): ProgramWait => {
  const asked = approval?.state === "pending" ? approval : null;
  return {
    executionId,
    tool: toolName,
    approvalId: asked?.id ?? null,
    expiresAt: asked?.expiresAt ?? null,
  };
};

/** A refusal by the gate is not always recorded. */
const isOnRecord = ({ dispatched, approval }: Outcome): boolean => dispatched || approval !== null;

const tooMuch = (name: string, length: number): JsonObject => ({
  code: "EXECUTION_FAILED",
  reason: "answer_too_large",
  message: `${name} answered ${length} characters: the answers of a program that must be kept for it are ${MAX_KEPT} at most`,
});
