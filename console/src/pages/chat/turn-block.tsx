// One turn: what was said, the calls that the agent made, what it answered.
import { ChevronLeft, ChevronRight, Pencil, RefreshCw } from "lucide-react";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { IconButton } from "../../ui/button.tsx";
import { Code, visibleText } from "../../ui/code.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Time } from "../../ui/time.tsx";
import type { Message } from "./conversation.tsx";
import { Questions } from "./questions.tsx";
import { ToolCallCard } from "./tool-call-card.tsx";
import { type LiveTurn, type Turn, useTurnStream } from "./turn-stream.ts";

export function TurnBlock({
  question,
  answer,
  all,
  runningTurnId,
  onEdit,
}: {
  readonly question: Message;
  readonly answer: Message | null;
  readonly all: readonly Message[];
  readonly runningTurnId: string | null;
  readonly onEdit: (message: Message) => void;
}) {
  const turnId = answer?.turnId ?? question.turnId;
  const isRunning = turnId !== null && turnId === runningTurnId;
  const live = useTurnStream(isRunning ? turnId : null);
  const turn = useData(
    ["turns", turnId],
    (signal) => api.chat.getTurn.query({ turnId: turnId ?? "" }, { signal }),
    { enabled: turnId !== null },
  );
  return (
    <article className="flex flex-col gap-3" aria-label="Turn">
      <Said message={question} all={all}>
        <IconButton label="Edit and send again" onClick={() => onEdit(question)}>
          <Pencil size={13} aria-hidden />
        </IconButton>
      </Said>
      {isRunning ? (
        <Running live={live} turn={turn.data} />
      ) : (
        <Ended turn={turn.data} answer={answer} question={question} all={all} />
      )}
    </article>
  );
}

function Said({
  message,
  all,
  children,
}: {
  readonly message: Message;
  readonly all: readonly Message[];
  readonly children?: ReactNode;
}) {
  return (
    <div className="group flex flex-col items-end gap-1">
      <div className="max-w-[85%] rounded-lg bg-accent-soft px-3 py-2 whitespace-pre-wrap">
        {visibleText(message.text)}
        <Pictures ids={message.assets} />
      </div>
      <div className="flex items-center gap-1 text-xs text-muted">
        <Branches message={message} all={all} />
        <Time at={message.createdAt} />
        {children}
      </div>
    </div>
  );
}

function Pictures({ ids }: { readonly ids: readonly string[] }) {
  if (ids.length === 0) return null;
  return (
    <div className="mt-2 flex flex-wrap gap-2">
      {ids.map((id) => (
        <a key={id} href={`/api/v1/assets/${id}`}>
          <img
            src={`/api/v1/assets/${id}`}
            alt={`File ${id}`}
            className="max-h-48 rounded-md border border-line"
          />
        </a>
      ))}
    </div>
  );
}

const PHASES: Readonly<Record<string, string>> = {
  model_call: "The model is thinking",
  execute: "Running tools",
  discovery: "Looking which tools are allowed",
  budget: "Checking the budget",
};

function Running({ live, turn }: { readonly live: LiveTurn; readonly turn: Turn | undefined }) {
  const isWaiting = live.calls.some(({ status }) => status === "pending");
  return (
    <div className="flex flex-col gap-2" aria-live="polite">
      {live.calls.map((call) => (
        <ToolCallCard key={call.callId} call={call} />
      ))}
      {live.text === "" ? null : <Text text={live.text} />}
      <Questions questions={turn?.questions ?? []} />
      <p className="flex items-center gap-2 text-muted" role="status">
        <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-accent" />
        {isWaiting ? "Waiting for a person" : (PHASES[live.phase] ?? "Working")} …
      </p>
    </div>
  );
}

function Ended({
  turn,
  answer,
  question,
  all,
}: {
  readonly turn: Turn | undefined;
  readonly answer: Message | null;
  readonly question: Message;
  readonly all: readonly Message[];
}) {
  const regenerate = useChange(
    () =>
      api.chat.regenerateAnswer.mutate({
        id: question.sessionId,
        messageId: question.id,
        wait: false,
      }),
    { refreshes: ["sessions", "messages"] },
  );
  return (
    <div className="flex flex-col gap-2">
      {turn?.toolCalls.map((call) => (
        <ToolCallCard key={call.callId} call={{ ...call, approvalId: call.approval?.id ?? null }} />
      ))}
      {answer ? <Text text={answer.text} /> : null}
      {answer ? <Pictures ids={answer.assets} /> : null}
      {turn?.error ? (
        <p role="alert" className="rounded-md bg-deny-soft px-3 py-2 text-deny">
          ✕ {turn.error.message}
          {turn.error.remedy === undefined ? "" : ` – ${turn.error.remedy}`}
        </p>
      ) : null}
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-muted">
        {answer ? <Branches message={answer} all={all} /> : null}
        {turn ? <Usage turn={turn} /> : null}
        {answer ? <Copy text={answer.text} label="Copy the answer" /> : null}
        <IconButton
          label="Answer again"
          disabled={regenerate.isPending}
          onClick={() => regenerate.mutate(undefined)}
        >
          <RefreshCw size={13} aria-hidden />
        </IconButton>
      </div>
    </div>
  );
}

function Usage({ turn }: { readonly turn: Turn }) {
  const { input, output, cost } = turn.usage;
  return (
    <span>
      {turn.model === null ? "" : `${turn.model} · `}
      {(input + output).toLocaleString()} tokens
      {cost > 0 ? ` · $${cost.toFixed(4)}` : ""} ·{" "}
      <a href={`/executions?traceId=${turn.traceId}`}>trace</a>
    </span>
  );
}

/** Text of a model: never markup; blocks of code are set apart. */
function Text({ text }: { readonly text: string }) {
  const parts = text.split(/```[\w-]*\n?/);
  return (
    <div className="flex flex-col gap-2">
      {parts.map((part, at) =>
        at % 2 === 1 ? (
          <Code key={at} text={part} label="code of the answer" />
        ) : part.trim() === "" ? null : (
          <p key={at} className="whitespace-pre-wrap">
            {visibleText(part.trim())}
          </p>
        ),
      )}
    </div>
  );
}

/** Other versions of this message: said or answered instead of it. */
function Branches({
  message,
  all,
}: {
  readonly message: Message;
  readonly all: readonly Message[];
}) {
  const siblings = all.filter(
    (one) => one.parentId === message.parentId && one.role === message.role,
  );
  const at = siblings.findIndex(({ id }) => id === message.id);
  const go = useChange(
    (to: Message) =>
      api.sessions.updateSession.mutate({ id: message.sessionId, headId: newestBelow(to, all).id }),
    { refreshes: ["sessions", "messages"] },
  );
  if (siblings.length < 2) return null;
  const step = (by: number): void => {
    const to = siblings[at + by];
    if (to) go.mutate(to);
  };
  return (
    <span className="flex items-center">
      <IconButton label="Earlier version" disabled={at === 0} onClick={() => step(-1)}>
        <ChevronLeft size={13} aria-hidden />
      </IconButton>
      {at + 1} of {siblings.length}
      <IconButton
        label="Later version"
        disabled={at === siblings.length - 1}
        onClick={() => step(1)}
      >
        <ChevronRight size={13} aria-hidden />
      </IconButton>
    </span>
  );
}

function newestBelow(message: Message, all: readonly Message[]): Message {
  const children = all.filter(({ parentId }) => parentId === message.id);
  const newest = children.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))[0];
  return newest ? newestBelow(newest, all) : message;
}
