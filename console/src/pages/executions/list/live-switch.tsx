import { Pause, Play } from "lucide-react";
import { Button } from "../../../ui/button.tsx";

export function LiveSwitch({
  isPaused,
  onToggle,
}: {
  readonly isPaused: boolean;
  readonly onToggle: () => void;
}) {
  const Icon = isPaused ? Play : Pause;
  return (
    <Button onClick={onToggle} aria-pressed={isPaused}>
      <Icon size={14} aria-hidden />
      {isPaused ? "Paused: follow live" : "Pause live"}
      <kbd className="text-muted max-md:hidden">l</kbd>
    </Button>
  );
}
