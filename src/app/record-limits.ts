// How many bytes of each call are recorded.
import type { Config } from "../config/config.ts";
import type { RecordLimits } from "../core/record/index.ts";

const UNKNOWN_TOOL_BYTES = 2_048;
/** The share of the total that one user may fill. */
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
