// A version on trial: where it disagreed with the one in force about real calls.
import { api, type Outputs } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { HrefLink } from "../../ui/href-link.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { notify } from "../../ui/toast.tsx";
import { VerdictBadge } from "../../ui/verdict.tsx";
import type { GovernedTexts } from "./kinds.ts";

/** So many of the newest calls are looked through. */
const PAGES = 3;
const PAGE = 100;

type Call = Outputs["tools"]["getToolHistory"]["executions"][number];

export function Trial({ texts }: { readonly texts: GovernedTexts }) {
  const versions = useData([texts.noun, "versions"], (signal) =>
    texts.list({ limit: 100 }, signal),
  );
  return (
    <Loaded query={versions}>
      {({ items }) => {
        const trial = items.find(({ state }) => state === "shadow");
        if (!trial)
          return (
            <Empty
              title="Nothing is on trial"
              text="Publish a version on trial: it is asked beside the one in force, decides nothing, and where the two disagree appears here."
              command={`${texts.command} publish ./policies --shadow`}
            />
          );
        return <Running texts={texts} version={trial.version} since={trial.enforcedAt} />;
      }}
    </Loaded>
  );
}

function Running({
  texts,
  version,
  since,
}: {
  readonly texts: GovernedTexts;
  readonly version: number;
  readonly since: string | null;
}) {
  const calls = useData(["executions", "trial", version], (signal) => recentCalls(since, signal), {
    refetchMs: 30_000,
  });
  const end = useChange(() => texts.endTrial(), {
    refreshes: [texts.noun],
    onDone: () =>
      notify(`The trial of version ${version} has ended`, { undo: () => again.mutate(undefined) }),
  });
  const again = useChange(() => texts.publish(version, "shadow"), { refreshes: [texts.noun] });
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2>Version {version} is on trial</h2>
        <ConfirmButton
          small
          label="End the trial"
          question={`End the trial of version ${version}?`}
          explain="It is not asked any more. The version stays, and can be put on trial again."
          confirm="End the trial"
          danger={false}
          busy={end.isPending}
          onConfirm={() => end.mutate(undefined)}
        />
      </div>
      <Loaded query={calls}>{(all) => <Disagreements calls={all} version={version} />}</Loaded>
    </div>
  );
}

async function recentCalls(since: string | null, signal: AbortSignal): Promise<Call[]> {
  const calls: Call[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { executions, next } = await api.tools.getToolHistory.query(
      {
        userId: "*",
        limit: PAGE,
        ...(since === null ? {} : { startDate: since }),
        ...(after === undefined ? {} : { after }),
      },
      { signal },
    );
    calls.push(...executions);
    if (next === null) break;
    after = next;
  }
  return calls;
}

function Disagreements({
  calls,
  version,
}: {
  readonly calls: readonly Call[];
  readonly version: number;
}) {
  const found = calls.flatMap((call) => {
    const gate = call.gates?.find(({ shadow }) => shadow?.version === String(version));
    return gate?.shadow ? [{ call, gate, shadow: gate.shadow }] : [];
  });
  if (calls.length === 0)
    return (
      <Empty
        title="No call since it is on trial"
        text="What it would say appears with the calls."
      />
    );
  return (
    <>
      <p role="status" className={found.length === 0 ? "text-ok" : "text-hold"}>
        It disagrees about {found.length} of the last {calls.length}{" "}
        {calls.length === 1 ? "call" : "calls"}
      </p>
      <ul aria-label="Disagreements" className="flex flex-col gap-2">
        {found.map(({ call, gate, shadow }) => (
          <li key={call.id} className="rounded-md border border-line bg-surface p-3">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <VerdictBadge verdict={gate.verdict} />
              <span aria-hidden="true">→</span>
              <span className="sr-only">the trial says</span>
              <VerdictBadge verdict={shadow.verdict} />
              <code>{call.toolName}</code>
              <span className="text-muted">
                {call.userId}, <Time at={call.startTime} />
              </span>
              <span className="ml-auto">
                <HrefLink href={`/explain?execution=${call.id}`}>Explain</HrefLink>
              </span>
            </div>
            {shadow.reason === "" ? null : <p className="text-muted">{shadow.reason}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}
