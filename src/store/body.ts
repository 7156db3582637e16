// Bodies of execution events as the log keeps them: what has its usual value is left out when written and filled in when
// read. Events are never rewritten, so texts of earlier releases, which say more or less, read alike.
import type { AuditedRecord, EndBody, StartBody } from "./store.ts";

const USUAL_START = {
  sessionId: null,
  metadata: null,
  idempotencyKey: null,
  approvalId: null,
  budget: {},
  reserved: false,
  mode: "NORMAL",
  roles: [],
} satisfies Partial<StartBody>;

const USUAL_END = {
  error: null,
  errorCode: null,
  errorReason: null,
  remedy: null,
  cancelReason: null,
  metadata: {},
  budgetDelta: {},
} satisfies Partial<EndBody>;

type LeftOut<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]?: T[P] | undefined };

/** Undefined stands for the usual value. */
export type WrittenStart = LeftOut<StartBody, keyof typeof USUAL_START>;
export type WrittenEnd = LeftOut<EndBody, keyof typeof USUAL_END>;

/** What history needs of a body. */
export type StartFacts = Pick<
  WrittenStart,
  "userId" | "toolName" | "category" | "status" | "startTime" | "timeout" | "instanceId" | "approvalId" | "budget" | "reserved"
>; // prettier-ignore
export type EndFacts = Pick<
  WrittenEnd,
  "userId" | "toolName" | "category" | "status" | "startTime" | "endTime" | "executionTime" | "cancelReason" | "budgetDelta"
>; // prettier-ignore
export type EventFacts = StartFacts | EndFacts;

export function readStart(text: string): StartBody & Pick<StoredAudit, "audit"> {
  return { ...USUAL_START, ...(JSON.parse(text) as WrittenStart) } as StartBody;
}

export function readEnd(text: string): EndBody {
  return { ...USUAL_END, ...(JSON.parse(text) as WrittenEnd) } as EndBody;
}

/** A refusal that hides its tool keeps what really happened under `audit`, its verdicts packed. */
interface StoredAudit {
  readonly audit?: NonNullable<AuditedRecord["audit"]>;
}
