// Which rules were asked, which held, and where the others stopped.
import { cx } from "../../ui/class-names.ts";
import type { Visit } from "./lab/rego.ts";
import type { Place } from "./place.ts";

export function Visits({
  visits,
  onGo,
}: {
  readonly visits: readonly Visit[];
  readonly onGo: (place: Place) => void;
}) {
  if (visits.length === 0) return null;
  return (
    <div className="flex flex-col gap-1">
      <h3>Why</h3>
      <ol
        aria-label="Rules that were asked"
        className="max-h-72 overflow-y-auto rounded-md border border-line py-1"
      >
        {visits.map((visit, at) => (
          <li key={at}>
            <button
              type="button"
              onClick={() => onGo({ file: visit.file, line: visit.failedAtLine ?? visit.line })}
              className="flex w-full items-baseline gap-2 px-3 py-0.5 text-left hover:bg-raised"
            >
              <span
                style={{ paddingLeft: `${Math.min(visit.depth, 8) * 12}px` }}
                className={cx("shrink-0", visit.value === undefined ? "text-muted" : "text-ok")}
              >
                {visit.value === undefined ? "✕" : "✓"}
              </span>
              <code className="min-w-0">
                {visit.rule.replace(/^data\./, "")}
                {visit.value === undefined ? "" : ` = ${visit.value}`}
              </code>
              <span className="ml-auto shrink-0 text-xs text-muted">
                {visit.file}:{visit.failedAtLine ?? visit.line}
                {visit.value === undefined ? " does not hold" : ""}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
