// Agents at work in this process.
import type { Taint, TaintSource } from "../contract/taint.ts";
import type { AgentRow } from "../storage/store/store.ts";

export interface LiveAgent {
  readonly owner: string;
  readonly parentId: string | null;
  readonly controller: AbortController;
  readonly inbox: string[];
  /** Called with its next words, or null at its end. */
  readonly listeners: Set<(reply: string | null) => void>;
  readonly running: { count: number };
  /** What it gave to agents of its own. */
  readonly given: { toolCalls: number; tokens: number };
  readonly used: { toolCalls: number; tokens: number };
  readonly budget: AgentRow["budget"];
  readonly ended: Promise<void>;
  /** Content from outside behind its objective and the messages to it. */
  taint: readonly Taint[];
  /** And what it has read itself. */
  read: readonly TaintSource[];
}

/** Those of this process. */
export interface AgentsHere {
  readonly live: Map<string, LiveAgent>;
  /** Where the words of those that have ended came from. */
  readonly ended: {
    get(id: string): readonly TaintSource[] | undefined;
    set(id: string, sources: readonly TaintSource[]): unknown;
  };
}

/** Everything from outside that may stand in its words. */
export const sourcesBehind = ({ taint, read }: LiveAgent): readonly TaintSource[] => [
  ...taint,
  ...read,
];

/** What is left of its budget for itself and for further agents. */
export const leftOf = ({ budget, used, given }: LiveAgent): AgentRow["budget"] => ({
  toolCalls: budget.toolCalls - used.toolCalls - given.toolCalls,
  tokens: budget.tokens - used.tokens - given.tokens,
});
