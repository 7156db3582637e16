import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { VersionSummary } from "./kinds.ts";

const LOOKS: Record<VersionSummary["state"], readonly [Tone, string, string]> = {
  enforced: ["ok", "✓", "in force"],
  shadow: ["info", "◐", "on trial"],
  draft: ["plain", "✎", "draft"],
  retired: ["plain", "↺", "former"],
};

export function StateBadge({ state }: { readonly state: VersionSummary["state"] }) {
  const [tone, sign, word] = LOOKS[state];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}
