import { toast } from "sonner";
import type { Failure } from "../api/failure.ts";

/** A short message; `undo` offers to take the change back. */
export function notify(
  message: string,
  options: { undo?: () => void; detail?: string } = {},
): void {
  const { undo, detail } = options;
  toast(message, {
    ...(detail === undefined ? {} : { description: detail }),
    ...(undo ? { action: { label: "Undo", onClick: undo }, duration: 10_000 } : {}),
  });
}

export function notifyFailure({ message, remedy, requestId }: Failure): void {
  const lines = [remedy, requestId === undefined ? undefined : `Request ${requestId}`];
  toast.error(message, {
    description: lines.filter((line) => line !== undefined).join(" · "),
    duration: 12_000,
  });
}
