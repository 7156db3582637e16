import type { Config } from "../../config/config.ts";
import type { Owner } from "../../storage/data-dir.ts";

/** What the checks look at. */
export interface Place {
  readonly dataDir: string;
  readonly owner: Owner | null;
  /** Null when the configuration does not load; then `faults` says why. */
  readonly config: Config | null;
  readonly portGiven: boolean;
  readonly faults: readonly string[];
}
