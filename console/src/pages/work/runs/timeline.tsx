// How long each step took, one after the other. The numbers stand in the list of steps as well.
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import { duration } from "../../../ui/time.tsx";
import type { Tone } from "../../../ui/verdict.tsx";
import type { RunStep } from "../data.ts";
import { statusLook } from "../status.tsx";

const BARS: Record<Tone, string> = {
  ok: "bg-ok",
  hold: "bg-hold",
  deny: "bg-deny",
  info: "bg-info",
  plain: "bg-strong-line",
};

export function Timeline({ steps }: { readonly steps: readonly RunStep[] }) {
  const total = Math.max(
    1,
    steps.reduce((sum, { ms }) => sum + ms, 0),
  );
  let before = 0;
  return (
    <ul aria-label="Timeline" className="flex flex-col gap-1.5">
      {steps.map(({ id, ms, status }) => {
        const left = (before / total) * 100;
        before += ms;
        const [tone, sign, word] = statusLook(status);
        return (
          <li key={id} className="grid grid-cols-[7rem_1fr_5rem] items-center gap-2">
            <span className="truncate">
              <span aria-hidden="true">{sign}</span> {visibleText(id)}
              <span className="sr-only">, {word}</span>
            </span>
            <span className="relative h-3 rounded bg-raised">
              <span
                className={cx("absolute h-3 min-w-0.5 rounded", BARS[tone])}
                style={{ left: `${left}%`, width: `${(ms / total) * 100}%` }}
              />
            </span>
            <span className="text-right text-muted tabular-nums">{duration(ms)}</span>
          </li>
        );
      })}
    </ul>
  );
}
