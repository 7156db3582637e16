// A persona: its words, its traits, and the tools it narrows itself to.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Check, Select, TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import { numberOf } from "../choices.ts";
import { ToolPicker } from "../capsules/tool-picker.tsx";
import type { Persona } from "./personas.tsx";

const draftOf = (persona: Persona | null) => ({
  id: "",
  name: persona?.name ?? "",
  prompt: persona?.prompt ?? "",
  traits: Object.entries(persona?.traits ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n"),
  intelligence: String(persona?.knobs.intelligence ?? ""),
  resource: String(persona?.knobs.resource ?? ""),
  capabilities: persona?.capabilities ?? null,
});
type Draft = ReturnType<typeof draftOf>;

function fieldsOf(draft: Draft) {
  const traits = draft.traits
    .split("\n")
    .map((line) => line.split(/:(.*)/s).map((part) => part.trim()))
    .filter(([name]) => name !== undefined && name !== "")
    .map(([name = "", value = ""]) => [name, value] as const);
  const intelligence = numberOf(draft.intelligence);
  const resource = numberOf(draft.resource);
  return {
    name: draft.name,
    prompt: draft.prompt,
    traits: Object.fromEntries(traits),
    knobs: {
      ...(intelligence === undefined ? {} : { intelligence }),
      ...(resource === undefined ? {} : { resource }),
    },
    capabilities: draft.capabilities === null ? null : [...draft.capabilities],
  };
}

export function PersonaForm({
  persona,
  onCancel,
  onDone,
}: {
  /** Null: a new one. */
  readonly persona: Persona | null;
  readonly onCancel?: () => void;
  readonly onDone?: (persona: Persona) => void;
}) {
  const [draft, setDraft] = useState(() => draftOf(persona));
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const save = useChange(
    () => {
      const fields = fieldsOf(draft);
      if (persona) return api.personas.updatePersona.mutate({ id: persona.id, ...fields });
      const id = draft.id.trim();
      return api.personas.createPersona.mutate({ ...fields, ...(id === "" ? {} : { id }) });
    },
    {
      quiet: true,
      refreshes: ["personas"],
      onDone: (made) => {
        notify(`${made.name} is saved`);
        onDone?.(made);
      },
    },
  );
  const fault = faultsOf(save.error);
  return (
    <Form
      submit={persona ? "Save" : "Create persona"}
      onSubmit={() => save.mutate(undefined)}
      {...(onCancel ? { onCancel } : {})}
      busy={save.isPending}
      disabled={draft.name.trim() === ""}
      cause={save.error}
    >
      <TextField
        label="Name"
        required
        value={draft.name}
        fault={fault("/name")}
        onChange={(event) => set({ name: event.target.value })}
      />
      <TextArea
        label="Prompt"
        rows={5}
        value={draft.prompt}
        fault={fault("/prompt")}
        hint="Comes after the capsule’s system prompt"
        onChange={(event) => set({ prompt: event.target.value })}
      />
      <TextArea
        label="Traits"
        value={draft.traits}
        placeholder={"tone: friendly\nlanguage: plain English"}
        fault={fault("/traits")}
        hint="One name: value on a line"
        onChange={(event) => set({ traits: event.target.value })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Intelligence"
          value={draft.intelligence}
          fault={fault("/knobs/intelligence")}
          hint="Higher asks larger models"
          onChange={(event) => set({ intelligence: event.target.value })}
          options={[
            ["", "not set"],
            ...Array.from({ length: 10 }, (_, at) => [String(at + 1), String(at + 1)] as const),
          ]}
        />
        <TextField
          label="US dollars a turn may cost"
          type="number"
          min={0}
          step="any"
          placeholder="not limited"
          value={draft.resource}
          fault={fault("/knobs/resource")}
          onChange={(event) => set({ resource: event.target.value })}
        />
      </div>
      <Check
        label="Narrow the tools of the capsule"
        checked={draft.capabilities !== null}
        onChange={(event) => set({ capabilities: event.target.checked ? [] : null })}
      />
      {draft.capabilities === null ? null : (
        <ToolPicker
          withEvery={false}
          value={draft.capabilities}
          onChange={(names) => set({ capabilities: [...names] })}
        />
      )}
    </Form>
  );
}
