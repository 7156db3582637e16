// What happens around a native tool: a second attempt where that can do no harm, and a breaker per tool. Upstream
// servers have their own of both (reach/upstream/resilience.ts), with the same breaker.
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../../contract/call.ts";
import { faultOf } from "../../contract/errors.ts";
import { isNetworkFault } from "../../contract/transient.ts";
import { openBreaker, type Breaker, type BreakerState } from "../../reach/breaker.ts";
import type { Runner, RunResult } from "./index.ts";

export interface ResiliencePowers {
  readonly onState: (tool: string, state: BreakerState) => void;
  /** Runs work that nobody waits for; a failure is reported. */
  readonly background: (work: Promise<unknown>) => void;
  /** How long an open breaker keeps calls away. */
  readonly resetMs?: number;
}

export interface ToolFigure {
  readonly name: string;
  readonly breaker: BreakerState;
}

export interface ResilientRunner {
  readonly run: Runner;
  /** Tools whose breaker is not closed, in any tenant. */
  readonly figures: () => readonly ToolFigure[];
}

interface Failing {
  readonly tool: string;
  readonly opening: Promise<Breaker>;
  /** Null until the package is loaded. */
  breaker: Breaker | null;
}

const FAILURES = 5;
const RESET_MS = 30_000;
const RETRY_WAIT_MS = 200;
const MAX_FAILING = 1_000;

export function resilientRunner(runner: Runner, p: ResiliencePowers): ResilientRunner {
  /** Only tools that failed lately are in it: for others only its size is checked. */
  const failing = new Map<string, Failing>();

  const watch = (key: string, tool: string): Failing => {
    const opening = openBreaker({
      name: tool,
      failures: FAILURES,
      resetMs: p.resetMs ?? RESET_MS,
      counts: (cause) => cause instanceof Failed && cause.isOwn,
      remedy: "use another tool, or try again later; the server's log says why",
      onState: (state) => p.onState(tool, state),
    });
    const entry: Failing = { tool, opening, breaker: null };
    failing.set(key, entry);
    p.background(opening.then((breaker) => (entry.breaker = breaker)));
    return entry;
  };

  /** A call that ran beside the breaker: a failure begins the count, or goes on with it. */
  const noted = async (call: Call, result: RunResult): Promise<RunResult> => {
    if (!isOwnFault(call, result)) return result;
    const key = keyOf(call);
    const tool = call.tool?.name ?? "";
    const entry = failing.get(key) ?? (failing.size < MAX_FAILING ? watch(key, tool) : null);
    const breaker = await entry?.opening.catch(() => null);
    if (breaker?.state === "closed")
      await breaker.run(() => Promise.reject(new Failed(call, result))).catch(() => undefined);
    return result;
  };

  const guarded = async (call: Call, key: string, entry: Failing): Promise<RunResult> => {
    const breaker = entry.breaker ?? (await entry.opening.catch(() => null));
    if (breaker === null) return runner(call); // reported when it could not be made
    try {
      const result = await breaker.run(async () => {
        const ended = await repeated(await runner(call), call, runner);
        if (ended.error !== null) throw new Failed(call, ended);
        return ended;
      });
      // Others may have opened it meanwhile.
      if (breaker.state === "closed" && failing.get(key) === entry) failing.delete(key);
      return result;
    } catch (cause) {
      if (cause instanceof Failed) return cause.result;
      return { output: null, error: faultOf(breaker.translate(cause)), metadata: {} };
    }
  };

  const failedOnce = async (call: Call, result: RunResult): Promise<RunResult> =>
    noted(call, await repeated(result, call, runner));

  return {
    run(call) {
      if (failing.size > 0) {
        const key = keyOf(call);
        const entry = failing.get(key);
        if (entry) return guarded(call, key, entry);
      }
      const running = runner(call);
      if (running instanceof Promise)
        return running.then((result) =>
          result.error === null ? result : failedOnce(call, result),
        );
      return running.error === null ? running : failedOnce(call, running);
    },
    figures() {
      const worst = new Map<string, BreakerState>();
      for (const { tool, breaker } of failing.values())
        if (breaker && breaker.state !== "closed" && worst.get(tool) !== "open")
          worst.set(tool, breaker.state);
      return [...worst].map(([name, breaker]) => ({ name, breaker }));
    },
  };
}

/** What one tenant's arguments break must not keep the tool from others. */
const keyOf = ({ caller, tool }: Call): string => `${caller.tenantId}\n${tool?.name ?? ""}`;

/** The tool or what it was set up with is broken. Bad input, refusals, hosts that a caller chose and time are not. */
const OWN_FAULTS: ReadonlySet<string> = new Set([
  "unexpected",
  "output_invalid",
  "upstream_unavailable",
  "upstream_protocol",
]);

/** A call that was cancelled or ran out of time says nothing about the tool. */
function isOwnFault({ signal }: Call, { error }: RunResult): boolean {
  return !signal.aborted && error?.code === "EXECUTION_FAILED" && OWN_FAULTS.has(error.reason);
}

/** The breaker counts exceptions; the result is an answer all the same. */
class Failed extends Error {
  readonly result: RunResult;
  readonly isOwn: boolean;
  constructor(call: Call, result: RunResult) {
    super("the tool failed");
    this.result = result;
    this.isOwn = isOwnFault(call, result);
  }
}

/** A network error of a tool that may run twice; what it has so far is worth more than a second attempt. */
const mayRepeat = ({ error, output }: RunResult, { tool, signal }: Call): boolean =>
  error !== null &&
  output === null &&
  tool?.idempotent === true &&
  !signal.aborted &&
  isNetworkFault(error);

/** The result itself, or that of one more attempt within the call's own time. */
function repeated(result: RunResult, call: Call, runner: Runner): RunResult | Promise<RunResult> {
  return mayRepeat(result, call) ? onceMore(result, call, runner) : result;
}

async function onceMore(first: RunResult, call: Call, runner: Runner): Promise<RunResult> {
  try {
    await sleep(RETRY_WAIT_MS, undefined, { signal: call.signal });
  } catch {
    return first; // cancelled, or out of time: the deadline has decided
  }
  const second = await runner(call);
  return { ...second, metadata: { ...second.metadata, attempts: 2 } };
}
