// The journal of one program: its questions, durable before anything happens, and the order of the answers. When it is
// run again, the program must ask the same questions, and is answered in the same order.
import { hash } from "node:crypto";
import { AppError } from "../../../../contract/errors.ts";
import type { ToldToProgram } from "../../../../contract/powers/code.ts";
import type { Question, Reply } from "../../../../reach/code/programs.ts";
import type { ProgramEntry } from "../../../../storage/store/store.ts";

export type Entry = { -readonly [Key in keyof ProgramEntry]: ProgramEntry[Key] };

export interface JournalPowers {
  readonly entries: readonly ProgramEntry[];
  /** Durable when it resolves; rejects when another instance has taken the program over. */
  readonly write: (entries: readonly ProgramEntry[]) => Promise<void>;
  readonly newExecutionId: () => string;
  readonly now: () => number;
  readonly startedAt: number;
}

export interface Journal {
  /** The entry of a question; `isNew`: it was never asked before. Throws when another one was asked in its place. */
  take(question: Question): { readonly entry: Entry; readonly isNew: boolean };
  /** Resolves when all that was asked and answered up to now is durable. */
  durable(): Promise<void>;
  /** Gives an answer its place: that of the earlier run, else the next. `delivered` is called together with `reply`. */
  answer(entry: Entry, told: ToldToProgram, reply: Reply, delivered: () => void): Promise<void>;
  /** Throws when it can never be answered in the order of the earlier run. */
  checkIdle(): void;
  /** Throws when it ended without asking all that it asked in the earlier run. */
  checkEnd(): void;
  /** Has anything been asked? */
  isEmpty(): boolean;
  /** Asked and not answered. */
  hasOpen(): boolean;
}

export function createJournal(p: JournalPowers): Journal {
  const entries = new Map<number, Entry>(p.entries.map((entry) => [entry.seq, { ...entry }]));
  const asked = new Set<number>();
  /** Entries by the places of their answers in the earlier run. */
  const places = new Map<number, Entry>();
  for (const entry of entries.values())
    if (entry.answered !== null) places.set(entry.answered, entry);
  const turns = new Map<number, () => void>();
  const unwritten = new Set<Entry>();
  let clock = p.startedAt;
  let next = 1;
  let writing: Promise<void> | null = null;
  /** First answers are given only after all answers of the earlier run. */
  const live = Promise.withResolvers<void>();
  const goOn = (): void => {
    turns.get(next)?.();
    if (next > places.size) live.resolve();
  };
  goOn();

  async function writeAll(): Promise<void> {
    const batch = [...unwritten];
    unwritten.clear();
    await p.write(batch.map((entry) => ({ ...entry })));
  }

  function turnOf({ answered }: Entry): Promise<void> {
    if (answered === null) return live.promise;
    if (answered === next) return Promise.resolve();
    return new Promise((resolve) => turns.set(answered, resolve));
  }

  return {
    take({ seq, kind, name, json }) {
      const digest = hash("sha256", JSON.stringify([name, json]));
      const known = entries.get(seq);
      asked.add(seq);
      if (known) {
        if (known.kind !== kind || known.hash !== digest)
          throw diverged(
            known,
            `it asked for ${shown(kind, name)}${known.name === nameOf(kind, name) ? " with other arguments" : ""} instead`,
          );
        return { entry: known, isNew: false };
      }
      const entry: Entry = {
        seq,
        kind,
        name: nameOf(kind, name),
        hash: digest,
        executionId: kind === "call" ? p.newExecutionId() : null,
        answer: null,
        answered: null,
        answeredAt: null,
      };
      entries.set(seq, entry);
      unwritten.add(entry);
      return { entry, isNew: true };
    },
    async durable() {
      while (writing !== null || unwritten.size > 0) {
        writing ??= writeAll().finally(() => (writing = null));
        await writing;
      }
    },
    async answer(entry, told, reply, delivered) {
      await turnOf(entry);
      if (entry.answered === null) {
        entry.answered = next;
        entry.answeredAt = Math.max(clock, p.now());
        unwritten.add(entry);
      }
      clock = Math.max(clock, entry.answeredAt ?? 0);
      next++;
      delivered();
      reply(told, clock);
      goOn();
    },
    checkIdle() {
      const due = places.get(next);
      if (due && !asked.has(due.seq)) throw diverged(due, "it did not ask for it");
    },
    checkEnd() {
      for (const entry of entries.values())
        if (!asked.has(entry.seq)) throw diverged(entry, "it ended without it");
    },
    isEmpty: () => entries.size === 0,
    hasOpen: () => [...entries.values()].some(({ answered }) => answered === null),
  };
}

const nameOf = (kind: Question["kind"], name: string): string =>
  kind === "call" ? name.slice(0, 256) : "tools.find";
const shown = (kind: Question["kind"], name: string): string =>
  kind === "call" ? `call('${nameOf(kind, name)}')` : "tools.find";

function diverged({ seq, kind, name }: Entry, how: string): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "program_diverged",
    `the program behaved differently when it was run again: question ${seq} was ${shown(kind, name)} the first time, and ${how}`,
    {
      remedy:
        "what it did so far stays done: look at its calls, then run a new program for the rest",
    },
  );
}
