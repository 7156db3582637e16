import type { ComputationName, Computations } from "../../util/computations/computations.ts";

/** Work on foreign text that may take long: at once where there is little, else in a thread that ends with the call. */
export interface ComputePower {
  /** Rejects with resource_exhausted when it needs too much memory. */
  run<Name extends ComputationName>(
    name: Name,
    ...given: Parameters<Computations[Name]>
  ): Promise<ReturnType<Computations[Name]>>;
}
