// Which traces are recorded. A pure function of the trace id and the parent's decision, so that every span of a trace,
// on every instance, gets the same decision.
import type { Trace } from "../contract/call.ts";
import type { Sampler } from "./samplers.ts";

export type Sampling = (traceId: string, parent: Pick<Trace, "sampled"> | null) => boolean;

export function createSampling(sampler: Sampler, arg: string | undefined): Sampling {
  const root = rootOf(sampler, arg);
  if (!sampler.startsWith("parentbased_")) return (traceId) => root(traceId);
  return (traceId, parent) => (parent === null ? root(traceId) : parent.sampled !== false);
}

function rootOf(sampler: Sampler, arg: string | undefined): (traceId: string) => boolean {
  if (sampler.endsWith("always_on")) return () => true;
  if (sampler.endsWith("always_off")) return () => false;
  const ratio = arg === undefined ? 1 : Number(arg);
  // The last 56 bits of an id are the random ones, also in ids that begin with a time (W3C level 2).
  const bound = ratio * 2 ** 52;
  return (traceId) => Number.parseInt(traceId.slice(-13), 16) < bound;
}
