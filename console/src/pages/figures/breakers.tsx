// What is not called for a while, since it failed again and again; and what runs and waits now.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Card, Facts } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Badge } from "../../ui/verdict.tsx";

export function Breakers() {
  const health = useData(
    ["health"],
    (signal) => api.health.getHealth.query(undefined, { signal }),
    {
      refetchMs: 10_000,
    },
  );
  return (
    <Card title="Now">
      <Loaded query={health}>
        {({ load, checks }) => {
          const away = checks.filter(({ ok }) => !ok);
          const open = [...(load?.servers ?? []), ...(load?.tools ?? [])].filter(
            ({ breaker }) => breaker !== "closed",
          );
          return (
            <div className="flex flex-col gap-3">
              {load ? (
                <Facts
                  rows={[
                    ["Running", `${load.running} of ${load.slots} slots`],
                    ["Waiting for a slot", load.waiting],
                    ["Waiting for a person", load.approvalsPending],
                    ["Events to be sent on", load.outboxPending],
                    [
                      "Upstream servers",
                      `${load.servers.filter(({ up }) => up).length} of ${load.servers.length} up`,
                    ],
                  ]}
                />
              ) : null}
              <section aria-label="Breakers" className="flex flex-wrap items-center gap-2">
                <h3>Breakers</h3>
                {open.length === 0 ? (
                  <Badge tone="ok" sign="✓">
                    all closed
                  </Badge>
                ) : (
                  open.map(({ name, breaker }) => (
                    <Badge key={name} tone={breaker === "open" ? "deny" : "hold"} sign="⛔">
                      {name} {breaker.replace("_", " ")}
                    </Badge>
                  ))
                )}
                {away.map(({ name, reason }) => (
                  <Badge key={name} tone="deny" sign="✕">
                    {name}: {reason ?? "does not answer"}
                  </Badge>
                ))}
              </section>
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}
