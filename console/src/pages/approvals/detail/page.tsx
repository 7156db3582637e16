// One approval: what the call would do, how it differs from the last one, and the decision.
import { useLocation, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useWaiting } from "../../../app/approvals-badge.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { parseArguments } from "../../../ui/arguments/parse.ts";
import { ButtonLink } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Page } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Countdown } from "../../../ui/time.tsx";
import { type Approval, argumentsOf, wishOf } from "../approval.ts";
import { RiskBadge } from "../state.tsx";
import { ArgumentsCard } from "./arguments-card.tsx";
import { DecisionBar } from "./decision-bar.tsx";
import { EffectCard } from "./effect-card.tsx";
import { FactsCard } from "./facts-card.tsx";
import { OutcomeCard } from "./outcome-card.tsx";
import { TaintNote } from "./taint-note.tsx";

/** How often it is looked whether a call that was agreed to has ended; events of the stream are sooner. */
const LOOK_MS = 2_000;

export function ApprovalPage() {
  const { id } = useParams({ from: "/approvals/$id" });
  const query = useData(["approvals", "one", id], (signal) =>
    api.approvals.getApproval.query({ id }, { signal }),
  );
  const runs = query.data?.outcome !== undefined && query.data.outcome.endTime === undefined;
  useData(
    ["approvals", "one", id],
    (signal) => api.approvals.getApproval.query({ id }, { signal }),
    { enabled: runs, refetchMs: LOOK_MS },
  );
  if (query.data) return <Shown key={id} row={query.data} />;
  return (
    <Page title="Approval" wide lead={<Back />}>
      <Loaded query={query} skeleton={<Skeleton className="h-[60vh] w-full" />}>
        {() => null}
      </Loaded>
    </Page>
  );
}

const Back = () => (
  <ButtonLink to="/approvals" look="quiet" small className="-ml-2">
    ← All approvals
  </ButtonLink>
);

/** Where the card of facts stands below the effect, risk and time left are here too. */
const Lead = ({ row }: { readonly row: Approval }) => (
  <span className="flex flex-wrap items-center gap-x-3">
    <Back />
    <span className="flex flex-wrap items-center gap-x-3 text-[13px] lg:hidden">
      <RiskBadge risk={row.risk} />
      {row.state === "pending" ? (
        <span className="text-hold">
          <Countdown until={row.expiresAt} />
        </span>
      ) : null}
    </span>
  </span>
);

function Shown({ row }: { readonly row: Approval }) {
  const hash = useLocation({ select: (location) => location.hash });
  const [edited, setEdited] = useState<string | null>(
    hash === "edit" && row.mayDecide ? JSON.stringify(argumentsOf(row), null, 2) : null,
  );
  const isOpen = row.state === "pending";
  const change = edited === null ? undefined : parseArguments(edited).value;
  const [previewed, setPreviewed] = useState<Record<string, unknown> | undefined>(undefined);
  const preview = useData(
    ["approval-preview", row.id, row.version, edited === null ? undefined : previewed],
    (signal) =>
      api.approvals.previewApproval.mutate(
        {
          id: row.id,
          version: row.version,
          ...(edited !== null && previewed ? { arguments: previewed } : {}),
        },
        { signal },
      ),
    // Whoever asks could read through it what their call may not read yet.
    { enabled: isOpen && row.mayDecide, keepPrevious: true },
  );
  const effect = preview.data?.effect;
  const { verb, object } = wishOf(row.toolName, change ?? argumentsOf(row), effect);
  useNeighbours(row.id);
  return (
    <Page
      title={visibleText(`${row.requester} wants to ${verb} ${object}`)}
      wide
      lead={<Lead row={row} />}
    >
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-4">
          {row.outcome ? <OutcomeCard row={row} outcome={row.outcome} /> : null}
          <TaintNote row={row} />
          {isOpen && row.mayDecide ? <EffectCard query={preview} isEdit={edited !== null} /> : null}
          <ArgumentsCard
            row={row}
            edited={edited}
            onEdit={setEdited}
            onPreview={() => setPreviewed(change)}
            isPreviewed={JSON.stringify(previewed) === JSON.stringify(change)}
          />
        </div>
        <FactsCard row={row} />
      </div>
      {isOpen ? (
        <DecisionBar
          row={row}
          edited={edited}
          opens={hash === "approve" || hash === "deny" ? hash : null}
          onEdit={() =>
            setEdited(edited === null ? JSON.stringify(argumentsOf(row), null, 2) : null)
          }
        />
      ) : null}
    </Page>
  );
}

/** j and k go through what waits. */
function useNeighbours(id: string): void {
  const navigate = useNavigate();
  const ids = useWaiting().data?.items.map((item) => item.id) ?? [];
  const at = ids.indexOf(id);
  const go = (to: string | undefined): void => {
    if (to !== undefined) void navigate({ to: "/approvals/$id", params: { id: to } });
  };
  useShortcut("j", "Next approval", () => go(ids[at + 1]));
  useShortcut("k", "Previous approval", () => go(at > 0 ? ids[at - 1] : undefined));
  useShortcut("Escape", "Back to all approvals", () => void navigate({ to: "/approvals" }));
}
