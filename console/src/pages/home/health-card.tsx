// Whether the parts answer that every call needs, how much runs, and the servers behind the gate.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { HrefLink } from "../../ui/href-link.tsx";
import { Card } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { duration } from "../../ui/time.tsx";
import { Badge, toneText, type Tone } from "../../ui/verdict.tsx";

type Health = Outputs["health"]["getHealth"];
type Load = NonNullable<Health["load"]>;

/** What the checks are of. */
const PARTS: Readonly<Record<string, string>> = {
  store: "Database",
  relation: "Relationships",
  policy: "Policies",
  state: "Rate limits",
};

const REFRESH_MS = 15_000;

export function HealthCard() {
  const query = useData(["health"], (signal) => api.health.getHealth.query({}, { signal }), {
    refetchMs: REFRESH_MS,
  });
  return (
    <Card
      title="Health"
      actions={
        query.data ? (
          <Badge tone={query.data.ready ? "ok" : "deny"} sign={query.data.ready ? "✓" : "✕"}>
            {query.data.ready ? "ready" : "not ready"}
          </Badge>
        ) : null
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-36" />}>
        {(health) => <HealthList health={health} />}
      </Loaded>
    </Card>
  );
}

function HealthList({ health: { checks, load, version } }: { readonly health: Health }) {
  return (
    <div className="flex flex-col gap-3">
      <ul className="flex flex-col gap-1">
        {checks.map(({ name, ok, ms, reason }) => (
          <State
            key={name}
            name={PARTS[name] ?? name}
            tone={ok ? "ok" : "deny"}
            word={ok ? "answers" : (reason ?? "does not answer")}
          >
            {duration(ms)}
          </State>
        ))}
        {load && !load.sandbox.ready ? (
          <State name="Sandbox" tone="hold" word={load.sandbox.reason ?? "not ready"} />
        ) : null}
      </ul>
      {load ? <LoadList load={load} /> : null}
      <p className="text-[13px] text-muted">Version {version}</p>
    </div>
  );
}

function LoadList({ load }: { readonly load: Load }) {
  const { running, slots, waiting, servers, tools } = load;
  return (
    <ul className="flex flex-col gap-1 border-t border-line pt-3">
      <State
        name="Calls"
        tone={waiting > 0 ? "hold" : "ok"}
        word={`${running} of ${slots} run${waiting > 0 ? `, ${waiting} wait for a slot` : ""}`}
      />
      {servers.map(({ name, up, breaker }) => (
        <State
          key={name}
          name={name}
          tone={up && breaker === "closed" ? "ok" : "hold"}
          word={breaker === "closed" ? (up ? "up" : "down") : BREAKER_WORDS[breaker]}
        >
          <HrefLink href={`/servers/${name}`}>Open</HrefLink>
        </State>
      ))}
      {tools.map(({ name, breaker }) => (
        <State key={name} name={name} tone="hold" word={BREAKER_WORDS[breaker]} />
      ))}
      {servers.length === 0 ? (
        <li className="text-[13px] text-muted">
          No upstream servers yet.{" "}
          <Link to="/servers" className="underline">
            Add one
          </Link>
        </li>
      ) : null}
    </ul>
  );
}

const BREAKER_WORDS: Record<Load["tools"][number]["breaker"], string> = {
  closed: "is called",
  half_open: "is tried again after failures",
  open: "failed again and again: not called for a while",
};

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
  readonly children?: ReactNode;
}) {
  return (
    <li className="flex items-baseline gap-2">
      <span aria-hidden="true" className={toneText[tone]}>
        {SIGNS[tone]}
      </span>
      <span className="shrink-0">{name}</span>
      <span className="min-w-0 text-muted">{word}</span>
      <span className="ml-auto shrink-0 text-[13px] text-muted tabular-nums">{children}</span>
    </li>
  );
}
