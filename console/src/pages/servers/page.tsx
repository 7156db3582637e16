import { Page } from "../../ui/page.tsx";

export function ServersPage() {
  return <Page title="Servers">…</Page>;
}
