// How a tool stands for a caller, in one sign and one word.
import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { CatalogueTool } from "./search.ts";

type State = CatalogueTool["state"];

const LOOKS: Record<State, { sign: string; tone: Tone; word: string; says: string }> = {
  runs: { sign: "✓", tone: "ok", word: "run", says: "runs at once" },
  asks: { sign: "⏸", tone: "hold", word: "ask", says: "runs once a person agrees" },
  barred: {
    sign: "⛔",
    tone: "deny",
    word: "barred",
    says: "is shown, and refused whatever the arguments are",
  },
  hidden: { sign: "◌", tone: "plain", word: "hidden", says: "does not exist for this caller" },
};

export const stateWord = (state: State): string => LOOKS[state].word;
export const stateSays = (state: State): string => LOOKS[state].says;

export function StateBadge({ state }: { readonly state: State }) {
  const { sign, tone, word } = LOOKS[state];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

const RISKS: Readonly<Record<string, Tone>> = {
  safe: "ok",
  moderate: "hold",
  dangerous: "deny",
};

export const RiskBadge = ({ risk }: { readonly risk: string }) => (
  <Badge tone={RISKS[risk] ?? "plain"}>{risk}</Badge>
);
