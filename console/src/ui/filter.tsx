// The field that narrows a list. "/" goes there.
import { useRef } from "react";
import { useShortcut } from "../app/shortcuts.tsx";

export function Filter({
  label,
  value,
  onChange,
  className = "w-full sm:w-64",
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly className?: string;
}) {
  const input = useRef<HTMLInputElement>(null);
  useShortcut("/", "Filter the list", () => input.current?.focus());
  return (
    <input
      ref={input}
      type="search"
      aria-label={label}
      placeholder={label}
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={`h-8.5 rounded-md border border-strong-line/70 bg-surface px-2.5 placeholder:text-muted ${className}`}
    />
  );
}

/** Whether any of the texts holds what is looked for; capitals do not matter. */
export function holds(wanted: string, ...texts: readonly (string | null | undefined)[]): boolean {
  const part = wanted.trim().toLowerCase();
  return part === "" || texts.some((text) => text?.toLowerCase().includes(part) ?? false);
}
