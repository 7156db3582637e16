// The default limits of a box.
import type { SandboxLimits } from "./sandbox.ts";

const MIB = 1_048_576;

export const DEFAULT_LIMITS: SandboxLimits = {
  memoryBytes: 512 * MIB,
  processes: 256,
  cpus: 1,
  tmpBytes: 64 * MIB,
  openFiles: 1024,
  fileBytes: 256 * MIB,
  diskBytes: 1_024 * MIB,
  diskEntries: 100_000,
  outputBytes: 10 * MIB,
};

/** A job's own limits over those of the server. */
export function limitsOf(...parts: readonly (Partial<SandboxLimits> | undefined)[]): SandboxLimits {
  const limits: SandboxLimits = Object.assign(
    {},
    DEFAULT_LIMITS,
    ...parts.filter(Boolean),
  ) as SandboxLimits;
  for (const [name, value] of Object.entries(limits) as [string, number][])
    if (!(value > 0 && Number.isFinite(value)))
      throw new RangeError(`sandbox limit ${name}: expected a positive number, got ${value}`);
  return limits;
}
