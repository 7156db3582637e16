// Talking to an agent: sessions on the left, the conversation beside them.
import { useParams } from "@tanstack/react-router";
import { PanelLeft } from "lucide-react";
import { useEffect, useState } from "react";
import { IconButton } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Conversation } from "./conversation.tsx";
import { SessionList } from "./session-list.tsx";

export function ChatPage() {
  const { sessionId } = useParams({ strict: false });
  const [isListOpen, setListOpen] = useState(false);
  useEffect(() => {
    document.title = "Chat · Ostiary";
  }, []);
  return (
    <div className="relative flex h-full min-h-0">
      {sessionId === undefined ? <h1 className="sr-only">Chat</h1> : null}
      <div
        className={cx(
          "w-64 shrink-0 border-r border-line bg-surface md:block",
          isListOpen ? "absolute inset-y-0 left-0 z-20 shadow-lg md:static" : "hidden",
        )}
      >
        <SessionList current={sessionId} onGo={() => setListOpen(false)} />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <div className="flex items-center gap-2 border-b border-line px-3 py-1.5 md:hidden">
          <IconButton
            label="Sessions"
            aria-expanded={isListOpen}
            onClick={() => setListOpen(!isListOpen)}
          >
            <PanelLeft size={16} aria-hidden />
          </IconButton>
          <span className="text-muted">Sessions</span>
        </div>
        <Conversation key={sessionId ?? "new"} sessionId={sessionId} />
      </div>
    </div>
  );
}
