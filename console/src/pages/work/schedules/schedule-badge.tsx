import { Badge } from "../../../ui/verdict.tsx";
import type { Schedule } from "../data.ts";

/** How a schedule stands. */
export function ScheduleBadge({ schedule }: { readonly schedule: Schedule }) {
  const { enabled, lastError } = schedule;
  if (!enabled)
    return (
      <Badge tone="info" sign="‖">
        paused
      </Badge>
    );
  return lastError === null ? (
    <Badge tone="ok" sign="✓">
      on
    </Badge>
  ) : (
    <Badge tone="deny" sign="✕">
      failed
    </Badge>
  );
}
