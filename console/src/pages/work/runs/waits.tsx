// What a step waits for, and what a person can do about it.
import { Link } from "@tanstack/react-router";
import { Code, visibleText } from "../../../ui/code.tsx";
import { Countdown, exactTime } from "../../../ui/time.tsx";
import type { RunStep } from "../data.ts";

export function Waits({ runId, state }: { readonly runId: string; readonly state: RunStep }) {
  const { status, pendingApproval, questionId, waitsForEvent, wakesAt, attempt } = state;
  if (pendingApproval)
    return (
      <p className="text-hold">
        Waits for an approval: <Link to={`/approvals/${pendingApproval.id}` as "/"}>decide</Link>,{" "}
        <Countdown until={pendingApproval.expiresAt} />
      </p>
    );
  if (status === "pending" && questionId !== undefined)
    return (
      <p className="text-hold">
        Waits for a person:{" "}
        <Link to="/work" search={{ tab: "questions", id: questionId }}>
          to the question
        </Link>
      </p>
    );
  if (status !== "running" && status !== "waiting") return null;
  if (waitsForEvent !== undefined)
    return (
      <div className="flex flex-col gap-1">
        <p className="text-hold">
          Waits for the event <code>{visibleText(waitsForEvent)}</code>
          {wakesAt === undefined ? null : (
            <>
              , <Countdown until={wakesAt} />
            </>
          )}
        </p>
        <Code text={curlOf(runId, waitsForEvent)} label={`command that sends ${waitsForEvent}`} />
      </div>
    );
  if (wakesAt === undefined) return null;
  return (
    <p className="text-hold">
      {status === "waiting" ? `Attempt ${attempt ?? 1} begins at` : "Waits until"}{" "}
      <time dateTime={wakesAt}>{exactTime(wakesAt)}</time>, <Countdown until={wakesAt} />
    </p>
  );
}

/** The key is never in it: the shell reads it from a variable. */
function curlOf(runId: string, event: string): string {
  const path = `/api/v1/workflow-runs/${runId}/events/${encodeURIComponent(event)}`;
  return [
    `curl -s -X POST '${window.location.origin}${path}'`,
    `-H "Authorization: Bearer $OSTIARY_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d '{"payload": {}}'`,
  ].join(" \\\n  ");
}
