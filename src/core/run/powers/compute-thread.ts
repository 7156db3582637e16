// The thread that computes: it does not block the server, and the server can end it.
import { parentPort } from "node:worker_threads";
import { COMPUTATIONS, type ComputationName } from "../../../util/computations/computations.ts";

export interface Computation {
  readonly name: ComputationName;
  readonly given: readonly unknown[];
}

parentPort?.on("message", ({ name, given }: Computation) => {
  const compute = COMPUTATIONS[name] as (...all: readonly unknown[]) => unknown;
  parentPort?.postMessage(compute(...given));
});
