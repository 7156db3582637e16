// Who may call tools, with which keys, and what their agents are.
import type { ReactNode } from "react";
import { AdminOnly } from "../../app/admin-only.tsx";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { AgentFiles } from "./agents/files.tsx";
import { Models } from "./agents/models.tsx";
import { Personas } from "./agents/personas.tsx";
import { Capsules } from "./capsules/capsules.tsx";
import { Keys } from "./keys/keys.tsx";
import { usePeople } from "./navigation.ts";
import { Plans } from "./plans/plans.tsx";
import type { PeopleTab } from "./routes.ts";
import { SignIns } from "./sign-ins.tsx";
import { Users } from "./users/users.tsx";

const TABS: Record<PeopleTab, readonly [label: string, content: () => ReactNode]> = {
  users: ["Users", () => <Users />],
  keys: ["Keys", () => <Keys />],
  capsules: ["Capsules", () => <Capsules />],
  personas: ["Personas", () => <Personas />],
  models: ["Models", () => <Models />],
  plans: ["Plans", () => <Plans />],
  "sign-ins": ["Sign-ins", () => <SignIns />],
  files: ["Export and import", () => <AgentFiles />],
};
const NAMES = Object.keys(TABS) as PeopleTab[];

export function PeoplePage() {
  const { tab, go } = usePeople();
  return (
    <AdminOnly title="People & keys">
      <Page
        title="People & keys"
        lead="Users and the keys of their agents, and the capsules that say which tools a key may use."
        wide
      >
        <Tabs
          label="People and keys"
          value={tab}
          onChange={(id) => void go({ tab: id as PeopleTab })}
          tabs={NAMES.map((id) => ({
            id,
            label: TABS[id][0],
            // Only what is shown asks the server.
            content: id === tab ? TABS[id][1]() : null,
          }))}
        />
      </Page>
    </AdminOnly>
  );
}
