// States are never told by colour alone: each has a sign and a word.
import {
  Ban,
  Check,
  CircleDashed,
  CircleHelp,
  type LucideIcon,
  Pause,
  Play,
  Square,
  X,
} from "lucide-react";
import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

export type Tone = "ok" | "hold" | "deny" | "info" | "plain";

const TONES: Record<Tone, string> = {
  ok: "bg-ok-soft text-ok",
  hold: "bg-hold-soft text-hold",
  deny: "bg-deny-soft text-deny",
  info: "bg-info-soft text-info",
  plain: "bg-raised text-muted",
};

export const toneText: Record<Tone, string> = {
  ok: "text-ok",
  hold: "text-hold",
  deny: "text-deny",
  info: "text-info",
  plain: "text-muted",
};

/** Drawn, because not every system has all of these characters. */
const DRAWN: Readonly<Record<string, LucideIcon>> = {
  "✓": Check,
  "⏸": Pause,
  "⛔": Ban,
  "◌": CircleDashed,
  "✕": X,
  "▶": Play,
  "■": Square,
  "?": CircleHelp,
};

/** A sign beside a word that says the same. */
export function Sign({ sign, className }: { readonly sign: string; readonly className?: string }) {
  const Icon = DRAWN[sign];
  if (Icon)
    return (
      <Icon size={12} strokeWidth={2.75} aria-hidden="true" className={cx("shrink-0", className)} />
    );
  return (
    <span aria-hidden="true" className={className}>
      {sign}
    </span>
  );
}

export function Badge({
  tone = "plain",
  sign,
  children,
  className,
}: {
  readonly tone?: Tone;
  readonly sign?: string;
  readonly children: ReactNode;
  readonly className?: string;
}) {
  return (
    <span
      className={cx(
        "inline-flex items-center gap-1 rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap",
        TONES[tone],
        className,
      )}
    >
      {sign === undefined ? null : <Sign sign={sign} />}
      {children}
    </span>
  );
}

interface Look {
  readonly sign: string;
  readonly tone: Tone;
  readonly word: string;
}

const VERDICTS: Readonly<Record<string, Look>> = {
  allow: { sign: "✓", tone: "ok", word: "allow" },
  hold: { sign: "⏸", tone: "hold", word: "hold" },
  deny: { sign: "⛔", tone: "deny", word: "deny" },
  hidden: { sign: "◌", tone: "plain", word: "hidden" },
};

export const verdictLook = (verdict: string): Look =>
  VERDICTS[verdict] ?? { sign: "·", tone: "plain", word: verdict };

export function VerdictBadge({ verdict }: { readonly verdict: string }) {
  const { sign, tone, word } = verdictLook(verdict);
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

/** Codes that a call ends with when a stage of the gate refused it. */
const REFUSALS = new Set([
  "FORBIDDEN",
  "NOT_FOUND",
  "RATE_LIMITED",
  "TOO_MANY_REQUESTS",
  "PAYMENT_REQUIRED",
  "QUOTA_EXCEEDED",
  "BUDGET_EXCEEDED",
  "UNAUTHORIZED",
]);

export interface CallState {
  readonly status: string;
  readonly errorCode?: string | undefined;
  readonly cancelReason?: string | undefined;
}

/** How a call stands, in one sign and one word. */
export function callLook({ status, errorCode, cancelReason }: CallState): Look {
  if (status === "success") return { sign: "✓", tone: "ok", word: "success" };
  if (status === "pending") return { sign: "⏸", tone: "hold", word: "waiting" };
  if (status === "running") return { sign: "▶", tone: "info", word: "running" };
  if (status === "cancelled")
    return {
      sign: "■",
      tone: "plain",
      word: cancelReason === "timeout" ? "timeout" : "cancelled",
    };
  if (errorCode !== undefined && REFUSALS.has(errorCode))
    return { sign: "⛔", tone: "deny", word: "denied" };
  if (errorCode === "OUTCOME_UNKNOWN") return { sign: "?", tone: "hold", word: "outcome unknown" };
  return { sign: "✕", tone: "deny", word: "failed" };
}

export function CallBadge(state: CallState) {
  const { sign, tone, word } = callLook(state);
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}
