// Every call that was made, newest first and as it happens.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { useIsAdmin } from "../../../app/session.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { Page } from "../../../ui/page.tsx";
import type { Filters } from "../filters.ts";
import { ExecutionList } from "./execution-list.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { LiveSwitch } from "./live-switch.tsx";
import { SavedViews } from "./saved-views.tsx";

export function ExecutionsPage() {
  const filters = useSearch({ from: "/executions" });
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const [isPaused, setPaused] = useState(false);
  const change = useCallback(
    (next: Filters) => void navigate({ to: "/executions", search: next }),
    [navigate],
  );
  const toggle = (): void => setPaused(!isPaused);
  useShortcut("l", isPaused ? "Follow live again" : "Pause live updates", toggle);
  return (
    <Page
      wide
      title="Executions"
      lead={
        isAdmin
          ? "Every call, allowed or not, with what decided it."
          : "Your calls, allowed or not, with what decided them."
      }
      actions={
        <>
          <SavedViews filters={filters} onChoose={change} />
          <LiveSwitch isPaused={isPaused} onToggle={toggle} />
        </>
      }
    >
      <FilterBar filters={filters} onChange={change} />
      <ExecutionList
        key={JSON.stringify(filters)}
        filters={filters}
        isPaused={isPaused}
        onClear={() => change({})}
      />
    </Page>
  );
}
