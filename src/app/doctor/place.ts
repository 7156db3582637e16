import type { Config } from "../../config/config.ts";
import type { Owner } from "../../storage/data-dir.ts";

/** What the checks read. */
export interface Place {
  readonly dataDir: string;
  readonly owner: Owner | null;
  /** Null when the configuration does not load; then `faults` says why. */
  readonly config: Config | null;
  readonly portGiven: boolean;
  readonly faults: readonly string[];
  readonly reach: DoctorReach;
}

/** How the checks ask others: the command line over the network, a server its own parts. */
export interface DoctorReach {
  /** What the running server says of itself; null: it does not answer. */
  readiness(url: string): Promise<Readiness | null>;
  /** Does the database at this address answer? */
  database(at: { readonly host: string; readonly port: number }): Promise<boolean>;
}

export interface Readiness {
  readonly status: number;
  readonly checks: readonly { readonly name: string; readonly reason?: string }[];
}
