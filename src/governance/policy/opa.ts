// The policy engine on an OPA server. The enforced set is pushed there; a trial is answered here, beside it.
import { AppError } from "../../contract/errors.ts";
import { OpaServer, type OpaResult } from "./opa-server.ts";
import { sentences, type PolicySet } from "./policy-set.ts";
import { PolicySlots, type PolicyPowers } from "./slots.ts";
import type { PolicyDecision, PolicyEngine, PolicyInput } from "./policy.ts";
import { fromJson } from "@ostiary/rego";

/** Within the limit of the gate's stage, so that the answer names this engine. */
const DECISION_LIMIT_MS = 400;
const RETRY_MS = 1_000;

export function openOpa(address: string, powers: PolicyPowers): PolicyEngine {
  const server = new OpaServer(address);
  const slots = new PolicySlots(powers);
  const sync = keepInStep(async () => {
    const set = slots.of("enforced");
    if (set) await server.push(set, powers.path, slots.tools);
  });

  const decide = async (
    set: PolicySet,
    input: PolicyInput,
    explain: boolean,
  ): Promise<PolicyDecision> => {
    const signal = AbortSignal.timeout(DECISION_LIMIT_MS);
    await sync.ready(signal);
    const answer = await server.ask(input, signal);
    // A server that was restarted, or that another instance has given another version.
    if (answer.version !== set.mark) {
      sync.lost();
      throw new Error(`OPA does not hold policy ${set.version}; it is being sent again`);
    }
    return judged(set, input, answer, explain);
  };

  return {
    engine: "opa",
    async load(slot, set) {
      const opened = await slots.open(slot, set);
      const before = slots.of(slot);
      slots.hold(slot, opened);
      if (slot === "shadow" || set === null) return;
      try {
        await sync.now();
      } catch (cause) {
        // What was enforced stays enforced; at a start there is nothing, and the set is sent as soon as the server
        // answers.
        if (before) {
          slots.hold(slot, before);
          await sync.now().catch(() => undefined);
        }
        throw cause instanceof AppError ? cause : unreachable(cause);
      }
    },
    async setTools(tools) {
      slots.setTools(tools);
      // What could not be sent is sent again, and until then nothing is decided.
      if (slots.of("enforced")) await sync.now().catch(() => undefined);
    },
    decide(slot, input, explain) {
      const set = slots.of(slot);
      if (set === null) return null;
      return slot === "enforced" ? decide(set, input, explain) : set.decide(input, explain);
    },
    versionOf: (slot) => slots.of(slot)?.version ?? null,
    // A remembered answer would hide that the server is out.
    timeless: false,
    argumentless: false,
    get revision() {
      return slots.revision;
    },
    async ping() {
      const signal = AbortSignal.timeout(DECISION_LIMIT_MS);
      await sync.ready(signal);
      await server.ping(signal);
    },
    close: () => Promise.resolve(sync.close()),
  };
}

/** The server's word counts; where the no comes from is found in the same files here. */
function judged(
  set: PolicySet,
  input: PolicyInput,
  answer: OpaResult,
  explain: boolean,
): PolicyDecision {
  const { version } = set;
  const id = answer.decisionId === undefined ? {} : { decisionId: answer.decisionId };
  const allow = answer.allow === true;
  if (allow && !explain) return { allow, reasons: [], version, ...id };
  const value = answer.allow === undefined ? undefined : fromJson(answer.allow);
  const traced = whereFrom(() =>
    allow ? { reasons: [], ...set.approval(input) } : set.refusal(value, input, explain),
  );
  const isComplete = typeof answer.allow === "boolean" && answer.reasons !== undefined;
  const reasons = isComplete && !allow ? sentences(fromJson(answer.reasons)) : traced.reasons;
  return { ...traced, allow, reasons, version, ...id };
}

/** The answer stands whether or not its place is found. */
function whereFrom<T extends { reasons: readonly string[] }>(find: () => T): T | { reasons: [] } {
  try {
    return find();
  } catch {
    return { reasons: [] };
  }
}

function unreachable(cause: unknown): AppError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AppError(
    "UNAVAILABLE",
    "engine_unavailable",
    `The policy could not be sent to the OPA server: ${why}`,
    {
      remedy: "it is tried again every second; until then every call is refused",
      cause,
    },
  );
}

/** One push at a time; decisions wait while one is under way, and a failed one is repeated until it succeeds. */
function keepInStep(push: () => Promise<void>) {
  let running: Promise<void> | null = null;
  let inStep = true;
  let closed = false;
  let retry: NodeJS.Timeout | undefined;

  let began = 0;

  const now = async (): Promise<void> => {
    while (running) await running.catch(() => undefined);
    clearTimeout(retry);
    inStep = false;
    began = performance.now();
    running = push();
    try {
      await running;
      inStep = true;
    } finally {
      running = null;
      if (!inStep && !closed) retry = setTimeout(again, RETRY_MS).unref();
    }
  };
  const again = (): void => {
    now().catch(() => undefined); // repeated by its own timer
  };

  return {
    now,
    /** At once, unless it was only just sent: two instances of different versions must not do so in turns. */
    lost(): void {
      if (running || !inStep || closed) return;
      inStep = false;
      const wait = Math.max(0, began + RETRY_MS - performance.now());
      retry = setTimeout(again, wait).unref();
    },
    async ready(signal: AbortSignal): Promise<void> {
      if (running) await Promise.race([running.catch(() => undefined), aborted(signal)]);
      if (!inStep) throw new Error("the OPA server does not hold the policies yet");
    },
    close(): void {
      closed = true;
      clearTimeout(retry);
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}
