// The messages and calls of a turn so far. It is kept so that only this installation can read it: it holds what people
// wrote and tools answered, unmasked, as a model must see it again after a crash.
import type { TurnStep } from "../../storage/store/store.ts";
import { createSealed, sealingKey } from "../../util/secrets/sealed.ts";

export interface TurnState {
  readonly message: string;
  readonly steps: readonly TurnStep[];
}

export interface TurnStates {
  close(turnId: string, state: TurnState): string;
  /** Null when it cannot be read any more: another server secret, or it was touched. */
  open(turn: { readonly id: string; readonly sealed: string }): TurnState | null;
}

const PURPOSE = "ostiary chat: state of a turn, v1";

export function createTurnStates(serverSecret: string): TurnStates {
  const sealed = createSealed(sealingKey(serverSecret, PURPOSE));
  return {
    close: (turnId, state) => sealed.close(turnId, JSON.stringify(state)),
    open(turn) {
      try {
        return JSON.parse(sealed.open(turn.id, turn.sealed)) as TurnState;
      } catch {
        return null;
      }
    },
  };
}
