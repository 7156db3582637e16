import { Page } from "../../ui/page.tsx";

export function WorkPage() {
  return <Page title="Work">…</Page>;
}
