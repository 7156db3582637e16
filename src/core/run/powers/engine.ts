// A tool uses the engine as its own caller: it sees no more, and may do no more, than that caller.
import {
  innerRequest,
  limitWithin,
  type Call,
  type Caller,
  type CallRequest,
  type InnerEntry,
  type Outcome,
} from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { EnginePower, Explained } from "../../../contract/powers.ts";
import { taintNote, withSource, type TaintSource } from "../../../contract/taint.ts";
import type { Tool } from "../../../contract/tool.ts";
import {
  rankTools,
  WAYS_TO_TOOLS,
  wordsOfTool,
  type ToolWords,
} from "../../../util/tool-search.ts";

/** The part of the engine that tools reach; given late, since the engine runs the tools. */
export interface EngineSettings {
  explain(
    caller: Caller,
    request: { name: string; arguments?: Call["arguments"] },
  ): Promise<Explained | null>;
  explainPast(caller: Caller, executionId: string): Promise<Explained | null>;
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  discover(caller: Caller): Promise<readonly Tool[]>;
  /** Waits for the end of a call that a person must approve. */
  follow(
    caller: Caller,
    executionId: string,
    wait: { ms: number; signal?: AbortSignal },
  ): Promise<Outcome>;
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
}

const MIN_TIMEOUT_MS = 1_000;
/** Kept of a call's time for the answer that what it waits for has not ended yet. */
const LAST_WORDS_MS = 1_000;

export function enginePower(
  engine: () => EngineSettings,
  now: () => number,
  brings: (outcome: Outcome) => readonly TaintSource[],
) {
  // Tools are frozen: what was read of one is valid as long as it is the same object.
  const read = new WeakMap<Tool, ToolWords>();
  const wordsFor = (tool: Tool): ToolWords => {
    const known = read.get(tool) ?? wordsOfTool(tool);
    read.set(tool, known);
    return known;
  };
  return (call: Call, signal: AbortSignal): EnginePower => {
    const left = (): number => call.startedAt + call.timeoutMs - now();
    const follow = (executionId: string, ms: number): Promise<Outcome> =>
      engine().follow(call.caller, executionId, {
        ms: Math.max(0, Math.min(ms, left() - LAST_WORDS_MS)),
        signal,
      });
    return {
      taintFrom: (outcomes) =>
        taintNote(outcomes.flatMap(brings).reduce(withSource<TaintSource>, [])),
      explain: (question) =>
        "executionId" in question
          ? engine().explainPast(call.caller, question.executionId)
          : engine().explain(call.caller, {
              name: question.tool,
              ...(question.arguments ? { arguments: question.arguments } : {}),
            }),
      async execute({ name, arguments: args, timeoutMs, metadata }) {
        if (left() < MIN_TIMEOUT_MS) throw outOfTime(call);
        const request = innerRequest(call, entryOf(call), {
          name,
          arguments: args,
          signal,
          outerLimit: limitWithin(call),
          // It can only be shorter than what is left of the call it serves.
          ...(timeoutMs === undefined
            ? {}
            : { timeoutMs: Math.min(timeoutMs, Math.floor(left())) }),
          ...(metadata ? { metadata } : {}),
        });
        return engine().execute(call.caller, request);
      },
      async relay({ name, arguments: args, executionId, metadata, signal: also }) {
        if (left() < MIN_TIMEOUT_MS) throw outOfTime(call);
        const inner = (): CallRequest =>
          innerRequest(call, "tool", {
            name,
            arguments: args,
            signal: also ? AbortSignal.any([signal, also]) : signal,
            outerLimit: limitWithin(call),
            sharesSlot: true,
            ...(call.onProgress ? { onProgress: call.onProgress } : {}),
            ...(call.client ? { client: call.client } : {}),
            ...(metadata ? { metadata } : {}),
          });
        let outcome = await (executionId === undefined
          ? engine().execute(call.caller, inner())
          : named(name, await follow(executionId, 0)));
        const { approval } = outcome;
        if (outcome.endedAt === null && approval?.state === "pending")
          outcome = await follow(outcome.executionId, approval.holdSeconds * 1_000);
        // Approved meanwhile, or running elsewhere.
        if (outcome.endedAt === null && outcome.approval?.state !== "pending")
          outcome = await follow(outcome.executionId, left());
        return outcome;
      },
      async find(query, { limit, category }) {
        const seen = (await engine().discover(call.caller)).filter(isFound);
        const asked =
          category === undefined ? seen : seen.filter((tool) => tool.category === category);
        const ranked = rankTools(asked, wordsFor, query);
        return { total: ranked.length, tools: ranked.slice(0, limit).map(foundOf) };
      },
      async visible() {
        const tools = await engine().discover(call.caller);
        return tools.map(({ name, description, risk, inputSchema }) => ({
          name,
          description,
          risk,
          inputSchema,
        }));
      },
    };
  };
}

/** An id alone does not lead to another call than the one that is meant. */
function named(name: string, outcome: Outcome): Outcome {
  const { toolName, requestedName, executionId } = outcome;
  if ([toolName, toolName.replace("/", "_"), requestedName].includes(name)) return outcome;
  throw new AppError("NOT_FOUND", "unknown", `Execution '${executionId}' of ${name} not found`, {
    remedy: "name the tool that was called under this id",
  });
}

/**
 * What a list would show: neither old tools nor what stands for another method of a server, nor the way to the others
 * itself.
 */
function isFound({ deprecated, route, name }: Tool): boolean {
  const isTool = route === null || route.method === "tools/call" || route.method === "http";
  return deprecated === null && isTool && !WAYS_TO_TOOLS.includes(name);
}

function foundOf({ tool, score }: { tool: Tool; score: number }) {
  const { name, wireName, description, category, risk, inputSchema } = tool;
  return { name, wireName, description, category, risk, inputSchema, score };
}

const entryOf = ({ tool }: Call): InnerEntry => (tool?.category === "agent" ? "agent" : "workflow");

function outOfTime({ timeoutMs }: Call): AppError {
  const message = `too little is left of the call's ${timeoutMs / 1000}s to make another call`;
  return new AppError("TIMEOUT", "timeout", message, { remedy: "call with a longer timeout" });
}
