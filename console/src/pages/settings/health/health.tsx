// How the server is: its parts, its load, and what the doctor found.
import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useIsAdmin } from "../../../app/session.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Card } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { duration } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { Doctor } from "./doctor.tsx";
import { Load } from "./load.tsx";

type Check = Outputs["health"]["getHealth"]["checks"][number];

export function Health() {
  const isAdmin = useIsAdmin();
  const query = useData(["health"], (signal) => api.health.getHealth.query(undefined, { signal }), {
    refetchMs: 10_000,
  });
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Parts that a call needs" flush>
        <Loaded query={query} skeleton={<Skeleton className="h-48 w-full" />}>
          {({ checks }) => (
            <ul>
              {checks.map((check) => (
                <Part key={check.name} check={check} />
              ))}
            </ul>
          )}
        </Loaded>
      </Card>
      {isAdmin ? (
        <Card title="Load">
          <Loaded query={query} skeleton={<Skeleton className="h-48 w-full" />}>
            {({ load }) =>
              load ? <Load load={load} /> : <p>Not known while the store does not answer.</p>
            }
          </Loaded>
        </Card>
      ) : null}
      {isAdmin ? <Doctor /> : null}
    </div>
  );
}

function Part({ check: { name, ok, ms, reason } }: { readonly check: Check }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 px-4 py-2 last:border-0">
      <span className="flex flex-wrap items-center gap-2">
        {ok ? (
          <Badge tone="ok" sign="✓">
            answers
          </Badge>
        ) : (
          <Badge tone="deny" sign="✕">
            does not answer
          </Badge>
        )}
        {name}
        {reason === undefined ? null : <span className="text-muted">{visibleText(reason)}</span>}
      </span>
      <span className="text-muted tabular-nums">{duration(ms)}</span>
    </li>
  );
}
