// Bodies of execution events as the record stores them: fields with their usual value are left out when written and
// filled in when read. Events are never rewritten, so bodies of earlier releases are read in the same way.

export const USUAL_START = Object.freeze({
  argumentsCut: null,
  sessionId: null,
  metadata: null,
  idempotencyKey: null,
  approvalId: null,
  budget: {},
  reserved: false,
  mode: "NORMAL",
  roles: [],
});

export const USUAL_END = Object.freeze({
  resultCut: null,
  error: null,
  errorCode: null,
  errorReason: null,
  remedy: null,
  cancelReason: null,
  metadata: {},
  budgetDelta: {},
});

/** The recorder wrote the text, so it is not checked again; the caller names its type. */
export const readStart = <T extends object>(text: string): T => ({
  ...USUAL_START,
  ...(JSON.parse(text) as T),
});
export const readEnd = <T extends object>(text: string): T => ({
  ...USUAL_END,
  ...(JSON.parse(text) as T),
});
