// The catalogue and, to administrators, the tools that were drafted. To everybody else there is the catalogue alone.
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { MOST_COUNTED, useWaitingDrafts } from "./drafts/data.ts";

export function ToolsTabs({
  current,
  children,
}: {
  readonly current: "catalogue" | "drafts";
  readonly children: ReactNode;
}) {
  const isAdmin = useIsAdmin();
  const navigate = useNavigate();
  const count = useWaitingDrafts(isAdmin).data?.items.length ?? 0;
  if (!isAdmin) return <>{children}</>;
  return (
    <Tabs
      label="Kinds of tools"
      value={current}
      onChange={(id) => void navigate({ to: id === "drafts" ? "/tools/drafts" : "/tools" })}
      tabs={[
        {
          id: "catalogue",
          label: "Catalogue",
          content: current === "catalogue" ? <Panel>{children}</Panel> : null,
        },
        {
          id: "drafts",
          label: (
            <>
              Drafted tools
              {count === 0 ? null : (
                <span className="ml-1.5 rounded-full bg-hold-soft px-1.5 text-xs font-semibold text-hold">
                  {count}
                  {count === MOST_COUNTED ? "+" : ""}
                  <span className="sr-only"> waiting for your decision</span>
                </span>
              )}
            </>
          ),
          content: current === "drafts" ? <Panel>{children}</Panel> : null,
        },
      ]}
    />
  );
}

const Panel = ({ children }: { readonly children: ReactNode }) => (
  <div className="flex flex-col gap-4">{children}</div>
);
