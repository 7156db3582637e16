// The phases of a turn, by name and in order. From discovery to results they repeat until the model answers with text
// alone.
export const PHASES = [
  "receive",
  "session",
  "capsule",
  "context",
  "budget",
  "model_choice",
  "discovery",
  "model_call",
  "parse",
  "validate",
  "execute",
  "results",
  "answer",
  "remember",
  "observe",
] as const;
export type Phase = (typeof PHASES)[number];
