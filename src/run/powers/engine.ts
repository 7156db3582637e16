// A tool asks the engine as its own caller: it learns no more, and may do no more, than the caller.
import { innerRequest, type Call, type Caller, type CallRequest, type InnerEntry, type Outcome } from "../../call.ts"; // prettier-ignore
import { AppError } from "../../errors.ts";
import type { EnginePower, Explained } from "../../tools/powers.ts";
import type { Tool } from "../../tools/tool.ts";

/** The part of the engine that tools reach; given late, since the engine runs the tools. */
export interface EngineSettings {
  explain(caller: Caller, request: { name: string; arguments?: Call["arguments"] }): Promise<Explained | null>;
  explainPast(caller: Caller, executionId: string): Promise<Explained | null>;
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** Waits for what becomes of a call that a person must agree to. */
  follow(caller: Caller, executionId: string, wait: { ms: number; signal?: AbortSignal }): Promise<Outcome>;
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
} // prettier-ignore

const MIN_TIMEOUT_MS = 1_000;

export const enginePower =
  (engine: () => EngineSettings, now: () => number) =>
  (call: Call, signal: AbortSignal): EnginePower => ({
    explain: (question) =>
      "executionId" in question
        ? engine().explainPast(call.caller, question.executionId)
        : engine().explain(call.caller, {
            name: question.tool,
            ...(question.arguments ? { arguments: question.arguments } : {}),
          }),
    async execute({ name, arguments: args, timeoutMs, metadata }) {
      const left = call.startedAt + call.timeoutMs - now();
      if (left < MIN_TIMEOUT_MS) throw outOfTime();
      const request = innerRequest(call, entryOf(call), {
        name,
        arguments: args,
        signal,
        // It can only be shorter than what is left of the call it serves.
        ...(timeoutMs === undefined ? {} : { timeoutMs: Math.min(timeoutMs, Math.floor(left)) }),
        ...(metadata ? { metadata } : {}),
      });
      return engine().execute(call.caller, request);
    },
    async visible() {
      const tools = await engine().discover(call.caller);
      return tools.map(({ name, description, risk, inputSchema }) => ({ name, description, risk, inputSchema })); // prettier-ignore
    },
  });

const entryOf = ({ tool }: Call): InnerEntry => (tool?.category === "agent" ? "agent" : "workflow");

function outOfTime(): AppError {
  return new AppError("TIMEOUT", "timeout", "too little of the call's time is left to make another call", { remedy: "call with a longer timeout" }); // prettier-ignore
}
