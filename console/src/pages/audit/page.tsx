// The ledger: everything that was decided and done, in order, each event chained to the one before.
import { AdminOnly } from "../../app/admin-only.tsx";
import { ListDetail } from "../../ui/list-detail.tsx";
import { Page } from "../../ui/page.tsx";
import { EventDetail } from "./detail.tsx";
import { EventFilters } from "./filters.tsx";
import { EventList } from "./list.tsx";
import { CheckpointButton } from "./checkpoint.tsx";
import { ExportButton } from "./export.tsx";
import { Integrity } from "./integrity.tsx";
import { auditRoute } from "./routes.ts";

export function AuditPage() {
  return (
    <AdminOnly title="Audit">
      <Ledger />
    </AdminOnly>
  );
}

function Ledger() {
  const { seq } = auditRoute.useSearch();
  const navigate = auditRoute.useNavigate();
  return (
    <Page
      wide
      title="Audit"
      lead="Everything that was decided and done, in order. Each event carries the hash of the one before."
      actions={
        <>
          <CheckpointButton />
          <ExportButton />
        </>
      }
    >
      <Integrity />
      <EventFilters />
      <ListDetail
        list={<EventList />}
        title={seq === undefined ? null : `Event ${seq}`}
        detail={seq === undefined ? null : <EventDetail seq={seq} />}
        onClose={() =>
          void navigate({ search: ({ seq: _, with: __, ...old }) => old, replace: true })
        }
      />
    </Page>
  );
}
