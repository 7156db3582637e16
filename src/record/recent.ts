// The newest finished executions in memory (R185): asking for what just ended needs no look into the store.
import type { Action, AuditedRecord, EndBody, LogEvent, StartBody } from "../store/store.ts";
import { readEnd, readStart } from "../util/bodies.ts";
import { unpackGates } from "../util/gates.ts";
import type { Recorded } from "./index.ts";

export interface Recent {
  add(recorded: Recorded): void;
  get(id: string): AuditedRecord | null;
}

const ENDS = new Set<Action>(["tool.execution.complete", "tool.execution.failed", "tool.execution.cancelled"]); // prettier-ignore

/**
 * Events as they came, two for each execution, round and round: every call pays for keeping, so that costs next to nothing;
 * looking is for the few that are asked for, and begins with the newest.
 */
export function createRecent(maxEntries: number): Recent {
  const places = 2 * maxEntries;
  const kept: LogEvent[] = [];
  let next = 0;
  return {
    add({ event }) {
      if (event.executionId === null || maxEntries === 0) return;
      kept[next] = event;
      next = (next + 1) % places;
    },
    get(id) {
      let end: string | null = null;
      for (let back = 1; back <= kept.length; back++) {
        const event = kept[(next - back + places) % places];
        if (event?.executionId !== id) continue;
        const { action, body } = event;
        if (action === "tool.execution.denied") return recordOf(id, body, body);
        if (action === "tool.execution.start") return end === null ? null : recordOf(id, body, end);
        // The first end is the end; a later one changes nothing.
        if (ENDS.has(action)) end = body;
      }
      return null;
    },
  };
}

function recordOf(id: string, startText: string, endText: string): AuditedRecord {
  const start = readStart<StartBody>(startText);
  const { metadata: resultMetadata, ...end } = readEnd<EndBody>(endText);
  // What was settled is for the sums of the budget, no part of the record.
  const { budgetDelta: _settled, ...record } = { ...start, ...end };
  return {
    ...record,
    gates: unpackGates(start.gates),
    metadata: start.metadata,
    id,
    resultMetadata: startText === endText ? null : resultMetadata,
  };
}
