// Provider to runner. A runner gets a call that has passed the gate and answers with a value, never an exception.
import type { Call, Json, JsonObject } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import type { Provider } from "../../contract/tool.ts";

export interface RunResult {
  readonly output: Json;
  /** The same for the record, its masks tagged. Absent: what is recorded is masked there. */
  readonly recorded?: Json;
  readonly error: Fault | null;
  readonly metadata: JsonObject;
}

export type Runner = (call: Call) => RunResult | Promise<RunResult>;

/** A provider without a runner is refused by the registry stage before it gets here. */
export type Runners = Partial<Record<Provider, Runner>>;
