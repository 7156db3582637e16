// Who may do what to which thing: what is written down, what follows from it, and why.
import { lazy, Suspense } from "react";
import { AdminOnly } from "../../app/admin-only.tsx";
import { Page } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { AddButton } from "./add.tsx";
import { CheckTab } from "./check.tsx";
import { ExportButton } from "./export.tsx";
import { ImportButton } from "./import.tsx";
import { RelationshipList } from "./list.tsx";
import { LookupTab } from "./lookup.tsx";
import { relationshipsRoute, type TabId } from "./routes.ts";
import { SchemaTab } from "./schema.tsx";
import { Suggestions } from "./suggestions.tsx";

const Graph = lazy(async () => ({ default: (await import("./graph/graph-tab.tsx")).GraphTab }));

export function RelationshipsPage() {
  return (
    <AdminOnly title="Relationships">
      <Relationships />
    </AdminOnly>
  );
}

function Relationships() {
  const { tab = "list" } = relationshipsRoute.useSearch();
  const navigate = relationshipsRoute.useNavigate();
  return (
    <Page
      wide
      title="Relationships"
      lead="Who may do what to which thing. Nothing written means no: the tool does not exist for that caller."
      actions={
        <>
          <ImportButton />
          <ExportButton />
          <AddButton />
        </>
      }
    >
      <Suggestions />
      <Tabs
        label="Views of the relationships"
        value={tab}
        onChange={(id) => void navigate({ search: (old) => ({ ...old, tab: id as TabId }) })}
        tabs={[
          { id: "list", label: "Written down", content: <RelationshipList /> },
          { id: "check", label: "Check", content: <CheckTab /> },
          { id: "lookup", label: "Look up", content: <LookupTab /> },
          {
            id: "graph",
            label: "Graph",
            content: (
              <Suspense fallback={<Skeleton className="h-[60vh] w-full" />}>
                <Graph />
              </Suspense>
            ),
          },
          { id: "schema", label: "Schema", content: <SchemaTab /> },
        ]}
      />
    </Page>
  );
}
