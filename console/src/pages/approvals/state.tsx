import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { Listed } from "./approval.ts";

const LOOKS: Record<Listed["state"], { sign: string; tone: Tone; word: string }> = {
  pending: { sign: "⏸", tone: "hold", word: "waiting" },
  approved: { sign: "✓", tone: "ok", word: "approved" },
  consumed: { sign: "✓", tone: "ok", word: "approved and used" },
  declined: { sign: "⛔", tone: "deny", word: "denied" },
  expired: { sign: "⌛", tone: "plain", word: "expired" },
  not_presented: { sign: "⌛", tone: "plain", word: "expired unseen" },
  cancelled: { sign: "■", tone: "plain", word: "cancelled" },
};

export function ApprovalBadge({ state }: { readonly state: Listed["state"] }) {
  const { sign, tone, word } = LOOKS[state];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

const RISKS: Readonly<Record<string, Tone>> = { safe: "ok", moderate: "hold", dangerous: "deny" };

export const RiskBadge = ({ risk }: { readonly risk: string }) => (
  <Badge tone={RISKS[risk] ?? "plain"}>{risk}</Badge>
);
