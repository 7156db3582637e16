import { Page } from "../../ui/page.tsx";

export function ChatPage() {
  return <Page title="Chat">…</Page>;
}
