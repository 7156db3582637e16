// Address, events and description of a webhook.
import { TextArea, TextField } from "../../../ui/field.tsx";

export interface WebhookDraft {
  readonly url: string;
  readonly events: string;
  readonly description: string;
}

export const eventsOf = ({ events }: WebhookDraft): string[] =>
  events.split(/[\s,]+/).filter((name) => name !== "");

export function WebhookFields({
  draft,
  set,
  fault,
}: {
  readonly draft: WebhookDraft;
  readonly set: (change: Partial<WebhookDraft>) => void;
  readonly fault: (path: string) => string | undefined;
}) {
  return (
    <>
      <TextField
        label="Address"
        type="url"
        required
        placeholder="https://example.org/hook"
        value={draft.url}
        fault={fault("/url")}
        hint="https; a private address only where the operator allowed it"
        onChange={(event) => set({ url: event.target.value })}
      />
      <TextArea
        label="Events"
        mono
        rows={3}
        placeholder={"approval.*\nmode.changed"}
        value={draft.events}
        fault={fault("/events")}
        hint="Names or patterns, one on a line: approval.*, tool.execution.denied, mode.changed, *"
        onChange={(event) => set({ events: event.target.value })}
      />
      <TextField
        label="Description"
        value={draft.description}
        fault={fault("/description")}
        onChange={(event) => set({ description: event.target.value })}
      />
    </>
  );
}
