// What happens in turns on this instance, for those who watch one. Who comes later hears it from the beginning.
import type { JsonObject } from "../../contract/call.ts";

export interface TurnEvent {
  readonly event: "phase" | "text" | "tool_call" | "tool_result" | "waiting" | "question" | "end";
  readonly data: JsonObject;
}

export interface TurnEvents {
  emit(turnId: string, event: TurnEvent): void;
  /** Hears what happened so far, then what happens. */
  on(turnId: string, listener: (event: TurnEvent) => void): () => void;
}

interface WatchedTurn {
  readonly past: TurnEvent[];
  readonly listeners: Set<(event: TurnEvent) => void>;
}

/** Of one turn; a listener that comes after so many misses the oldest, and reads the turn itself. */
const MAX_PAST = 20_000;
/** Those who saw a turn begin may come a moment after its end. */
const KEPT_AFTER_END_MS = 10_000;

export function createTurnEvents(): TurnEvents {
  const turns = new Map<string, WatchedTurn>();
  const watched = (turnId: string): WatchedTurn => {
    const known = turns.get(turnId) ?? { past: [], listeners: new Set() };
    turns.set(turnId, known);
    return known;
  };
  return {
    emit(turnId, event) {
      const turn = watched(turnId);
      turn.past.push(event);
      if (turn.past.length > MAX_PAST) turn.past.shift();
      for (const listener of [...turn.listeners]) listener(event);
      if (event.event !== "end") return;
      setTimeout(() => {
        if (turns.get(turnId) === turn) turns.delete(turnId);
      }, KEPT_AFTER_END_MS).unref();
    },
    on(turnId, listener) {
      const turn = watched(turnId);
      for (const event of turn.past) listener(event);
      turn.listeners.add(listener);
      return () => {
        turn.listeners.delete(listener);
        if (turn.listeners.size === 0 && turn.past.length === 0) turns.delete(turnId);
      };
    },
  };
}
