// The head of the chain, and whether all of it is as it was written.
import { type ReactNode, useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { Card } from "../../ui/page.tsx";
import { Failed, Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { NOUN } from "./events.ts";

type Verdict = Outputs["audit"]["verifyLedger"];
type Progress = Outputs["audit"]["getVerification"];

const POLL_MS = 400;

export function Integrity() {
  const head = useData(
    [NOUN, "head"],
    (signal) => api.audit.getLedgerHead.query(undefined, { signal }),
    { refetchMs: 15_000 },
  );
  const verify = useChange(() => api.audit.verifyLedger.mutate({}), {
    quiet: true,
    refreshes: [NOUN],
  });
  // One that somebody else began, or that began before the page was opened, shows too.
  const [isWatching, setWatching] = useState(true);
  const progress = useData(
    [NOUN, "verification"],
    async (signal) => {
      const now = await api.audit.getVerification.query(undefined, { signal });
      setWatching(now.state === "running");
      return now;
    },
    { refetchMs: isWatching || verify.isPending ? POLL_MS : 60_000 },
  );
  const isRunning = verify.isPending || progress.data?.state === "running";
  return (
    <Card>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-6 gap-y-2">
          <Loaded query={head} skeleton={<Skeleton className="h-8 w-96 max-w-full" />}>
            {({ seq, hash, at, keyId }) => (
              <dl className="flex min-w-0 flex-wrap items-center gap-x-6 gap-y-1">
                <Fact name="Newest event">
                  {seq.toLocaleString("en")}
                  {at === null ? null : (
                    <span className="ml-1.5 text-muted">
                      <Time at={at} />
                    </span>
                  )}
                </Fact>
                {hash === null ? null : (
                  <Fact name="Head hash">
                    <code title={hash}>{hash.slice(0, 16)}…</code>
                    <Copy text={hash} label="Copy the head hash" />
                  </Fact>
                )}
                <Fact name="Signing key">
                  <code>{keyId}</code>
                </Fact>
              </dl>
            )}
          </Loaded>
          <span className="ml-auto">
            <Button look="primary" busy={isRunning} onClick={() => verify.mutate(undefined)}>
              Verify the ledger
            </Button>
          </span>
        </div>
        {isRunning ? <Running progress={progress.data} /> : null}
        {verify.isError && !isRunning ? <Failed cause={verify.error} /> : null}
        {verify.data && !isRunning ? <Result verdict={verify.data} /> : null}
        {!verify.data && !verify.isError && !isRunning ? <Last progress={progress.data} /> : null}
      </div>
    </Card>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-center gap-2">
      <dt className="text-muted">{name}</dt>
      <dd className="flex items-center">{children}</dd>
    </div>
  );
}

function Running({ progress }: { readonly progress: Progress | undefined }) {
  const { seq = 0, head = 0, state } = progress ?? {};
  const isRunning = state === "running" && head > 0;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <progress
        aria-label="Progress of the verification"
        className="h-2 w-64 max-w-full accent-(--accent)"
        {...(isRunning ? { max: head, value: seq } : {})}
      />
      <span role="status" className="text-muted">
        {!isRunning
          ? "Reading the ledger …"
          : seq >= head
            ? "Comparing history with the ledger …"
            : `${seq.toLocaleString("en")} of ${head.toLocaleString("en")} events read`}
      </span>
    </div>
  );
}

function Result({ verdict }: { readonly verdict: Verdict }) {
  const { ok, events, fault, history, from, to, chains, checkpoints, unchained, segments } =
    verdict;
  if (!ok)
    return (
      <div role="alert" className="rounded-md border border-deny/50 bg-deny-soft p-3">
        <p className="font-medium text-deny">
          ✕{" "}
          {fault?.seq === null || fault?.seq === undefined
            ? "The ledger is not as it was written"
            : `The ledger is broken at event ${fault.seq.toLocaleString("en")}`}
        </p>
        <p>{fault?.message}</p>
        <p className="text-muted">{events.toLocaleString("en")} events were read before that.</p>
      </div>
    );
  const more = [
    from === undefined || to === undefined
      ? null
      : `numbers ${from.toLocaleString("en")} to ${to.toLocaleString("en")}`,
    chains === undefined ? null : `${chains} ${chains === 1 ? "chain" : "chains"}`,
    checkpoints ? `${checkpoints} checkpoints hold` : null,
    segments ? `${segments} archived stretches` : null,
    unchained ? `${unchained.toLocaleString("en")} older than the chain, not proven` : null,
  ].filter((part) => part !== null);
  return (
    <div role="status" className="rounded-md border border-ok/40 bg-ok-soft p-3">
      <p className="font-medium text-ok">
        ✓ {events.toLocaleString("en")} events, chain unbroken
        {history?.agrees ? ", history agrees" : ""}
      </p>
      <p className="text-text">{more.join(" · ")}</p>
    </div>
  );
}

function Last({ progress }: { readonly progress: Progress | undefined }) {
  if (!progress || progress.endedAt === null) return null;
  const { state, ok, fault, endedAt, seq } = progress;
  return (
    <p className="text-muted">
      Last verified <Time at={endedAt} />:{" "}
      {state === "failed" ? (
        <span className="text-deny">✕ it could not be read to its end</span>
      ) : ok ? (
        <span className="text-ok">✓ {seq.toLocaleString("en")} events, unbroken</span>
      ) : (
        <span className="text-deny">✕ {fault ?? "not as it was written"}</span>
      )}
    </p>
  );
}
