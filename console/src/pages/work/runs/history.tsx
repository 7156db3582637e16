// What happened in a run, oldest first, as the server wrote it down.
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Failed, Skeleton } from "../../../ui/states.tsx";
import { exactTime } from "../../../ui/time.tsx";
import { type RunEvent, useRunEvents } from "../data.ts";

/** Of entries whose name does not say it. */
const WORDS: Readonly<Record<string, string>> = {
  "step.again": "is tried again",
  "step.waits": "waits for a person",
  "step.success": "succeeded",
  "run.success": "succeeded",
  "run.paused": "is paused",
  "run.resumed": "goes on",
  "asked.cancel": "to be cancelled",
  "asked.pause": "to be paused",
  "asked.resume": "to go on",
};

export function History({ runId }: { readonly runId: string }) {
  const query = useRunEvents(runId);
  const { data, hasNextPage, isFetchingNextPage } = query;
  if (data === undefined)
    return query.isError ? (
      <Failed cause={query.error} retry={() => void query.refetch()} />
    ) : (
      <Skeleton className="h-48 w-full" />
    );
  if (data.length === 0) return <p className="text-muted">Nothing has happened yet.</p>;
  return (
    <>
      <ol aria-label="History" className="flex flex-col">
        {data.map((event) => (
          <Entry key={event.seq} event={event} />
        ))}
      </ol>
      {hasNextPage ? (
        <Button
          small
          className="mt-2"
          busy={isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show what came then
        </Button>
      ) : null}
    </>
  );
}

function Entry({ event: { seq, at, kind, body } }: { readonly event: RunEvent }) {
  const [about = "", what = ""] = kind.split(".");
  const { stepId, by, executionId, approvalId, error, name, attempt } = body;
  const subject = typeof stepId === "string" ? stepId : about === "asked" ? "asked" : "run";
  return (
    <li className="flex flex-wrap items-baseline gap-x-2 border-b border-line/60 py-1.5 last:border-0">
      <span className="w-6 text-right text-muted tabular-nums">{seq}</span>
      <time dateTime={at} className="text-muted tabular-nums">
        {exactTime(at)}
      </time>
      <span className="min-w-0 flex-1 basis-52">
        <strong>{visibleText(about === "event" ? String(name) : subject)}</strong>{" "}
        {WORDS[kind] ?? (about === "event" ? "came" : visibleText(what))}
        {typeof attempt === "number" && attempt > 1 ? `, attempt ${attempt}` : ""}
        {typeof by === "string" ? ` by ${visibleText(by)}` : ""}
        {messageOf(error)}
      </span>
      {typeof approvalId === "string" ? <a href={`/approvals/${approvalId}`}>approval</a> : null}
      {typeof executionId === "string" ? (
        <a href={`/executions/${executionId}`}>execution</a>
      ) : null}
    </li>
  );
}

function messageOf(error: unknown): string {
  const { code, reason, message } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return typeof message === "string"
    ? `: ${String(code)} / ${String(reason)}: ${visibleText(message)}`
    : "";
}
