// A repeated idempotency key never runs a tool twice: the earlier answer is given again (24 h, per caller).
import { hash } from "node:crypto";
import { narrowingOf, type Call, type JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ExecutionRecord, Store } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { WholeResult } from "./whole.ts";

export interface Idempotency {
  /**
   * The finished execution that this key already stands for; null when it is free. Throws when it is in flight or
   * means something else.
   */
  replay(call: Call): Promise<ExecutionRecord | null>;
  /** Takes the key for this call, after the gate and before the run. Throws when another call has it. */
  reserve(call: Call): Promise<void>;
  /** Gives the key back: the call never ran, so it may be tried again under it. */
  release(call: Call): Promise<void>;
}

export function createIdempotency(
  store: Pick<Store, "idempotency" | "executions">,
  now: () => number,
  whole: WholeResult,
): Idempotency {
  return {
    async replay(call) {
      const earlier = await store.idempotency.find(scopeOf(call), keyOf(call), now());
      if (earlier === null) return null;
      assertSame(call, earlier.requestHash);
      const record = await store.executions.get(earlier.executionId);
      // A call that waits for a person is answered with its present state.
      const waits = record?.status === "pending" && record.approvalId !== null;
      if (record === null || (record.endTime === null && !waits))
        throw inFlight(earlier.executionId, call);
      return whole(record);
    },
    async reserve(call) {
      const row = {
        scope: scopeOf(call),
        key: keyOf(call),
        requestHash: requestHash(call),
        executionId: call.id,
        at: now(),
      };
      const earlier = await store.idempotency.reserve(row);
      if (earlier === null) return;
      assertSame(call, earlier.requestHash);
      throw inFlight(earlier.executionId, call);
    },
    release: (call) =>
      store.idempotency.release({ scope: scopeOf(call), key: keyOf(call), executionId: call.id }),
  };
}

/**
 * Answers of one key are not given to another key of the same user, nor to an agent with fewer tools on their behalf.
 */
function scopeOf({ caller }: Call): string {
  const { tenantId, userId, keyId, via } = caller;
  const narrowing = narrowingOf(caller);
  return `${tenantId}/${userId}/${keyId ?? via}${narrowing === "" ? "" : `/${hash("sha256", narrowing)}`}`;
}
const keyOf = (call: Call): string => call.idempotencyKey ?? "";

function requestHash(call: Call): string {
  const facts: JsonObject = {
    tool: call.tool?.name ?? call.requestedName,
    arguments: call.arguments,
    timeout: call.timeoutMs,
  };
  return hash("sha256", canonicalJson(facts));
}

function assertSame(call: Call, earlierHash: string): void {
  if (requestHash(call) === earlierHash) return;
  throw new AppError(
    "UNPROCESSABLE",
    "idempotency_mismatch",
    "this idempotency key was used for another request",
    {
      remedy: "use a new key for a new request",
    },
  );
}

/** The server itself may ask again under the id that it chose: that is no other call. */
function inFlight(executionId: string, { id }: Call): AppError {
  return new AppError(
    "CONFLICT",
    executionId === id ? "still_running" : "idempotency_in_flight",
    `the request with this key is still running as ${executionId}`,
    {
      remedy: `ask for its status: GET /api/v1/executions/${executionId}`,
      retryAfterSeconds: 1,
    },
  );
}
