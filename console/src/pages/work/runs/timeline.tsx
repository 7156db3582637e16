// When each step began and how long it took, on one scale. The numbers stand in the list of steps as well.
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import { duration, useNow } from "../../../ui/time.tsx";
import { Sign, type Tone } from "../../../ui/verdict.tsx";
import { isOpen, type RunStep, type WholeRun } from "../data.ts";
import { statusLook } from "../status.tsx";

const BARS: Record<Tone, string> = {
  ok: "bg-ok",
  hold: "bg-hold",
  deny: "bg-deny",
  info: "bg-info",
  plain: "bg-strong-line",
};

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Null: it has not begun, or its times are not known. */
function spanOf({ startedAt, endedAt, ms }: RunStep, now: number): Span | null {
  if (startedAt === undefined) return null;
  const from = Date.parse(startedAt);
  return { from, to: endedAt === undefined ? Math.max(now, from + ms) : Date.parse(endedAt) };
}

/** A step of an earlier run that was taken over has times before this run. */
const within = (time: number, { from, to }: Span): number =>
  ((Math.min(Math.max(time, from), to) - from) / Math.max(1, to - from)) * 100;

export function Timeline({ run }: { readonly run: WholeRun }) {
  const clock = useNow(1_000);
  const now = isOpen(run) ? clock : Date.parse(run.endedAt ?? run.startedAt);
  const whole: Span = { from: Date.parse(run.startedAt), to: now };
  return (
    <ul aria-label="Timeline" className="flex flex-col gap-1.5">
      {run.steps.map((step) => (
        <Row key={step.id} step={step} span={spanOf(step, now)} whole={whole} />
      ))}
    </ul>
  );
}

function Row({
  step: { id, status },
  span,
  whole,
}: {
  readonly step: RunStep;
  readonly span: Span | null;
  readonly whole: Span;
}) {
  const [tone, sign, word] = statusLook(status);
  const isBefore = span !== null && span.to < whole.from;
  const left = span === null ? 0 : within(span.from, whole);
  return (
    <li className="grid grid-cols-[8rem_1fr_6rem] items-center gap-2 max-sm:grid-cols-[6rem_1fr_5rem]">
      <span className="flex min-w-0 items-center gap-1.5">
        <Sign sign={sign} />
        <span className="truncate">{visibleText(id)}</span>
        <span className="sr-only">, {word}</span>
      </span>
      <span className="relative h-3 rounded bg-raised">
        {span === null || isBefore ? null : (
          <span
            className={cx("absolute h-3 min-w-0.5 rounded", BARS[tone])}
            style={{ left: `${left}%`, width: `${within(span.to, whole) - left}%` }}
          />
        )}
      </span>
      <span className="text-right text-muted tabular-nums">
        {isBefore ? "run before" : span === null ? word : duration(span.to - span.from)}
      </span>
    </li>
  );
}
