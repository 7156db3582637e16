// Arguments and results for traces and log lines: masked, and cut to a length that receivers take.
import type { Json } from "../contract/call.ts";

/** The beginning of a value, masked: so many characters. */
export type Masked = (value: Json, characters: number) => Json;

const MAX_CHARACTERS = 8_192;

export const shownContent =
  (masked: Masked) =>
  (value: Json): string => {
    try {
      const text = JSON.stringify(masked(value, MAX_CHARACTERS));
      return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}…`;
    } catch {
      // Telemetry must not break a call; and what cannot be masked is not sent.
      return "[not shown]";
    }
  };
