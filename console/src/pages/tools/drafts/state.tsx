import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { Draft, DraftState } from "./data.ts";
import { notPassed } from "./data.ts";

const LOOKS: Record<DraftState, readonly [Tone, string, string]> = {
  pending_link: ["hold", "⏸", "waits"],
  linked: ["ok", "✓", "linked"],
  retired: ["plain", "○", "retired"],
  rejected: ["deny", "⛔", "rejected"],
};

/** How a version stands. */
export function DraftBadge({ state }: { readonly state: DraftState }) {
  const [tone, sign, word] = LOOKS[state];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}

export function TestsBadge({ draft }: { readonly draft: Pick<Draft, "tests"> }) {
  const { passed, failed, notRun } = draft.tests;
  const all = passed + failed + notRun;
  if (all === 0) return <Badge sign="?">no tests</Badge>;
  return notPassed(draft) === 0 ? (
    <Badge tone="ok" sign="✓">
      {passed} passed
    </Badge>
  ) : (
    <Badge tone="deny" sign="✕">
      {passed} of {all} passed
    </Badge>
  );
}
