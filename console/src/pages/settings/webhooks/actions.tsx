// Send a test, edit, switch, rotate the secret, remove.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { Secret } from "../../../ui/secret.tsx";
import { notify } from "../../../ui/toast.tsx";
import { eventsOf, WebhookFields } from "./fields.tsx";
import type { Webhook } from "./webhooks.tsx";

export function WebhookActions({ hook }: { readonly hook: Webhook }) {
  const { id, enabled, origin } = hook;
  const navigate = useNavigate();
  const [isEditing, setEditing] = useState(false);
  const test = useChange(() => api.webhooks.testWebhook.mutate({ id }), {
    refreshes: ["webhooks"],
    onDone: ({ state, lastStatus, lastError }) =>
      notify(state === "delivered" ? "The test arrived" : "The test did not arrive", {
        detail: lastError
          ? visibleText(lastError)
          : `The endpoint answered ${String(lastStatus ?? "nothing")}`,
      }),
  });
  const power = useChange((on: boolean) => api.webhooks.updateWebhook.mutate({ id, enabled: on }), {
    refreshes: ["webhooks"],
    onDone: (_made, on) =>
      notify(on ? "The webhook is on" : "The webhook is off", { undo: () => power.mutate(!on) }),
  });
  const rotate = useChange(() => api.webhooks.rotateWebhook.mutate({ id }), {
    refreshes: ["webhooks"],
  });
  const remove = useChange(() => api.webhooks.removeWebhook.mutate({ id }), {
    refreshes: ["webhooks"],
    leave: () => navigate({ to: "/settings", search: { tab: "webhooks" } }),
    onDone: () => notify("The webhook is removed"),
  });
  return (
    <div className="flex flex-wrap gap-2">
      <Button
        small
        busy={test.isPending}
        disabled={!enabled}
        onClick={() => test.mutate(undefined)}
      >
        Send a test
      </Button>
      {origin === "configuration" ? null : (
        <>
          <Button small onClick={() => setEditing(true)}>
            Edit
          </Button>
          <Button small busy={power.isPending} onClick={() => power.mutate(!enabled)}>
            {enabled ? "Switch off" : "Switch on"}
          </Button>
          <ConfirmButton
            small
            danger={false}
            label="New secret"
            question="Make a new signing secret?"
            explain="Messages carry both signatures for a day, so that the receiver can change over."
            confirm="Make it"
            busy={rotate.isPending}
            onConfirm={() => rotate.mutate(undefined)}
          />
          <ConfirmButton
            small
            label="Remove"
            question="Remove this webhook?"
            explain="Messages that still wait are lost. This cannot be undone."
            confirm="Remove it"
            busy={remove.isPending}
            onConfirm={() => remove.mutate(undefined)}
          />
        </>
      )}
      <Dialog open={isEditing} onClose={() => setEditing(false)} title="Edit the webhook">
        <EditWebhook hook={hook} onClose={() => setEditing(false)} />
      </Dialog>
      <Dialog
        open={rotate.data !== undefined}
        onClose={() => rotate.reset()}
        title="New signing secret"
        lead="Messages carry both signatures for a day."
      >
        {rotate.data ? <Secret value={rotate.data.secret} label="signing secret" /> : null}
      </Dialog>
    </div>
  );
}

function EditWebhook({ hook, onClose }: { readonly hook: Webhook; readonly onClose: () => void }) {
  const { id, url, events, description } = hook;
  const [draft, setDraft] = useState({ url, events: events.join("\n"), description });
  const update = useChange(
    () => api.webhooks.updateWebhook.mutate({ ...draft, id, events: eventsOf(draft) }),
    {
      quiet: true,
      refreshes: ["webhooks"],
      onDone: () => {
        notify("The webhook is changed");
        onClose();
      },
    },
  );
  return (
    <Form
      submit="Save"
      onSubmit={() => update.mutate(undefined)}
      onCancel={onClose}
      busy={update.isPending}
      cause={update.error}
    >
      <WebhookFields
        draft={draft}
        set={(change) => setDraft((before) => ({ ...before, ...change }))}
        fault={faultsOf(update.error)}
      />
    </Form>
  );
}
