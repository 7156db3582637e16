// Change the limits of a key, replace it with time to change over, or revoke it.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import { Select } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { Secret } from "../../../ui/secret.tsx";
import { notify } from "../../../ui/toast.tsx";
import { planOf, planOptions } from "../choices.ts";
import { usePeople } from "../navigation.ts";
import { Connect } from "./connect.tsx";
import type { KeyRecord } from "./key-state.tsx";
import { LimitFields, limitsOf } from "./limits.tsx";

export function KeyActions({ record }: { readonly record: KeyRecord }) {
  const [open, setOpen] = useState<"rotate" | "limits" | null>(null);
  const revoke = useChange(() => api.keys.revokeKey.mutate({ id: record.id }), {
    refreshes: ["keys", "executions"],
    onDone: ({ name }) => notify(`${name} is revoked`, { detail: "It is refused from now on" }),
  });
  const close = (): void => setOpen(null);
  return (
    <div className="flex flex-wrap gap-2">
      <Button small onClick={() => setOpen("rotate")}>
        Rotate…
      </Button>
      <Button small onClick={() => setOpen("limits")}>
        Plan and limits…
      </Button>
      <ConfirmButton
        small
        label="Revoke"
        question={`Revoke ${record.name}?`}
        explain="It is refused at once, on every instance. Calls that run are listed below, so that you can cancel them. This cannot be undone."
        confirm="Revoke it now"
        busy={revoke.isPending}
        onConfirm={() => revoke.mutate(undefined)}
      />
      <Dialog
        open={open === "rotate"}
        onClose={close}
        title={`Rotate ${record.name}`}
        lead="A new key with the same rights. The old one lives on for a while, so that nothing stops."
      >
        <Rotate record={record} onClose={close} />
      </Dialog>
      <Dialog
        open={open === "limits"}
        onClose={close}
        title={`Plan and limits of ${record.name}`}
        lead="They count beside those of its user and the tenant, from the next call on."
      >
        <EditLimits record={record} onClose={close} />
      </Dialog>
    </div>
  );
}

const HOUR = 3_600;

function Rotate({ record, onClose }: { readonly record: KeyRecord; readonly onClose: () => void }) {
  const { go } = usePeople();
  const [overlap, setOverlap] = useState(String(24 * HOUR));
  const rotate = useChange(
    () => api.keys.rotateKey.mutate({ id: record.id, overlapSeconds: Number(overlap) }),
    { quiet: true, refreshes: ["keys"] },
  );
  if (rotate.data)
    return (
      <div className="flex flex-col gap-4">
        <Secret value={rotate.data.secret} label="key" />
        <Connect secret={rotate.data.secret} />
        <div className="flex justify-end">
          <Button
            look="primary"
            onClick={() => {
              onClose();
              void go({ tab: "keys", id: rotate.data.id });
            }}
          >
            I have copied it
          </Button>
        </div>
      </div>
    );
  return (
    <Form
      submit="Make the new key"
      onSubmit={() => rotate.mutate(undefined)}
      onCancel={onClose}
      busy={rotate.isPending}
      cause={rotate.error}
    >
      <Select
        label="The old key is refused"
        value={overlap}
        onChange={(event) => setOverlap(event.target.value)}
        options={[
          ["0", "at once"],
          [String(HOUR), "after an hour"],
          [String(24 * HOUR), "after a day"],
          [String(7 * 24 * HOUR), "after a week"],
          [String(30 * 24 * HOUR), "after 30 days"],
        ]}
      />
    </Form>
  );
}

function EditLimits({
  record,
  onClose,
}: {
  readonly record: KeyRecord;
  readonly onClose: () => void;
}) {
  const textOf = (value: number | undefined): string => (value === undefined ? "" : String(value));
  const [plan, setPlan] = useState<string>(record.plan ?? "");
  const [draft, setDraft] = useState({
    perMinute: textOf(record.limits?.perMinute),
    perHour: textOf(record.limits?.perHour),
    perDay: textOf(record.limits?.perDay),
  });
  const update = useChange(
    () => api.keys.updateKey.mutate({ id: record.id, plan: planOf(plan), limits: limitsOf(draft) }),
    {
      quiet: true,
      refreshes: ["keys", "usage"],
      onDone: ({ name }) => {
        notify(`${name} is changed`);
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
      <Select
        label="Plan of its own"
        value={plan}
        onChange={(event) => setPlan(event.target.value)}
        options={planOptions("none")}
      />
      <LimitFields
        draft={draft}
        set={(change) => setDraft((before) => ({ ...before, ...change }))}
        fault={faultsOf(update.error)}
      />
    </Form>
  );
}
