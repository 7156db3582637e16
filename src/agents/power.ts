// Agents, questions and drafts, as far as the caller of one call has them.
import type { Agents } from "./agents.ts";
import type { AgentGroup } from "./coordinate.ts";
import type { Drafts } from "./drafts/drafts.ts";
import type { Questions } from "./questions.ts";
import type { Call, JsonObject } from "../contract/call.ts";
import { taintNote } from "../contract/taint.ts";
import type { AgentSeen, AgentsPower, AgentState } from "../contract/powers/agents.ts";
import type { AgentRow } from "../storage/store/store.ts";
import { untilAborted } from "../core/run/aborted.ts";

export interface AgentsSettings {
  readonly agents: Agents;
  readonly coordinate: (
    call: Call,
    signal: AbortSignal,
    request: Omit<Parameters<AgentsPower["coordinate"]>[0], "wait">,
  ) => Promise<AgentGroup>;
  readonly questions: Questions;
  readonly drafts: Drafts;
  readonly now: () => number;
}

/** Left of the call's time for the answer itself. */
const ANSWER_MS = 500;

export const agentsPower =
  ({ agents, coordinate, questions, drafts, now }: AgentsSettings) =>
  (call: Call, signal: AbortSignal): AgentsPower => {
    /** What may stand in the results of those that have one. */
    const taintOf = (rows: readonly AgentRow[]): JsonObject =>
      taintNote(rows.filter(({ result }) => result !== null).flatMap((row) => agents.sources(row)));
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
            taint: taintNote(agents.sources(row)),
          };
        },
        async communicate({ agentId, message, waitReply }) {
          const { messageId, reply } = await agents.say(call, agentId, message);
          if (!waitReply) return { messageId, delivered: true, reply: null, taint: {} };
          const late = Promise.withResolvers<null>();
          const timer = setTimeout(() => late.resolve(null), left());
          const gone = (): void => late.resolve(null);
          signal.addEventListener("abort", gone, { once: true });
          try {
            const words = await Promise.race([reply, late.promise]);
            const row = await agents.status(call.caller, agentId);
            return {
              messageId,
              delivered: true,
              reply: words,
              taint: taintNote(agents.sources(row)),
            };
          } finally {
            clearTimeout(timer);
            signal.removeEventListener("abort", gone);
          }
        },
        async coordinate({ wait, ...request }) {
          const { groupId, assignments } = await coordinate(call, signal, request);
          const ms = wait ? left() : 0;
          const rows = await Promise.all(
            assignments.map(({ agentId }) => agents.wait(call.caller, agentId, ms, signal)),
          );
          return {
            groupId,
            assignments: rows.map(({ id, status, result }, at) => {
              return { agentId: id, task: assignments[at]?.task ?? "", status, result };
            }),
            status: groupStatus(rows),
            taint: taintOf(rows),
          };
        },
        async status(agentId) {
          const row = await agents.status(call.caller, agentId);
          return { ...seenOf(row), taint: taintNote(agents.sources(row)) };
        },
        async group(groupId) {
          const rows = await agents.group(call.caller, groupId);
          return { status: groupStatus(rows), agents: rows.map(seenOf), taint: taintOf(rows) };
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
          const { row, tool, warnings } = await drafts.create(call.caller, draft, signal);
          const { id, name, version, pin } = tool;
          return {
            capabilityId: id,
            draftId: row.id,
            name,
            version,
            pin,
            tests: row.results,
            warnings,
          };
        },
      },
      signal,
    );
  };

const seenOf = (row: AgentRow): AgentSeen => ({
  agentId: row.id,
  status: row.status,
  objective: row.objective,
  startedAt: row.startedAt,
  toolCalls: row.toolCalls,
  tokens: row.tokens,
  lastEvent: row.lastEvent,
  result: row.result,
});

/** Running while one runs; a success only when all are. */
const WORST_FIRST: readonly AgentState[] = ["running", "failed", "expired", "stopped"];

const groupStatus = (rows: readonly { readonly status: AgentState }[]): AgentState =>
  WORST_FIRST.find((status) => rows.some((row) => row.status === status)) ?? "success";
