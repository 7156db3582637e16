// What matters now; on a new installation, how to begin.
import { useState } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { Page } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Budgets } from "./budgets.tsx";
import { ConnectCard } from "./connect-card.tsx";
import { DoctorCard } from "./doctor-card.tsx";
import { HealthCard } from "./health-card.tsx";
import { LastExecutions, useLastExecutions } from "./last-executions.tsx";
import { TryIt } from "./try-it.tsx";
import { WaitingApprovals } from "./waiting-approvals.tsx";

export function HomePage() {
  const isAdmin = useIsAdmin();
  const last = useLastExecutions();
  // Said once: the first call must not take the card away from under whoever reads it.
  const [isNew, setNew] = useState<boolean | null>(null);
  if (isNew === null && last.data) setNew(last.data.totalCount === 0);
  if (isNew === null && !last.isError)
    return (
      <Page title="Home">
        <Skeleton className="h-96 w-full" />
      </Page>
    );
  const connect = <ConnectCard startsOpen={isNew === true} />;
  return (
    <Page
      title="Home"
      lead={
        isNew
          ? "Nothing has been called yet. Connect an AI client, or try what the gate does."
          : "What waits for you, what was called last, and how this server is doing."
      }
    >
      {isNew ? connect : null}
      {isNew ? <TryIt /> : null}
      <WaitingApprovals />
      <div className="grid min-w-0 gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-4">
          <LastExecutions query={last} />
          {isNew ? null : <TryIt />}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <HealthCard />
          <Budgets />
          {isAdmin ? <DoctorCard /> : null}
        </div>
      </div>
      {isNew ? null : connect}
    </Page>
  );
}
