// The inbox: what waits for a decision, what was decided, what ran out, and the standing rules.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Page } from "../../../ui/page.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { NotificationSwitch } from "../notifications.tsx";
import { type InboxTab } from "../routes.ts";
import { StandingRules } from "../rules/standing-rules.tsx";
import { History } from "./history.tsx";
import { Waiting } from "./waiting.tsx";

export function ApprovalsPage() {
  const { tab = "waiting" } = useSearch({ from: "/approvals" });
  const navigate = useNavigate({ from: "/approvals" });
  return (
    <Page
      title="Approvals"
      lead="Calls that run only when a person agrees."
      actions={<NotificationSwitch />}
    >
      <Tabs
        label="Approvals"
        value={tab}
        onChange={(next) =>
          void navigate({ search: (now) => ({ ...now, tab: next as InboxTab }), replace: true })
        }
        tabs={[
          { id: "waiting", label: "Waiting", content: <Waiting /> },
          { id: "decided", label: "Decided", content: <History kind="decided" /> },
          { id: "expired", label: "Expired", content: <History kind="expired" /> },
          { id: "rules", label: "Standing rules", content: <StandingRules /> },
        ]}
      />
    </Page>
  );
}
