import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { ButtonLink } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

export function SessionList({
  current,
  onGo,
}: {
  readonly current: string | undefined;
  readonly onGo: () => void;
}) {
  const [search, setSearch] = useState("");
  const sessions = useData(
    ["sessions", "list", search],
    (signal) => api.sessions.listSessions.query({ search, includeEnded: true }, { signal }),
    { keepPrevious: true },
  );
  return (
    <nav aria-label="Sessions" className="flex h-full flex-col gap-2 p-2">
      <ButtonLink to="/chat" onClick={onGo}>
        <Plus size={14} aria-hidden /> New session
      </ButtonLink>
      <TextField
        label="Search sessions"
        hideLabel
        type="search"
        placeholder="Search sessions"
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Loaded query={sessions} skeleton={<Skeleton className="h-40 w-full" />}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty
                title={search === "" ? "No sessions yet" : "No session holds these words"}
                text={search === "" ? "Your conversations appear here." : undefined}
              />
            ) : (
              <ul className="flex flex-col gap-0.5">
                {items.map((session) => (
                  <li key={session.id}>
                    <Link
                      to="/chat/$sessionId"
                      params={{ sessionId: session.id }}
                      onClick={onGo}
                      aria-current={session.id === current ? "page" : undefined}
                      className="block rounded-md px-2.5 py-1.5 text-text no-underline hover:bg-raised aria-[current=page]:bg-accent-soft"
                    >
                      <span className="block truncate">{session.title || "Untitled"}</span>
                      <span className="flex gap-2 text-xs text-muted">
                        <Time at={session.lastSeenAt} />
                        {session.endedAt === null ? null : <span>ended</span>}
                        {session.turnId === null ? null : <span>working</span>}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </div>
    </nav>
  );
}
