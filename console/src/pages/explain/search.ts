// What the address of the page holds: one question, so that its answer can be shared.
import type { Inputs } from "../../api/client.ts";

type Question = Inputs["explain"]["explainCall"];

export const MODES = ["NORMAL", "ALERT", "DEGRADED", "LOCKDOWN", "RECOVERY"] as const;
export type Mode = (typeof MODES)[number];

export interface ExplainSearch {
  readonly view?: "missing" | undefined;
  readonly execution?: string | undefined;
  readonly tool?: string | undefined;
  readonly arguments?: Record<string, unknown> | undefined;
  readonly as?: string | undefined;
  readonly mode?: Mode | undefined;
  readonly at?: string | undefined;
  /** Where content from outside came from, as if the caller had read it. */
  readonly taint?: readonly string[] | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== ""
    ? value
    : typeof value === "number"
      ? String(value)
      : undefined;

export function explainSearch(search: Record<string, unknown>): ExplainSearch {
  const args = search["arguments"];
  const taint = search["taint"];
  return {
    view: search["view"] === "missing" ? "missing" : undefined,
    execution: text(search["execution"]),
    tool: text(search["tool"]),
    arguments:
      typeof args === "object" && args !== null && !Array.isArray(args)
        ? (args as Record<string, unknown>)
        : undefined,
    as: text(search["as"]),
    mode: MODES.find((mode) => mode === search["mode"]),
    at: text(search["at"]),
    taint: Array.isArray(taint)
      ? taint.filter((one): one is string => typeof one === "string")
      : undefined,
  };
}

/** Null while nothing is asked. */
export function questionOf(search: ExplainSearch): Question | null {
  const { execution, tool, arguments: args, as, mode, at, taint } = search;
  if (execution !== undefined) return { executionId: execution };
  if (tool === undefined) return null;
  return {
    tool,
    ...(args === undefined ? {} : { arguments: args }),
    ...(as === undefined ? {} : { as }),
    ...(mode === undefined ? {} : { mode }),
    ...(at === undefined ? {} : { at }),
    ...(taint === undefined || taint.length === 0
      ? {}
      : { taint: taint.map((from) => ({ from })) }),
  };
}
