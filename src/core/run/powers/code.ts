// Runs a caller's programs; who they run for and when they must end come from the call. A program whose call must wait
// for a person is suspended, and goes on after the decision: on whichever instance, also after a restart.
import { mandateOf, type Call } from "../../../contract/call.ts";
import type { CodePower } from "../../../contract/powers/code.ts";
import type { ProgramRow } from "../../../storage/store/store.ts";
import type { AdvanceItem } from "../../../work/work.ts";
import { advancer } from "./code/advance.ts";
import { drive } from "./code/drive.ts";
import { join } from "./code/join.ts";
import { PROGRAM_WORK, programSeal, type CodeSettings } from "./code/settings.ts";

export { PROGRAM_WORK, type CodeSettings };

export interface CodePrograms {
  readonly power: (call: Call, signal: AbortSignal) => CodePower;
  /** Serves the work items of suspended programs. */
  readonly advance: AdvanceItem;
  /** A call that waited for a person waits no more: the program that made it, if any, goes on. */
  decided(executionId: string): Promise<void>;
}

/** A program that has not ended by then is over; each of its questions to people is over much sooner. */
const LASTS_MS = 7 * 86_400_000;

export function codePrograms(p: CodeSettings): CodePrograms {
  const seal = programSeal(p.serverSecret);
  const advance = advancer(p, seal);

  function newRow(call: Call, sealed: string): ProgramRow {
    const { tenantId, userId } = call.caller;
    const startedAt = p.now();
    return {
      id: call.id,
      tenantId,
      userId,
      state: "running",
      fence: 0,
      driver: call.id,
      mandate: mandateOf(call.caller),
      sealed,
      waits: [],
      answer: null,
      startedAt,
      endedAt: null,
      expiresAt: startedAt + LASTS_MS,
    };
  }

  return {
    power: (call, signal) => ({
      run(source, host) {
        const { id, entry, sessionId, ip, trace, metadata } = call;
        const parent = { id, entry, sessionId, ip, trace, metadata };
        const beginning = { source, seed: p.ids.hex(16), parent };
        const row = newRow(call, seal.beginning.close(beginning, id));
        const first = { call, signal, row, beginning, entries: [], isFirst: true };
        return drive(p, seal, host, first);
      },
      async goOn(programId, host) {
        const row = await p.store.programs.get(call.caller, programId);
        // Only the call that took the program over runs it; its id was chosen here and is known to nobody else.
        if (row?.state !== "running" || row.driver !== call.id)
          return join(p, seal, { call, signal, programId });
        const beginning = seal.beginning.open(row.sealed, row.id);
        const entries = await p.store.programs.journal(row.id);
        return drive(p, seal, host, { call, signal, row, beginning, entries, isFirst: false });
      },
    }),
    advance: ({ id }) => advance(id),
    async decided(executionId) {
      const id = await p.store.programs.ofExecution(executionId);
      if (id !== null) await p.work().wake({ kind: PROGRAM_WORK, id });
    },
  };
}
