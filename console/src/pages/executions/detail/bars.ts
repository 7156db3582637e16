// Executions of a trace as bars: callers before what they called, each at its place in time.
import { type Execution, isOpen } from "../row.ts";

export interface Bar {
  readonly execution: Execution;
  /** How many calls it is inside of. */
  readonly depth: number;
  /** From the beginning of the trace. */
  readonly startMs: number;
  readonly ms: number;
  /** Percent of the whole time. */
  readonly left: number;
  readonly width: number;
}

export function barsOf(
  executions: readonly Execution[],
  now: number,
): { readonly bars: readonly Bar[]; readonly totalMs: number } {
  const starts = executions.map(({ startTime }) => Date.parse(startTime));
  const first = Math.min(...starts);
  const msOf = (execution: Execution): number =>
    execution.executionTime ??
    (isOpen(execution) ? Math.max(0, now - Date.parse(execution.startTime)) : 0);
  const last = Math.max(...executions.map((one, at) => (starts[at] ?? first) + msOf(one)));
  const totalMs = Math.max(last - first, 1);
  const bars = nested(executions).map(({ execution, depth }): Bar => {
    const startMs = Date.parse(execution.startTime) - first;
    const ms = msOf(execution);
    return {
      execution,
      depth,
      startMs,
      ms,
      left: (startMs / totalMs) * 100,
      width: (ms / totalMs) * 100,
    };
  });
  return { bars, totalMs };
}

function nested(executions: readonly Execution[]) {
  const ids = new Set(executions.map(({ id }) => id));
  const children = new Map<string, Execution[]>();
  const byStart = [...executions].sort((a, b) => (a.startTime < b.startTime ? -1 : 1));
  for (const execution of byStart) {
    const parent = execution.metadata?.["parentExecutionId"];
    // One whose caller is not here stands at the top.
    const key =
      typeof parent === "string" && parent !== execution.id && ids.has(parent) ? parent : "";
    children.set(key, [...(children.get(key) ?? []), execution]);
  }
  const ordered: { execution: Execution; depth: number }[] = [];
  const add = (parent: string, depth: number): void => {
    for (const execution of children.get(parent) ?? []) {
      ordered.push({ execution, depth });
      add(execution.id, depth + 1);
    }
  };
  add("", 0);
  return ordered;
}
