// One session: its messages by turns, what the running turn does, and the field to write in.
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { api, type Inputs, type Outputs } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { Empty, Failed, Loaded, Skeleton } from "../../ui/states.tsx";
import { Composer } from "./composer.tsx";
import { SessionHeader } from "./session-header.tsx";
import { TurnBlock } from "./turn-block.tsx";

export type Session = Outputs["sessions"]["getSession"];
export type Message = Outputs["sessions"]["listMessages"]["items"][number];
export type SendInput = Inputs["chat"]["sendMessage"];

export interface MessageTurn {
  readonly question: Message;
  readonly answer: Message | null;
}

export function Conversation({ sessionId }: { readonly sessionId: string | undefined }) {
  const navigate = useNavigate();
  const [editing, setEditing] = useState<Message | null>(null);
  const session = useData(
    ["sessions", "one", sessionId],
    (signal) => api.sessions.getSession.query({ id: sessionId ?? "" }, { signal }),
    { enabled: sessionId !== undefined, refetchMs: 10_000 },
  );
  const messages = useData(
    ["messages", sessionId],
    (signal) =>
      api.sessions.listMessages.query({ id: sessionId ?? "", branches: true }, { signal }),
    { enabled: sessionId !== undefined },
  );
  const send = useChange(
    (input: SendInput) => api.chat.sendMessage.mutate({ ...input, wait: false }),
    {
      refreshes: ["sessions", "messages"],
      quiet: true,
      onDone: (turn) => {
        setEditing(null);
        if (turn.sessionId !== sessionId)
          void navigate({ to: "/chat/$sessionId", params: { sessionId: turn.sessionId } });
      },
    },
  );
  const turnId = session.data?.turnId ?? null;
  const all = messages.data?.items;
  const shown = useMemo(
    () => turnsOf(all ?? [], session.data?.headId ?? null),
    [all, session.data?.headId],
  );
  const end = useRef<HTMLDivElement>(null);
  const count = shown.length;
  useEffect(() => {
    // In newer browsers it answers with a promise, which an effect must not return.
    end.current?.scrollIntoView({ block: "end" });
  }, [count, turnId]);
  return (
    <>
      {session.data ? <SessionHeader session={session.data} /> : null}
      <div
        className="min-h-0 flex-1 overflow-y-auto"
        role="log"
        aria-label="Conversation"
        tabIndex={0}
      >
        <div className="mx-auto flex max-w-3xl flex-col gap-6 p-4">
          {sessionId === undefined ? (
            <Empty
              title="Talk to an agent"
              text="It calls tools through the same gate as everybody, and asks you where a person must agree. Begin with / to call a tool by hand, with or without a model."
              command="ostiary chat"
            />
          ) : (
            <Loaded query={messages} skeleton={<Skeleton className="h-64 w-full" />}>
              {() =>
                shown.map(({ question, answer }) => (
                  <TurnBlock
                    key={question.id}
                    question={question}
                    answer={answer}
                    all={all ?? []}
                    runningTurnId={turnId}
                    onEdit={setEditing}
                  />
                ))
              }
            </Loaded>
          )}
          {session.isError ? (
            <Failed cause={session.error} retry={() => void session.refetch()} />
          ) : null}
          {send.isError ? <Failed cause={send.error} /> : null}
          <div ref={end} />
        </div>
      </div>
      <Composer
        session={session.data}
        isRunning={turnId !== null || send.isPending}
        editing={editing}
        onCancelEdit={() => setEditing(null)}
        onSend={(input) =>
          send.mutateAsync({
            ...input,
            ...(sessionId === undefined ? {} : { sessionId }),
            ...(editing ? { editOf: editing.id } : {}),
          })
        }
      />
    </>
  );
}

/** The branch that ends at the head, as questions with their answers. */
function turnsOf(all: readonly Message[], headId: string | null): MessageTurn[] {
  const byId = new Map(all.map((message) => [message.id, message]));
  const branch: Message[] = [];
  for (let at = headId === null ? undefined : byId.get(headId); at;) {
    branch.unshift(at);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  return branch.flatMap((message, at) => {
    if (message.role !== "user") return [];
    const next = branch[at + 1];
    return [{ question: message, answer: next?.role === "assistant" ? next : null }];
  });
}
