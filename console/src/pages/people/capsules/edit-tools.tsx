import { useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { Select, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import type { Capsule } from "./capsules.tsx";
import { ToolPicker } from "./tool-picker.tsx";
import { useSaveCapsule } from "./use-save.ts";

/** Name and tools of a capsule. */
export function EditTools({ capsule }: { readonly capsule: Capsule }) {
  const [name, setName] = useState(capsule.name);
  const [listing, setListing] = useState(capsule.listing);
  const [capabilities, setCapabilities] = useState<readonly string[]>(capsule.capabilities);
  const save = useSaveCapsule(capsule.id);
  const fault = faultsOf(save.error);
  const change = { name, listing, capabilities: [...capabilities] };
  const isSame =
    name === capsule.name &&
    listing === capsule.listing &&
    capabilities.toSorted().join() === capsule.capabilities.toSorted().join();
  return (
    <Form
      submit="Save and activate"
      onSubmit={() => save.mutate(change)}
      busy={save.isPending}
      disabled={isSame || name.trim() === ""}
      cause={save.error}
      actions={
        <Button
          disabled={isSame || save.isPending}
          onClick={() => save.mutate({ ...change, draft: true })}
        >
          Save as a draft
        </Button>
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          required
          value={name}
          fault={fault("/name")}
          onChange={(event) => setName(event.target.value)}
        />
        <Select
          label="MCP clients are shown"
          value={listing}
          fault={fault("/listing")}
          onChange={(event) => setListing(event.target.value as Capsule["listing"])}
          options={[
            ["full", "every tool"],
            ["search", "two tools that find and call them"],
          ]}
        />
      </div>
      <ToolPicker value={capabilities} onChange={setCapabilities} withEvery />
    </Form>
  );
}
