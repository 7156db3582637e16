// The newest finished executions in memory, so that a request for one of them needs no read from the store.
import type { Action, AuditedRecord, EndBody, StartBody } from "../../storage/store/store.ts";
import { readEnd, readStart } from "../../util/record/event-bodies.ts";
import { unpackVerdicts } from "../../util/record/packed-verdicts.ts";
import type { Recorded } from "./index.ts";

export interface Recent {
  add(recorded: Recorded): void;
  get(id: string): AuditedRecord | null;
}

const ENDS = new Set<Action>([
  "tool.execution.complete",
  "tool.execution.failed",
  "tool.execution.cancelled",
]);

/**
 * What is kept of one event may be so large on average; where they are larger, fewer are kept. Only what is used is
 * taken.
 */
const EVENT_BYTES = 16_384;
const MOST_BYTES = 2 ** 30;

/**
 * Events as they came, two for each execution, in a ring; a search begins with the newest. They are kept outside of the
 * heap: objects kept for every call would outlive the young generation, and keep the garbage collector busy.
 */
export function createRecent(maxEntries: number): Recent {
  const places = 2 * maxEntries;
  const bytes = Buffer.allocUnsafeSlow(Math.min(places * EVENT_BYTES, MOST_BYTES));
  // Per slot: where its id begins, where its body begins and ends, what happened, and a hash of the id.
  const [from, body, to] = [
    new Uint32Array(places),
    new Uint32Array(places),
    new Uint32Array(places),
  ];
  const actions: Action[] = [];
  const marks = new Uint32Array(places);
  // Where the next one goes. What follows is of the round before, as far as `before`, and is overwritten as this one
  // goes on.
  let [next, nextByte, before] = [0, 0, 0];

  function add(id: string, action: Action, text: string): void {
    if (!fits(id, text, nextByte)) {
      if (!fits(id, text, 0)) return;
      beginRound();
    } else if (next === places) beginRound();
    marks[next] = markOf(id);
    actions[next] = action;
    from[next] = nextByte;
    body[next] = nextByte += bytes.write(id, nextByte);
    to[next] = nextByte += bytes.write(text, nextByte);
    next += 1;
  }

  /** A character has three bytes at most: they are counted only where that is too many. */
  const fits = (id: string, text: string, at: number): boolean =>
    at + 3 * (id.length + text.length) <= bytes.length ||
    at + Buffer.byteLength(id) + Buffer.byteLength(text) <= bytes.length;

  function beginRound(): void {
    before = next;
    [next, nextByte] = [0, 0];
  }

  /** Newest first. */
  function* placesOf(id: string): Generator<number> {
    const mark = markOf(id);
    const isHere = (at: number): boolean =>
      marks[at] === mark && bytes.toString("utf8", from[at], body[at]) === id;
    for (let at = next - 1; at >= 0; at--) if (isHere(at)) yield at;
    for (let at = before - 1; at >= next && (from[at] ?? 0) >= nextByte; at--)
      if (isHere(at)) yield at;
  }

  return {
    add({ event }) {
      if (event.executionId !== null && places > 0)
        add(event.executionId, event.action, event.body);
    },
    get(id) {
      let end: string | null = null;
      for (const at of placesOf(id)) {
        const action = actions[at] as Action;
        const text = bytes.toString("utf8", body[at], to[at]);
        if (action === "tool.execution.denied") return recordOf(id, text, text);
        if (action === "tool.execution.start") return end === null ? null : recordOf(id, text, end);
        // The first end counts; a later one changes nothing.
        if (ENDS.has(action)) end = text;
      }
      return null;
    },
  };
}

/** Of its last five characters, which are random. */
function markOf(id: string): number {
  let mark = 0;
  for (let at = id.length - 5; at < id.length; at++) mark = mark * 61 + id.charCodeAt(at);
  return mark >>> 0;
}

function recordOf(id: string, startText: string, endText: string): AuditedRecord {
  const start = readStart<StartBody>(startText);
  const { metadata: resultMetadata, ...end } = readEnd<EndBody>(endText);
  // Settled amounts belong to the sums of the budget, not to the record.
  const { budgetDelta: _settled, ...record } = { ...start, ...end };
  return {
    ...record,
    gates: unpackVerdicts(start.gates),
    metadata: start.metadata,
    id,
    resultMetadata: startText === endText ? null : resultMetadata,
  };
}
