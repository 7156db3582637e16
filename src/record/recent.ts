// The newest finished executions in memory (R185): asking for what just ended needs no look into the store.
import type { AuditedRecord, EndBody, StartBody } from "../store/store.ts";
import { readEnd, readStart } from "../util/bodies.ts";
import { unpackGates } from "../util/gates.ts";
import type { Recorded } from "./index.ts";

export interface Recent {
  add(recorded: Recorded): void;
  get(id: string): AuditedRecord | null;
  readonly size: number;
}

interface Bodies {
  readonly start: string;
  end: string | null;
}

export function createRecent(maxEntries: number): Recent {
  const kept = new Map<string, Bodies>();
  // Ids in order of arrival, used round and round: the place of the next one holds the oldest.
  const order: string[] = [];
  let at = 0;
  const keep = (id: string, bodies: Bodies): void => {
    const oldest = order[at];
    if (oldest !== undefined) kept.delete(oldest);
    kept.set(id, bodies);
    order[at] = id;
    at = (at + 1) % maxEntries;
  };
  return {
    get size() {
      return kept.size;
    },
    add({ event }) {
      const { executionId: id, action, body } = event;
      if (id === null || maxEntries === 0) return;
      if (action === "tool.execution.start") keep(id, { start: body, end: null });
      else if (action === "tool.execution.denied") keep(id, { start: body, end: body });
      else {
        const known = kept.get(id);
        // The first end is the end; a later one changes nothing.
        if (known?.end === null) known.end = body;
      }
    },
    get(id) {
      const bodies = kept.get(id);
      return bodies?.end === undefined || bodies.end === null
        ? null
        : recordOf(id, bodies.start, bodies.end);
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
