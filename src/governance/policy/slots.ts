// The two sets a policy engine holds, compiled here: the enforced one and the one in trial.
import { AppError } from "../../contract/errors.ts";
import type { DocumentFault } from "../rules/governance.ts";
import { openPolicySet, type Bounds, type PolicySet, type Switches } from "./policy-set.ts";
import type { PolicyFiles } from "./policy.ts";

export interface PolicyPowers {
  /** Of the rule that decides: `ostiary/tools/allow`. */
  readonly path: string;
  readonly now: () => number;
}

export type Slot = "enforced" | "shadow";

/**
 * Far beyond any sensible policy; an endless one ends here, and the gate denies. A trial must not slow real calls
 * down.
 */
const BOUNDS: Record<Slot, Bounds> = {
  enforced: { deadlineMs: 250, maxSteps: 2_000_000 },
  shadow: { deadlineMs: 20, maxSteps: 200_000 },
};

export class PolicySlots {
  readonly #powers: PolicyPowers;
  readonly #sets: Record<Slot, PolicySet | null> = { enforced: null, shadow: null };
  #tools: Switches = {};
  #opening: Promise<unknown> = Promise.resolve();
  revision = 0;

  constructor(powers: PolicyPowers) {
    this.#powers = powers;
  }

  get tools(): Switches {
    return this.#tools;
  }

  get argumentless(): boolean {
    const { enforced, shadow } = this.#sets;
    return (enforced?.argumentless ?? false) && (shadow?.argumentless ?? true);
  }

  get timeless(): boolean {
    const { enforced, shadow } = this.#sets;
    return (enforced?.timeless ?? false) && (shadow?.timeless ?? true);
  }

  of(slot: Slot): PolicySet | null {
    return this.#sets[slot];
  }

  /**
   * Throws BAD_REQUEST with file and line of every fault. One set is opened at a time, in the order of the calls, so
   * that the last one asked for is the last one held.
   */
  open(slot: Slot, set: { version: string; files: PolicyFiles } | null): Promise<PolicySet | null> {
    const opened = this.#opening.then(
      () => set && openChecked(set, { ...this.#powers, ...BOUNDS[slot] }),
    );
    this.#opening = opened.catch(() => undefined); // reported to its own caller
    return opened;
  }

  /** Takes a set that was checked before. */
  hold(slot: Slot, set: PolicySet | null): void {
    set?.setTools(this.#tools);
    this.#sets[slot] = set;
    this.revision++;
  }

  setTools(tools: Switches): void {
    this.#tools = tools;
    for (const set of Object.values(this.#sets)) set?.setTools(tools);
    this.revision++;
  }
}

async function openChecked(
  { version, files }: { version: string; files: PolicyFiles },
  options: PolicyPowers & Bounds,
): Promise<PolicySet> {
  const opened = await openPolicySet(files, { ...options, version });
  const faults = "faults" in opened ? opened.faults : opened.probe();
  if (faults.length === 0) return opened as PolicySet;
  throw invalidSet(faults);
}

function invalidSet(faults: readonly DocumentFault[]): AppError {
  const [first] = faults;
  const at = first ? `${first.file}:${first.line}:${first.column} ${first.message}` : "";
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : "";
  return new AppError("BAD_REQUEST", "invalid_input", `The policy does not load: ${at}${more}`, {
    remedy:
      "correct the places listed in errors; `ostiary policy check` shows them before publishing",
    errors: faults.map(({ file, line, column, message }) => ({
      path: `${file}:${line}:${column}`,
      message,
    })),
  });
}
