// What is wrong with the texts, each at its place.
import { visibleText } from "../../ui/code.tsx";
import { cx } from "../../ui/class-names.ts";
import type { FileFault } from "./kinds.ts";
import type { Place } from "./place.ts";

const MAX_SHOWN = 50;

export function FaultList({
  faults,
  onGo,
}: {
  readonly faults: readonly FileFault[];
  readonly onGo: (place: Place) => void;
}) {
  if (faults.length === 0) return null;
  return (
    <ul aria-label="Faults" className="max-h-48 overflow-y-auto border-t border-line">
      {faults.slice(0, MAX_SHOWN).map((fault, at) => (
        <li key={at}>
          <button
            type="button"
            onClick={() => onGo(fault)}
            className="flex w-full items-baseline gap-2 px-3 py-1.5 text-left hover:bg-raised"
          >
            <span className={cx("shrink-0", isGrave(fault) ? "text-deny" : "text-hold")}>
              {isGrave(fault) ? "✕" : "!"}
              <span className="sr-only">{isGrave(fault) ? "error" : "warning"}</span>
            </span>
            <code className="shrink-0 text-muted">
              {fault.file}:{fault.line}
            </code>
            <span className="min-w-0">{visibleText(fault.message)}</span>
          </button>
        </li>
      ))}
      {faults.length > MAX_SHOWN ? (
        <li className="px-3 py-1.5 text-muted">and {faults.length - MAX_SHOWN} more</li>
      ) : null}
    </ul>
  );
}

export const isGrave = ({ severity }: FileFault): boolean => severity !== "warning";
