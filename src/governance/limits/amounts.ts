// What a call uses of its tenant's budget: an amount per metric before it runs, a correction after it. Pure.
import type { Call, Json, Outcome } from "../../contract/call.ts";
import type { Meter } from "../../contract/tool.ts";
import { METRICS, type Metric } from "./budget.ts";

export type Amounts = Readonly<Partial<Record<Metric, number>>>;

/** A number from an argument is what the caller claims: it is bounded, and never below zero. */
const MAX_AMOUNT = 1_000_000_000_000;
const ONE_CALL: Amounts = Object.freeze({ tool_calls: 1 });
const NOTHING: Amounts = Object.freeze({});

/**
 * One tool call, and what the tool's meters estimate. Throws for a metric that does not exist: nothing runs
 * uncounted.
 */
export function budgetOf({ tool, arguments: args }: Pick<Call, "tool" | "arguments">): Amounts {
  if (!tool || tool.meters.length === 0) return ONE_CALL;
  const amounts: Record<string, number> = { ...ONE_CALL };
  for (const meter of tool.meters) {
    if (!isMetric(meter.metric))
      throw new TypeError(
        `${tool.name} is metered by '${meter.metric}', which is none of ${METRICS.join(", ")}`,
      );
    amounts[meter.metric] = (amounts[meter.metric] ?? 0) + estimateOf(meter, args);
  }
  return amounts;
}

/**
 * What the start counted too much or too little. A call that was never dispatched used nothing; one that was dispatched
 * counts whatever its outcome, by what the tool itself noted or else by the estimate.
 */
export function settleOf(
  call: Pick<Call, "tool" | "arguments">,
  { dispatched, metadata }: Pick<Outcome, "dispatched" | "metadata">,
): Amounts {
  const usage = metadata["usage"];
  if (dispatched && usage === undefined) return NOTHING;
  const counted = budgetOf(call);
  const used: Amounts = dispatched ? { ...counted, ...notedBy(usage) } : {};
  const delta: Partial<Record<Metric, number>> = {};
  for (const metric of METRICS) {
    const difference = (used[metric] ?? 0) - (counted[metric] ?? 0);
    if (difference !== 0) delta[metric] = difference;
  }
  return delta;
}

/** Known metrics with sensible numbers; the tool itself does not count calls. */
function notedBy(usage: Json | undefined): Amounts {
  if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return NOTHING;
  const noted: Partial<Record<Metric, number>> = {};
  for (const [metric, value] of Object.entries(usage)) {
    if (metric === "tool_calls" || !isMetric(metric)) continue;
    const amount = amountOf(value);
    if (amount !== null) noted[metric] = amount;
  }
  return noted;
}

function estimateOf({ estimate }: Meter, args: Json): number {
  if (typeof estimate === "number") return estimate;
  return amountOf(atPointer(args, estimate.argument)) ?? estimate.otherwise;
}

function amountOf(value: unknown): number | null {
  if (typeof value !== "number" || !(value >= 0)) return null;
  return Math.min(Math.ceil(value), MAX_AMOUNT);
}

/** RFC 6901; undefined where there is nothing. */
function atPointer(value: unknown, pointer: string): unknown {
  let found = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

const isMetric = (name: string): name is Metric => (METRICS as readonly string[]).includes(name);
