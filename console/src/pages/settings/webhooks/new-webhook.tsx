import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { Secret } from "../../../ui/secret.tsx";
import { eventsOf, WebhookFields } from "./fields.tsx";

/** A new webhook; its signing secret is shown once. */
export function NewWebhook({
  onCancel,
  onDone,
}: {
  readonly onCancel: () => void;
  readonly onDone: (id: string) => void;
}) {
  const [draft, setDraft] = useState({ url: "", events: "", description: "" });
  const create = useChange(
    () => api.webhooks.createWebhook.mutate({ ...draft, events: eventsOf(draft) }),
    { quiet: true, refreshes: ["webhooks"] },
  );
  if (create.data)
    return (
      <div className="flex flex-col gap-4">
        <p>The receiver checks each message with this secret.</p>
        <Secret value={create.data.secret} label="signing secret" />
        <div className="flex justify-end">
          <Button look="primary" onClick={() => onDone(create.data.id)}>
            I have copied it
          </Button>
        </div>
      </div>
    );
  return (
    <Form
      submit="Create webhook"
      onSubmit={() => create.mutate(undefined)}
      onCancel={onCancel}
      busy={create.isPending}
      disabled={draft.url.trim() === "" || eventsOf(draft).length === 0}
      cause={create.error}
    >
      <WebhookFields
        draft={draft}
        set={(change) => setDraft((before) => ({ ...before, ...change }))}
        fault={faultsOf(create.error)}
      />
    </Form>
  );
}
