import { Page } from "../../ui/page.tsx";

export function RelationshipsPage() {
  return <Page title="Relationships">…</Page>;
}
