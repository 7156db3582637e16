// Bodies of execution events as the log keeps them: what has its usual value is left out when written and filled in when
// read. Events are never rewritten, so texts of earlier releases, which say more or less, read alike.

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

/** The text is one that the recorder wrote; its type is the caller's to name. */
export const readStart = <T extends object>(text: string): T => ({
  ...USUAL_START,
  ...(JSON.parse(text) as T),
});
export const readEnd = <T extends object>(text: string): T => ({
  ...USUAL_END,
  ...(JSON.parse(text) as T),
});
