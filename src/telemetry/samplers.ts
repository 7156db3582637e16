/** The values of OTEL_TRACES_SAMPLER that need no further service. */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;
export type Sampler = (typeof SAMPLERS)[number];
