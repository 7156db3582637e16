// Agents, questions and drafts, as far as the caller of one call has them.
import type { Agents } from "./agents.ts";
import type { Group } from "./coordinate.ts";
import type { Drafts } from "./drafts.ts";
import type { Questions } from "./questions.ts";
import type { Call } from "../contract/call.ts";
import type { AgentsPower } from "../contract/powers/agents.ts";
import { untilAborted } from "../core/run/aborted.ts";

export interface AgentsSettings {
  readonly agents: Agents;
  readonly coordinate: (
    call: Call,
    signal: AbortSignal,
    request: Parameters<AgentsPower["coordinate"]>[0],
  ) => Promise<Group>;
  readonly questions: Questions;
  readonly drafts: Drafts;
  readonly now: () => number;
}

/** Left of the call's time for the answer itself. */
const ANSWER_MS = 500;

export const agentsPower =
  ({ agents, coordinate, questions, drafts, now }: AgentsSettings) =>
  (call: Call, signal: AbortSignal): AgentsPower => {
    const left = (): number => Math.max(0, call.startedAt + call.timeoutMs - now() - ANSWER_MS);
    return untilAborted<AgentsPower>(
      {
        async spawn({ wait, ...task }) {
          const row = await agents.spawn(call, task);
          const shown = wait ? await agents.wait(call.caller, row.id, left(), signal) : row;
          return {
            agentId: row.id,
            status: shown.status,
            tools: [...row.tools],
            result: shown.result,
          };
        },
        async communicate({ agentId, message, waitReply }) {
          const { messageId, reply } = await agents.say(call, agentId, message);
          if (!waitReply) return { messageId, delivered: true, reply: null };
          const late = Promise.withResolvers<null>();
          const timer = setTimeout(() => late.resolve(null), left());
          const gone = (): void => late.resolve(null);
          signal.addEventListener("abort", gone, { once: true });
          try {
            return { messageId, delivered: true, reply: await Promise.race([reply, late.promise]) };
          } finally {
            clearTimeout(timer);
            signal.removeEventListener("abort", gone);
          }
        },
        async coordinate(request) {
          const { groupId, assignments } = await coordinate(call, signal, request);
          return {
            groupId,
            assignments: assignments.map((one) => ({ ...one })),
            status: "running",
          };
        },
        async status(agentId) {
          const { status, objective, startedAt, toolCalls, tokens, lastEvent, result } =
            await agents.status(call.caller, agentId);
          return { agentId, status, objective, startedAt, toolCalls, tokens, lastEvent, result };
        },
        stop: (agentId, reason) => agents.stop(call.caller, agentId, reason),
        async ask({ question, context, options, timeoutSeconds }) {
          const waitMs = Math.min(timeoutSeconds * 1_000, left());
          const row = await questions.ask(
            call,
            signal,
            { question, context: context ?? null, options: options ?? null },
            waitMs,
          );
          const state = row.state === "pending" ? "expired" : row.state;
          return { state, answer: row.answer, by: row.answeredBy, at: row.decidedAt };
        },
        async draftTool(draft) {
          const { tool, warnings } = await drafts.create(call.caller, draft);
          return {
            capabilityId: tool.id,
            name: tool.name,
            version: tool.version,
            pin: tool.pin,
            warnings,
          };
        },
      },
      signal,
    );
  };
