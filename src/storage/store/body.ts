// What is written of an event's body, and what history needs of it. Undefined stands for the usual value.
import type { USUAL_END, USUAL_START } from "../../util/record/event-bodies.ts";
import type { EndBody, StartBody } from "./store.ts";

type LeftOut<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]?: T[P] | undefined };

export type WrittenStart = LeftOut<StartBody, keyof typeof USUAL_START>;
export type WrittenEnd = LeftOut<EndBody, keyof typeof USUAL_END>;

export type StartFacts = Pick<
  WrittenStart,
  | "userId"
  | "toolName"
  | "category"
  | "status"
  | "startTime"
  | "timeout"
  | "instanceId"
  | "approvalId"
  | "budget"
  | "reserved"
  | "sessionId"
  | "traceId"
>;
export type EndFacts = Pick<
  WrittenEnd,
  | "userId"
  | "toolName"
  | "category"
  | "status"
  | "startTime"
  | "endTime"
  | "executionTime"
  | "cancelReason"
  | "error"
  | "errorCode"
  | "errorReason"
  | "budgetDelta"
>;
export type EventFacts = StartFacts | EndFacts;
