// Whether the parts answer that every call needs, and the servers behind the gate.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { requestJson } from "../../api/request.ts";
import { useIsAdmin } from "../../app/session.tsx";
import { Card } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { PathLink } from "../../ui/path-link.tsx";
import { duration } from "../../ui/time.tsx";
import { toneText, type Tone } from "../../ui/verdict.tsx";

interface Readiness {
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly ms: number }[];
}

/** What the checks are of. */
const PARTS: Readonly<Record<string, string>> = {
  store: "Database",
  relation: "Relationships",
  policy: "Policies",
  state: "Rate limits",
};

const REFRESH_MS = 30_000;

export function HealthCard() {
  const isAdmin = useIsAdmin();
  const query = useData(["health"], (signal) => requestJson<Readiness>("/readyz", { signal }), {
    refetchMs: REFRESH_MS,
  });
  return (
    <Card title="Health">
      <Loaded query={query} skeleton={<Skeleton className="h-28" />}>
        {({ checks }) => (
          <ul className="flex flex-col gap-1">
            {checks.map(({ name, ok, ms }) => (
              <State
                key={name}
                name={PARTS[name] ?? name}
                tone={ok ? "ok" : "deny"}
                word={ok ? "answers" : "does not answer"}
              >
                {duration(ms)}
              </State>
            ))}
          </ul>
        )}
      </Loaded>
      {isAdmin ? <Servers /> : null}
    </Card>
  );
}

function Servers() {
  const query = useData(["servers"], (signal) => api.servers.listServers.query({}, { signal }), {
    refetchMs: REFRESH_MS,
  });
  return (
    <div className="mt-3 border-t border-line pt-3">
      <Loaded query={query} skeleton={<Skeleton className="h-8" />}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-[13px] text-muted">
              No upstream servers yet. <Link to="/servers">Add one</Link>
            </p>
          ) : (
            <ul className="flex flex-col gap-1">
              {items.map(({ name, enabled, health }) => (
                <State
                  key={name}
                  name={name}
                  tone={!enabled ? "plain" : health?.status === "up" ? "ok" : "hold"}
                  word={enabled ? (health?.status ?? "unknown").replace("_", " ") : "off"}
                >
                  <PathLink to={`/servers/${name}`}>Open</PathLink>
                </State>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

const SIGNS: Record<Tone, string> = { ok: "✓", hold: "!", deny: "✕", info: "▶", plain: "·" };

function State({
  name,
  tone,
  word,
  children,
}: {
  readonly name: string;
  readonly tone: Tone;
  readonly word: string;
  readonly children: ReactNode;
}) {
  return (
    <li className="flex items-baseline gap-2">
      <span aria-hidden="true" className={toneText[tone]}>
        {SIGNS[tone]}
      </span>
      <span className="min-w-0 truncate">{name}</span>
      <span className="text-muted">{word}</span>
      <span className="ml-auto text-[13px] text-muted tabular-nums">{children}</span>
    </li>
  );
}
