// A list and what is chosen in it. Side by side where there is room; else the detail takes the place of the list.
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useShortcut } from "../app/shortcuts.tsx";
import { IconButton } from "./button.tsx";
import { cx } from "./class-names.ts";

export function ListDetail({
  list,
  title,
  detail,
  onClose,
}: {
  readonly list: ReactNode;
  readonly title?: ReactNode;
  /** Null: nothing is chosen. */
  readonly detail: ReactNode;
  readonly onClose: () => void;
}) {
  const isOpen = detail !== null;
  useShortcut("Escape", "Close the detail", onClose, isOpen);
  return (
    <div
      className={cx(
        "grid items-start gap-4",
        isOpen && "lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]",
      )}
    >
      <section
        className={cx(
          "min-w-0 rounded-lg border border-line bg-surface",
          isOpen && "max-lg:hidden",
        )}
      >
        {list}
      </section>
      {isOpen ? (
        <section className="min-w-0 rounded-lg border border-line bg-surface">
          <div className="flex min-h-11 items-center justify-between gap-2 border-b border-line px-4 py-1.5">
            <h2 className="min-w-0">{title}</h2>
            <IconButton label="Close the detail" onClick={onClose}>
              <X size={16} aria-hidden />
            </IconButton>
          </div>
          <div className="flex flex-col gap-4 p-4">{detail}</div>
        </section>
      ) : null}
    </div>
  );
}
