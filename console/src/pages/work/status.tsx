import { Badge, type Tone } from "../../ui/verdict.tsx";
import type { RunStep } from "./data.ts";

const LOOKS: Record<RunStep["status"], readonly [Tone, string, string]> = {
  success: ["ok", "✓", "success"],
  running: ["info", "▶", "running"],
  pending: ["hold", "⏸", "waits"],
  paused: ["info", "‖", "paused"],
  failed: ["deny", "✕", "failed"],
  cancelled: ["plain", "■", "cancelled"],
  skipped: ["plain", "↷", "skipped"],
  waiting: ["plain", "·", "not started"],
};

export const statusLook = (status: RunStep["status"]) => LOOKS[status];

/** How a run or a step stands. */
export function StatusBadge({ status }: { readonly status: RunStep["status"] }) {
  const [tone, sign, word] = LOOKS[status];
  return (
    <Badge tone={tone} sign={sign}>
      {word}
    </Badge>
  );
}
