import { Page } from "../../ui/page.tsx";

export function PoliciesPage() {
  return <Page title="Policies">…</Page>;
}
