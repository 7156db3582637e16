// What is needed to run programs of code mode, and which of their data is stored sealed.
import type {
  CallParent,
  Caller,
  CallRequest,
  Mandate,
  Outcome,
} from "../../../../contract/call.ts";
import type { Fault } from "../../../../contract/errors.ts";
import type { ProgramAnswered, ToldToProgram } from "../../../../contract/powers/code.ts";
import type { Programs } from "../../../../reach/code/programs.ts";
import type { Store } from "../../../../storage/store/store.ts";
import type { Ids } from "../../../../util/ids.ts";
import { createSealed, sealingKey } from "../../../../util/secrets/sealed.ts";
import type { Work } from "../../../../work/work.ts";

export interface CodeSettings {
  readonly threads: Pick<Programs, "run">;
  readonly store: Pick<Store, "programs" | "executions" | "approvals">;
  /** Functions, since both are opened later than the tools that they run. */
  readonly engine: () => {
    execute(caller: Caller, request: CallRequest): Promise<Outcome>;
    follow(
      caller: Caller,
      executionId: string,
      wait: { ms: number; signal?: AbortSignal },
    ): Promise<Outcome>;
  };
  readonly work: () => Pick<Work, "add" | "wake">;
  /** The caller with the rights they had then and still have; null when user or key is gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  /** The owner of the call that began a program; an object: the owner has ended. */
  readonly ownerOf: (
    who: Pick<Caller, "tenantId" | "userId">,
    call: Pick<CallParent, "entry" | "metadata">,
  ) => Promise<string | { readonly over: string }>;
  /** A program has ended: approvals that wait on its behalf are closed. */
  readonly onEnded: () => void;
  readonly serverSecret: string;
  readonly ids: Pick<Ids, "execution" | "hex">;
  readonly now: () => number;
}

/** The kind of its work items; their ids are those of programs. */
export const PROGRAM_WORK = "program";

/** What each run of a program starts from. */
export interface Beginning {
  readonly source: string;
  readonly seed: string;
  /** The call it came from, for the calls it makes. */
  readonly parent: CallParent;
}

/** The answer to its caller: when suspended, or at the end. */
export type KeptAnswer =
  ProgramAnswered | { readonly fault: Fault; readonly notes: ProgramAnswered["notes"] };

export interface ProgramSeal {
  readonly beginning: Sealing<Beginning>;
  readonly answer: Sealing<KeptAnswer>;
  readonly entry: Sealing<ToldToProgram>;
}

interface Sealing<T> {
  /** `id` is the program's; for a journal entry, `seq` is its number. */
  close(value: T, id: string, seq?: number): string;
  open(sealed: string, id: string, seq?: number): T;
}

/** Programs and their answers may hold secrets: only this server can read them, each only under its own id. */
export function programSeal(serverSecret: string): ProgramSeal {
  const sealed = createSealed(sealingKey(serverSecret, "ostiary program, v1"));
  const sealing = <T>(kind: string): Sealing<T> => ({
    close: (value, id, seq = 0) => sealed.close(`${kind} ${id} ${seq}`, JSON.stringify(value)),
    open: (text, id, seq = 0) => JSON.parse(sealed.open(`${kind} ${id} ${seq}`, text)) as T,
  });
  return { beginning: sealing("beginning"), answer: sealing("answer"), entry: sealing("entry") };
}
