// Title, whose rights count, what the agent has read from outside, and what can be done with the session.
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, ShieldAlert } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Menu } from "../../ui/menu.tsx";
import { notify } from "../../ui/toast.tsx";
import { Badge } from "../../ui/verdict.tsx";
import type { Session } from "./conversation.tsx";

const REFRESHES = ["sessions", "messages"];

export function SessionHeader({ session }: { readonly session: Session }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<"rename" | "remove" | null>(null);
  const end = useChange(() => api.sessions.endSession.mutate({ id: session.id }), {
    refreshes: REFRESHES,
    onDone: () => notify("Session ended", { undo: () => reopen.mutate(undefined) }),
  });
  const reopen = useChange(
    (_: undefined) => api.sessions.reopenSession.mutate({ id: session.id }),
    {
      refreshes: REFRESHES,
    },
  );
  const remove = useChange(() => api.sessions.removeSession.mutate({ id: session.id }), {
    refreshes: REFRESHES,
    onDone: () => void navigate({ to: "/chat" }),
  });
  const download = (format: "markdown" | "json"): void =>
    window.location.assign(`/api/v1/sessions/${session.id}/export?format=${format}`);
  const isEnded = session.endedAt !== null;
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-surface px-4 py-2">
      <h1 className="min-w-0 truncate text-[15px]!">{session.title || "Untitled"}</h1>
      <Badge>capsule {session.capsuleId}</Badge>
      {session.personaId === null ? null : <Badge>persona {session.personaId}</Badge>}
      {isEnded ? <Badge tone="hold">ended</Badge> : null}
      <Taint session={session} />
      <span className="ml-auto flex items-center gap-1">
        {isEnded ? (
          <Button small onClick={() => reopen.mutate(undefined)} busy={reopen.isPending}>
            Open again
          </Button>
        ) : null}
        <Menu
          trigger={
            <IconButton label="Session actions">
              <Ellipsis size={16} aria-hidden />
            </IconButton>
          }
          items={[
            { label: "Rename", onSelect: () => setOpen("rename") },
            { label: "Export as Markdown", onSelect: () => download("markdown") },
            { label: "Export as JSON", onSelect: () => download("json") },
            { label: "End", onSelect: () => end.mutate(undefined), disabled: isEnded },
            { label: "Remove …", onSelect: () => setOpen("remove"), danger: true },
          ]}
        />
      </span>
      {open === "rename" ? <Rename session={session} onClose={() => setOpen(null)} /> : null}
      <Dialog open={open === "remove"} onClose={() => setOpen(null)} title="Remove this session?">
        <p className="text-muted">
          Its conversation is removed and cannot be brought back. The ledger keeps what it recorded
          of the calls.
        </p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setOpen(null)}>Keep it</Button>
          <Button look="danger" busy={remove.isPending} onClick={() => remove.mutate(undefined)}>
            Remove
          </Button>
        </div>
      </Dialog>
    </header>
  );
}

function Taint({ session }: { readonly session: Session }) {
  const [isOpen, setOpen] = useState(false);
  if (session.taint.length === 0) return null;
  return (
    <>
      <Button small look="quiet" className="text-hold!" onClick={() => setOpen(true)}>
        <ShieldAlert size={14} aria-hidden /> {session.taint.length} source
        {session.taint.length === 1 ? "" : "s"} from outside
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Content from outside"
        lead="The agent has read it, so text of others may steer what it asks for. Calls that write or send ask a person first."
      >
        <ul className="flex flex-col gap-1">
          {session.taint.map((source) => (
            <li key={`${source.executionId}${source.from}`}>
              <a href={`/executions/${source.executionId}`}>{source.from}</a>{" "}
              <span className="text-muted">
                by <code>{source.tool}</code>
              </span>
            </li>
          ))}
        </ul>
      </Dialog>
    </>
  );
}

function Rename({ session, onClose }: { readonly session: Session; readonly onClose: () => void }) {
  const [title, setTitle] = useState(session.title);
  const rename = useChange(() => api.sessions.updateSession.mutate({ id: session.id, title }), {
    refreshes: REFRESHES,
    onDone: onClose,
  });
  return (
    <Dialog open onClose={onClose} title="Rename the session">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          rename.mutate(undefined);
        }}
      >
        <TextField
          label="Title"
          required
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <div className="flex justify-end">
          <Button type="submit" look="primary" busy={rename.isPending}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
