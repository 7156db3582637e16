// Counts a call in every rate window that applies to it, in all of them or in none.
import type { Caller, Mode, RateWindow } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Governance } from "../rules/governance.ts";
import type { ModeController, Throttle } from "../modes/mode.ts";
import type { State, Taken } from "../../storage/state/state.ts";
import type { Tool } from "../../contract/tool.ts";
import type { RateResult, Rates, Violated } from "./rate.ts";
import { windowsOf, type RateList } from "./windows.ts";

export interface RatesPowers {
  readonly state: Pick<State, "take" | "peek" | "refund">;
  readonly governance: () => Pick<Governance, "version" | "limits" | "modeRule">;
  readonly mode: Pick<ModeController, "current" | "throttleOf">;
  /** RATE_LIMIT_ENABLED. The mode's windows and throttled callers stay limited without it. */
  readonly enabled: boolean;
  readonly now: () => number;
  /** Called once per window and its length when a fifth or less is left. */
  readonly onLow?: (caller: Caller, window: RateWindow) => void;
}

/** The windows of a caller, and what they were made from: when one of these changes, they are made anew. */
interface Known {
  readonly version: string;
  readonly mode: Mode;
  readonly throttle: Throttle | null;
  readonly byTool: WeakMap<Tool, RateList>;
}

const LOW = 0.2;
/** Warnings remembered; one that is dropped may be given twice. */
const MAX_NOTED = 10_000;
const UNLIMITED: RateResult = Object.freeze({ ok: true, windows: [], violated: [] });

export function createRates(p: RatesPowers): Rates {
  const known = new WeakMap<Caller, Known>();
  const noted = new Map<string, number>();

  /** A caller's windows change rarely; its objects live as long as identity remembers it. */
  const listOf = (subject: Subject, tool: Tool): RateList => {
    const { caller, suppose, grant } = subject;
    const governance = p.governance();
    const mode = suppose?.mode ?? p.mode.current().mode;
    const throttle = p.mode.throttleOf(caller);
    const { enabled } = p;
    // These differ from call to call.
    if (suppose || grant || caller.via === "anonymous")
      return windowsOf(subject, tool, { governance, mode, throttle, enabled });
    let entry = known.get(caller);
    if (
      entry?.version !== governance.version ||
      entry.mode !== mode ||
      entry.throttle !== throttle
    ) {
      entry = { version: governance.version, mode, throttle, byTool: new WeakMap() };
      known.set(caller, entry);
    }
    let list = entry.byTool.get(tool);
    if (!list) {
      list = windowsOf(subject, tool, { governance, mode, throttle, enabled });
      entry.byTool.set(tool, list);
    }
    return list;
  };

  const noteLow = (caller: Caller, list: RateList, taken: Taken): void => {
    taken.windows.forEach(({ remaining, resetMs }, i) => {
      const window = at(list.windows, i);
      if (remaining > window.limit * LOW) return;
      const now = p.now();
      if ((noted.get(window.key) ?? 0) > now) return;
      if (noted.size >= MAX_NOTED) noted.clear();
      noted.set(window.key, now + window.windowMs);
      p.onLow?.(caller, windowView(list, i, remaining, resetMs));
    });
  };

  const answer = (subject: Subject, list: RateList, taken: Taken, looked: boolean): RateResult => {
    const all = taken.windows.map(({ remaining, resetMs }, i) =>
      windowView(list, i, remaining, resetMs),
    );
    const windows = all.length > 1 ? all.toSorted((a, b) => share(a) - share(b)) : all;
    // It was counted with its request; a window that filled up during the approval does not refuse it.
    if (subject.grant) return { ok: true, windows, violated: [] };
    if (!taken.ok) {
      const { throttle } = list;
      const violated = all.flatMap((window, i): Violated[] => {
        if (window.remaining >= 1) return [];
        const kind = at(list.kinds, i);
        return [{ kind, window, ...(kind === "throttle" && throttle ? { throttle } : {}) }];
      });
      return { ok: false, windows, violated };
    }
    if (looked) return { ok: true, windows, violated: [] };
    noteLow(subject.caller, list, taken);
    return { ok: true, windows, violated: [], refund: () => p.state.refund(list.windows) };
  };

  return {
    take(subject) {
      const { tool } = subject;
      if (tool === null) return UNLIMITED;
      const list = listOf(subject, tool);
      if (list.windows.length === 0) return UNLIMITED;
      const looks = subject.suppose !== undefined || subject.grant !== null;
      const taken = looks ? p.state.peek(list.windows) : p.state.take(list.windows);
      return taken instanceof Promise
        ? taken.then((result) => answer(subject, list, result, looks))
        : answer(subject, list, taken, looks);
    },
  };
}

function windowView(list: RateList, i: number, remaining: number, resetMs: number): RateWindow {
  const { limit, windowMs } = at(list.windows, i);
  return {
    name: at(list.names, i),
    quota: limit,
    windowSeconds: windowMs / 1000,
    remaining,
    resetSeconds: Math.ceil(resetMs / 1000),
  };
}

const share = ({ remaining, quota }: RateWindow): number => remaining / Math.max(1, quota);

/**
 * The lists are of one length, and a state answers about the windows it was asked about: an answer beyond them
 * throws.
 */
const at = <T>(list: readonly T[], i: number): T => list[i] as T;
