// What one can set for oneself, and for administrators how the server is set and how it is.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useIsAdmin } from "../../app/session.tsx";
import { Page } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { About } from "./about.tsx";
import { Health } from "./health/health.tsx";
import { Modes } from "./modes.tsx";
import type { SettingsTab } from "./routes.ts";
import { ServerSettings } from "./server/settings.tsx";
import { Webhooks } from "./webhooks/webhooks.tsx";
import { OwnSignIns } from "./you/own-sign-ins.tsx";
import { You } from "./you/you.tsx";

const route = getRouteApi("/settings");

interface Entry {
  readonly id: SettingsTab;
  readonly label: string;
  readonly content: () => ReactNode;
  readonly adminOnly?: true;
}

const TABS: readonly Entry[] = [
  { id: "you", label: "For you", content: () => <You /> },
  { id: "sign-ins", label: "Your sign-ins", content: () => <OwnSignIns /> },
  { id: "server", label: "Server settings", content: () => <ServerSettings />, adminOnly: true },
  { id: "modes", label: "Modes", content: () => <Modes />, adminOnly: true },
  { id: "webhooks", label: "Webhooks", content: () => <Webhooks />, adminOnly: true },
  { id: "health", label: "Health", content: () => <Health /> },
  { id: "about", label: "About", content: () => <About /> },
];

export function SettingsPage() {
  const { tab: wanted } = route.useSearch();
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const shown = TABS.filter(({ adminOnly }) => isAdmin || !adminOnly);
  const tab = shown.find(({ id }) => id === wanted)?.id ?? "you";
  return (
    <Page title="Settings" wide>
      <Tabs
        label="Settings"
        value={tab}
        onChange={(id) =>
          void navigate({ to: "/settings", search: { tab: id as SettingsTab }, replace: true })
        }
        tabs={shown.map(({ id, label, content }) => ({
          id,
          label,
          content: id === tab ? content() : null,
        }))}
      />
    </Page>
  );
}
