import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Check, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import type { Capsule } from "./capsules.tsx";
import { ToolPicker } from "./tool-picker.tsx";

export function NewCapsule({
  onCancel,
  onDone,
}: {
  readonly onCancel: () => void;
  readonly onDone: (capsule: Capsule) => void;
}) {
  const [name, setName] = useState("");
  const [id, setId] = useState("");
  const [isDefault, setDefault] = useState(false);
  const [capabilities, setCapabilities] = useState<readonly string[]>([]);
  const create = useChange(
    () =>
      api.capsules.createCapsule.mutate({
        name,
        capabilities: [...capabilities],
        default: isDefault,
        ...(id.trim() === "" ? {} : { id: id.trim() }),
      }),
    {
      quiet: true,
      refreshes: ["capsules"],
      onDone: (capsule) => {
        notify(`${capsule.name} is created`);
        onDone(capsule);
      },
    },
  );
  const fault = faultsOf(create.error);
  return (
    <Form
      submit="Create capsule"
      onSubmit={() => create.mutate(undefined)}
      onCancel={onCancel}
      busy={create.isPending}
      disabled={name.trim() === "" || capabilities.length === 0}
      cause={create.error}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          required
          placeholder="Reader"
          value={name}
          fault={fault("/name")}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label="Id"
          placeholder="reader"
          value={id}
          fault={fault("/id")}
          hint="Left out: one is made. It cannot be changed later."
          onChange={(event) => setId(event.target.value)}
        />
      </div>
      <ToolPicker value={capabilities} onChange={setCapabilities} withEvery />
      <Check
        label="Default for keys that name no capsule"
        checked={isDefault}
        onChange={(event) => setDefault(event.target.checked)}
      />
    </Form>
  );
}
