// Choose one of a few; the number beside each says how many rows it leaves.
import { cx } from "./class-names.ts";

export interface Chip {
  readonly id: string;
  readonly label: string;
  readonly count?: number;
}

export function Chips({
  label,
  chips,
  value,
  onChange,
}: {
  readonly label: string;
  readonly chips: readonly Chip[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}) {
  return (
    <div role="group" aria-label={label} className="flex flex-wrap gap-1.5">
      {chips.map(({ id, label: text, count }) => (
        <button
          key={id}
          type="button"
          aria-pressed={id === value}
          onClick={() => onChange(id)}
          className={cx(
            "flex h-7 items-center gap-1.5 rounded-full border px-2.5 text-[13px]",
            id === value
              ? "border-accent bg-accent-soft font-medium"
              : "border-line bg-surface hover:bg-raised",
          )}
        >
          {text}
          {count === undefined ? null : <span className="text-muted tabular-nums">{count}</span>}
        </button>
      ))}
    </div>
  );
}
