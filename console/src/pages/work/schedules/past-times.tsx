// The times at which a schedule was due, and what became of each.
import { visibleText } from "../../../ui/code.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { exactTime } from "../../../ui/time.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import { type ScheduleTime, useScheduleTimes } from "../data.ts";

const STATES: Record<ScheduleTime["state"], readonly [Tone, string, string]> = {
  due: ["hold", "·", "due"],
  begun: ["info", "▶", "begun"],
  started: ["ok", "✓", "run"],
  skipped: ["plain", "↷", "left out"],
  failed: ["deny", "✕", "failed"],
};

export function PastTimes({ scheduleId }: { readonly scheduleId: string }) {
  const query = useScheduleTimes(scheduleId);
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium">Past times</h3>
      <Loaded query={query} skeleton={<Skeleton className="h-24 w-full" />}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-muted">None was due yet.</p>
          ) : (
            <ul aria-label="Past times" tabIndex={0} className="max-h-80 overflow-y-auto">
              {items.map((one) => (
                <PastTime key={one.dueAt} time={one} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function PastTime({ time: { dueAt, state, executionId, note } }: { readonly time: ScheduleTime }) {
  const [tone, sign, word] = STATES[state];
  return (
    <li className="flex flex-wrap items-center gap-x-2 border-b border-line/60 py-1 last:border-0">
      <time dateTime={dueAt} className="tabular-nums">
        {exactTime(dueAt)}
      </time>
      <Badge tone={tone} sign={sign}>
        {word}
      </Badge>
      {executionId === null ? null : <a href={`/executions/${executionId}`}>execution</a>}
      {note === null ? null : <span className="text-muted">{visibleText(note)}</span>}
    </li>
  );
}
