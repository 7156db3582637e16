// Bodies of an execution's events: their fields, what is written of them, and what the projection needs of them.
import type { CancelReason, Json, JsonObject, Status } from "../../contract/call.ts";
import type { USUAL_END, USUAL_START } from "../../util/record/event-bodies.ts";
import type { PackedVerdicts } from "../../util/record/packed-verdicts.ts";
import type { Cut } from "./rows/history.ts";

/** Body of `tool.execution.start`, and (with the end merged in) of `.denied`: an execution's first event. */
export interface StartBody {
  readonly toolName: string;
  readonly requestedName: string;
  readonly category: string;
  readonly status: Status;
  /** Masked before it gets here; only the beginning if `argumentsCut` is set. */
  readonly arguments: JsonObject;
  readonly argumentsCut: Cut | null;
  readonly startTime: number;
  readonly timeout: number;
  readonly userId: string;
  readonly tenantId: string;
  readonly capsuleId: string | null;
  readonly keyId: string | null;
  readonly sessionId: string | null;
  readonly metadata: JsonObject | null;
  readonly idempotencyKey: string | null;
  readonly traceId: string;
  readonly spanId: string;
  readonly toolVersion: string | null;
  readonly toolPin: string | null;
  readonly runner: string | null;
  readonly entry: string;
  readonly instanceId: string;
  /** As the log keeps them: `unpackVerdicts` gives them back. */
  readonly gates: PackedVerdicts;
  /** Set when the call waits, or waited, for a person. */
  readonly approvalId: string | null;
  /** What it uses of the tenant's budget, counted when it starts (not when it is held). */
  readonly budget: Readonly<Record<string, number>>;
  /** True when `usage.reserve` made a reservation for it: the start turns that into use. */
  readonly reserved: boolean;
  readonly mode: string;
  readonly roles: readonly string[];
}

/** Body of `.complete`, `.failed`, `.cancelled`. */
export interface EndBody {
  readonly status: Status;
  readonly endTime: number;
  readonly executionTime: number;
  /** Only the beginning if `resultCut` is set. */
  readonly result: Json;
  readonly resultCut: Cut | null;
  readonly error: string | null;
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly remedy: string | null;
  readonly cancelReason: CancelReason | null;
  readonly metadata: JsonObject | null;
  /** For the rollups, so that the projection needs no look-up. */
  readonly toolName: string;
  readonly category: string;
  readonly userId: string;
  readonly startTime: number;
  /**
   * Correction of what the start counted: negative when the tool was never reached, the difference when it used more
   * or less.
   */
  readonly budgetDelta: Readonly<Record<string, number>>;
  /** Those of the start; events of earlier releases have none. */
  readonly traceId?: string;
  readonly spanId?: string;
}

/**
 * How a field of a start is written. `cached`: the same for all calls of one caller to one tool. `always`: with every
 * call. `unusual`: left out while it has its usual value (`USUAL_START`).
 */
type StartPart = "cached" | "always" | "unusual";

/** Every field of a start, in the order in which each part is written. Writers and readers of starts follow from it. */
export const START_BODY = {
  toolName: "cached",
  requestedName: "cached",
  category: "cached",
  status: "always",
  arguments: "always",
  argumentsCut: "unusual",
  startTime: "always",
  timeout: "always",
  userId: "cached",
  tenantId: "cached",
  capsuleId: "cached",
  keyId: "cached",
  sessionId: "unusual",
  metadata: "unusual",
  idempotencyKey: "unusual",
  traceId: "always",
  spanId: "always",
  toolVersion: "cached",
  toolPin: "cached",
  runner: "cached",
  entry: "cached",
  instanceId: "cached",
  gates: "always",
  approvalId: "unusual",
  budget: "always",
  reserved: "unusual",
  mode: "unusual",
  roles: "cached",
} as const satisfies Record<keyof StartBody, StartPart>;

export type StartName = keyof StartBody;
const START_NAMES = Object.keys(START_BODY) as StartName[];

export const startNames = (part: StartPart): StartName[] =>
  START_NAMES.filter((name) => START_BODY[name] === part);

/** The fields of a start alone, of something that has more. */
export function startFields<T extends Readonly<Record<StartName, unknown>>>(
  of: T,
): Pick<T, StartName> {
  const fields: Partial<Record<StartName, unknown>> = {};
  for (const name of START_NAMES) fields[name] = of[name];
  return fields as Pick<T, StartName>;
}

/** Undefined stands for the usual value. */
type LeftOut<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]?: T[P] | undefined };

export type WrittenStart = LeftOut<StartBody, keyof typeof USUAL_START>;
export type WrittenEnd = LeftOut<EndBody, keyof typeof USUAL_END>;

/** What an event's body holds, for authors who have it at hand: then the store need not parse the text. */
export type EventFacts = WrittenStart | WrittenEnd;
