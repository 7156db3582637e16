import { Page } from "../../ui/page.tsx";

export function ExplainPage() {
  return <Page title="Explain">…</Page>;
}
