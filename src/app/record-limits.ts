// How much is kept of each call (C54).
import type { Config } from "../config/config.ts";
import type { RecordLimits } from "../core/record/index.ts";

const UNKNOWN_TOOL_BYTES = 2_048;
/** Nobody fills the room of all. */
const SHARE_OF_ONE = 1 / 8;

export function recordLimits(settings: Config["record"]): RecordLimits {
  const { maxArgumentBytes, maxResultBytes, fetchedResultBytes: total } = settings;
  return {
    arguments: maxArgumentBytes,
    result: maxResultBytes,
    unknownTool: UNKNOWN_TOOL_BYTES,
    fetched: { total, perUser: Math.floor(total * SHARE_OF_ONE) },
  };
}
