// Which rate windows apply to a call. Pure: the state port does the counting.
import type { Caller, Mode } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Governance } from "../rules/governance.ts";
import type { Throttle } from "../modes/mode.ts";
import type { Window } from "../../storage/state/state.ts";
import type { Tool } from "../../contract/tool.ts";
import { networkOf } from "../../util/network.ts";
import { perMinuteOf, tenantPerMinute } from "./owners.ts";
import type { RateKind } from "./rate.ts";

/** The windows of one call: what is counted, and what each is called. Same order in all three. */
export interface RateList {
  readonly windows: readonly Window[];
  readonly kinds: readonly RateKind[];
  readonly names: readonly string[];
  readonly throttle: Throttle | null;
}

export interface RateRules {
  readonly governance: Pick<Governance, "limits" | "modeRule">;
  readonly mode: Mode;
  /** The limit on this caller after too many refused calls; null when there is none. */
  readonly throttle: Throttle | null;
  /** False: only what protects the server stays, the mode's window and the throttle. */
  readonly enabled: boolean;
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

export function windowsOf(subject: Subject, tool: Tool, rules: RateRules): RateList {
  const { caller, ip } = subject;
  const { limits } = rules.governance;
  const windows: Window[] = [];
  const kinds: RateKind[] = [];
  const names: string[] = [];
  const add = (
    kind: RateKind,
    unit: Unit,
    of: string,
    limit: number | null | undefined,
    counter: RateKind = kind,
  ): void => {
    if (limit === null || limit === undefined) return;
    windows.push({ key: `${counter}:${of}:${unit}`, limit, windowMs: LENGTH[unit] });
    kinds.push(kind);
    names.push(`${kind}-${unit}`);
  };
  const who = `${caller.tenantId}/${caller.userId}`;
  const ofUser = rules.enabled ? perMinuteOf(caller, limits) : null;
  const throttle = tighter(rules.throttle, ofUser);
  // The calls of the last minute count for the throttle too: one counter, and the tighter limit under its own name.
  if (throttle) add("throttle", "minute", who, throttle.callsPerMinute, "user");
  else add("user", "minute", who, ofUser);
  if (rules.enabled) {
    add("tenant", "minute", caller.tenantId, tenantPerMinute(caller.plans.tenant, limits));
    add("category", "minute", `${who}/${tool.category}`, limits.ofCategory(tool.category));
    const perTool = limits.ofTool(tool);
    if (perTool) add("tool", "hour", toolScope(caller, tool, perTool.scope), perTool.perHour);
    const { keyId, limits: ofKey, plans } = caller;
    if (keyId !== null && ofKey !== null) {
      const byPlan = plans.key === null ? null : limits.ofPlan(plans.key);
      add("key", "minute", keyId, smaller(ofKey.perMinute ?? null, byPlan));
      add("key", "hour", keyId, ofKey.perHour);
      add("key", "day", keyId, ofKey.perDay);
    }
    if (caller.via === "anonymous" && ip !== null) add("ip", "minute", networkOf(ip), limits.perIp);
  }
  add("mode", "minute", who, modeLimit(subject, tool, rules));
  return { windows, kinds, names, throttle };
}

type Unit = "minute" | "hour" | "day";
const LENGTH: Record<Unit, number> = { minute: MINUTE, hour: HOUR, day: DAY };

const smaller = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);

const tighter = (throttle: Throttle | null, limit: number | null): Throttle | null =>
  throttle && (limit === null || throttle.callsPerMinute < limit) ? throttle : null;

function toolScope(caller: Caller, tool: Tool, scope: "caller" | "tenant" | "global"): string {
  if (scope === "global") return `*/${tool.name}`;
  if (scope === "tenant") return `${caller.tenantId}/*/${tool.name}`;
  return `${caller.tenantId}/${caller.userId}/${tool.name}`;
}

/**
 * Health checks are exempt. A window of zero does not apply to calls that need approval, or nobody could approve
 * them.
 */
function modeLimit(subject: Subject, tool: Tool, { governance, mode }: RateRules): number | null {
  if (tool.effects === "essential_health_check") return null;
  const limit = governance.limits.ofMode(mode);
  if (limit !== 0) return limit;
  const asks = subject.grant !== null || governance.modeRule(tool, mode).treatment === "approval";
  return asks ? null : 0;
}
