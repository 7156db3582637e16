// Work on text from outside: short texts here, longer ones in a thread that the call's deadline or cancel ends.
import type { Call } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { ComputePower } from "../../../contract/powers/compute.ts";
import { COMPUTATIONS, type ComputationName } from "../../../util/computations/computations.ts";
import { beside, openThreads, ThreadOverflow } from "../threads.ts";
import type { Computation } from "./compute-thread.ts";

/** Characters or bytes up to which starting a thread costs more than the work. */
const INLINE = 32_768;
const AT_ONCE = 4;
const OF_ONE_OWNER = 2;
const MEMORY_MB = 512;

export interface OpenedCompute {
  readonly power: (call: Call, signal: AbortSignal) => ComputePower;
  close(): Promise<void>;
}

export function openCompute(): OpenedCompute {
  const threads = openThreads<Computation, unknown>({
    name: "compute",
    entry: beside(import.meta.url, "compute-thread"),
    atOnce: AT_ONCE,
    ofOneOwner: OF_ONE_OWNER,
    memoryMb: MEMORY_MB,
  });
  return {
    power: ({ caller }, signal) => ({
      async run(name, ...given) {
        type Answer = Awaited<ReturnType<ComputePower["run"]>>;
        signal.throwIfAborted();
        if (sizeOf(given) <= INLINE) return inline(name, given) as never;
        try {
          return (await threads.with(`${caller.tenantId}/${caller.userId}`, signal, (ask) =>
            ask({ name, given }),
          )) as Answer as never;
        } catch (cause) {
          if (!(cause instanceof ThreadOverflow)) throw cause;
          throw new AppError(
            "UNAVAILABLE",
            "resource_exhausted",
            "the texts need too much memory",
            { remedy: "use smaller ones", cause },
          );
        }
      },
    }),
    close: () => threads.close(),
  };
}

const inline = (name: ComputationName, given: readonly unknown[]): unknown =>
  (COMPUTATIONS[name] as (...all: readonly unknown[]) => unknown)(...given);

/** Of all texts and bytes that are given, one or two levels down. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let size = 0;
  for (const inner of Object.values(value)) size += sizeOf(inner);
  return size;
}
