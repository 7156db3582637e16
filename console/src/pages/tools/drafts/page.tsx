// Tools that agents and people drafted: those that wait, and the version that is reviewed.
import { getRouteApi, Link } from "@tanstack/react-router";
import { AdminOnly } from "../../../app/admin-only.tsx";
import { Page } from "../../../ui/page.tsx";
import { ToolsTabs } from "../tools-tabs.tsx";
import { DraftList } from "./list.tsx";
import { DraftReview } from "./review.tsx";

const route = getRouteApi("/tools/drafts");

export function DraftsPage() {
  const { draft, state } = route.useSearch();
  return (
    <AdminOnly title="Drafted tools">
      {draft === undefined ? (
        <Page
          title="Tools"
          wide
          lead="Tools that agents and people drafted. Nobody can call one before you link it."
        >
          <ToolsTabs current="drafts">
            <DraftList />
          </ToolsTabs>
        </Page>
      ) : (
        <DraftReview
          key={draft}
          id={draft}
          back={
            <Link to="/tools/drafts" search={state ? { state } : {}}>
              ← All drafted tools
            </Link>
          }
        />
      )}
    </AdminOnly>
  );
}
