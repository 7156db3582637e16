// The events of one execution in the ledger, each with the hash that chains it to the one before.
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Json } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Empty, Failed, Loaded, Skeleton } from "../../../ui/states.tsx";
import { exactTime } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";

type LedgerEvent = Outputs["audit"]["searchEvents"]["events"][number];

export function LedgerTab({ executionId }: { readonly executionId: string }) {
  const query = useData(["executions", executionId, "ledger"], (signal) =>
    api.audit.searchEvents.query(
      { execution: executionId, order: "oldest", limit: 100 },
      { signal },
    ),
  );
  return (
    <div className="flex flex-col gap-3">
      <Loaded query={query} skeleton={<Skeleton className="h-40 w-full" />}>
        {({ events }) =>
          events.length === 0 ? (
            <Empty title="No events here" text="They may lie in archived files by now." />
          ) : (
            <ol className="flex flex-col gap-2">
              {events.map((event) => (
                <Event key={event.seq} event={event} />
              ))}
            </ol>
          )
        }
      </Loaded>
      <Verify />
    </div>
  );
}

function Event({ event }: { readonly event: LedgerEvent }) {
  const { seq, at, action, actor, hash, prevHash, body } = event;
  return (
    <li className="rounded-md border border-line p-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge>#{seq}</Badge>
        <strong>{action}</strong>
        <span>{actor}</span>
        <span className="text-muted">{exactTime(at)}</span>
      </p>
      <Hash name="hash" value={hash} />
      <Hash name="before" value={prevHash} />
      <details>
        <summary className="text-muted">What it says</summary>
        <Json value={body} label={`body of event ${seq}`} />
      </details>
    </li>
  );
}

function Hash({ name, value }: { readonly name: string; readonly value: string | null }) {
  if (value === null) return null;
  return (
    <p className="flex items-center gap-1 text-[13px]">
      <span className="w-12 shrink-0 text-muted">{name}</span>
      <code className="truncate">{value}</code>
      <Copy text={value} label={`Copy the ${name === "hash" ? "hash" : "hash before"}`} />
    </p>
  );
}

/** A chain proves one event only together with all others. */
function Verify() {
  const verify = useChange(() => api.audit.verifyLedger.mutate({}), { quiet: true });
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button busy={verify.isPending} onClick={() => verify.mutate(undefined)}>
          Verify the whole ledger
        </Button>
        {verify.data ? <VerifyResult result={verify.data} /> : null}
      </div>
      {verify.isError ? <Failed cause={verify.error} /> : null}
    </div>
  );
}

function VerifyResult({ result }: { readonly result: Outputs["audit"]["verifyLedger"] }) {
  const { ok, events, fault } = result;
  return (
    <span role="status">
      {ok ? (
        <Badge tone="ok" sign="✓">
          {events.toLocaleString()} events, chain unbroken
        </Badge>
      ) : (
        <Badge tone="deny" sign="✕">
          {fault?.message ?? "history does not agree with the ledger"}
        </Badge>
      )}
    </span>
  );
}
