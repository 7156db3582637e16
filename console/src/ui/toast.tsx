import { toast } from "sonner";
import type { Failure } from "../api/failure.ts";

/** A short message; `undo` offers to take the change back, `undoLabel` says how. */
export function notify(
  message: string,
  options: { undo?: () => void; undoLabel?: string; detail?: string } = {},
): void {
  const { undo, undoLabel = "Undo", detail } = options;
  toast(message, {
    ...(detail === undefined ? {} : { description: detail }),
    ...(undo ? { action: { label: undoLabel, onClick: undo }, duration: 10_000 } : {}),
  });
}

export function notifyFailure({ message, remedy, requestId }: Failure): void {
  const lines = [remedy, requestId === undefined ? undefined : `Request ${requestId}`];
  toast.error(message, {
    description: lines.filter((line) => line !== undefined).join(" · "),
    duration: 12_000,
  });
}
