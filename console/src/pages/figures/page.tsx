import { Page } from "../../ui/page.tsx";

export function FiguresPage() {
  return <Page title="Metrics">…</Page>;
}
