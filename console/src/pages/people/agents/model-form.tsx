// A model: where it is, what it is called there, and the key it is asked with.
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Check, Select, TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import type { Model } from "./models.tsx";

type Settings = Inputs["models"]["createModel"]["settings"];
const OWN_FIELDS = ["provider", "url", "model"];
const ABILITIES = ["generate", "embed", "image", "look", "transcribe", "speak"] as const;

function draftOf(model: Model | null) {
  const settings = model?.settings ?? {};
  const { abilities, ...rest } = Object.fromEntries(
    Object.entries(settings).filter(([name]) => !OWN_FIELDS.includes(name)),
  );
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    name: model?.name ?? "",
    provider: text(settings["provider"]) || "openai",
    url: text(settings["url"]),
    model: text(settings["model"]),
    abilities: Array.isArray(abilities) ? abilities.map(String) : ["generate"],
    further: Object.keys(rest).length === 0 ? "" : JSON.stringify(rest, null, 2),
    apiKey: "",
    keyReference: model?.keyReference ?? "",
    enabled: model?.enabled ?? true,
  };
}
type Draft = ReturnType<typeof draftOf>;

/** Null: the further settings are no JSON object. */
function settingsOf({ provider, url, model, abilities, further }: Draft): Settings | null {
  let rest: unknown = {};
  try {
    if (further.trim() !== "") rest = JSON.parse(further);
  } catch {
    // Shown beside the field.
    return null;
  }
  if (typeof rest !== "object" || rest === null || Array.isArray(rest)) return null;
  return {
    ...(rest as Settings),
    provider,
    abilities,
    ...(url.trim() === "" ? {} : { url: url.trim() }),
    ...(model.trim() === "" ? {} : { model: model.trim() }),
  };
}

export function ModelForm({
  model,
  onCancel,
  onDone,
}: {
  /** Null: a new one. */
  readonly model: Model | null;
  readonly onCancel?: () => void;
  readonly onDone?: (model: Model) => void;
}) {
  const [draft, setDraft] = useState(() => draftOf(model));
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const settings = settingsOf(draft);
  const save = useChange(
    (given: Settings) => {
      const fields = {
        name: draft.name.trim(),
        settings: given,
        enabled: draft.enabled,
        ...(draft.apiKey === "" ? {} : { apiKey: draft.apiKey }),
        ...(draft.keyReference === "" ? {} : { keyReference: draft.keyReference }),
      };
      return model ? api.models.updateModel.mutate(fields) : api.models.createModel.mutate(fields);
    },
    {
      quiet: true,
      refreshes: ["models"],
      onDone: (made) => {
        notify(`${made.name} is saved`, { detail: "It counts from the next call on" });
        onDone?.(made);
      },
    },
  );
  return (
    <Form
      submit={model ? "Save" : "Add model"}
      onSubmit={() => {
        if (settings) save.mutate(settings);
      }}
      {...(onCancel ? { onCancel } : {})}
      busy={save.isPending}
      disabled={draft.name.trim() === "" || settings === null}
      cause={save.error}
    >
      <Fields
        draft={draft}
        set={set}
        fault={faultsOf(save.error)}
        isNew={model === null}
        hasKey={model?.hasKey ?? false}
        isJson={settings !== null}
      />
    </Form>
  );
}

function Fields({
  draft,
  set,
  fault,
  isNew,
  hasKey,
  isJson,
}: {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly fault: (path: string) => string | undefined;
  readonly isNew: boolean;
  readonly hasKey: boolean;
  readonly isJson: boolean;
}) {
  return (
    <>
      <div className="grid gap-3 sm:grid-cols-2">
        {isNew ? (
          <TextField
            label="Name"
            required
            placeholder="local"
            value={draft.name}
            fault={fault("/name")}
            onChange={(event) => set({ name: event.target.value })}
          />
        ) : null}
        <Select
          label="Provider"
          value={draft.provider}
          fault={fault("/settings/provider")}
          onChange={(event) => set({ provider: event.target.value })}
          options={[
            ["openai", "OpenAI, or any compatible server"],
            ["anthropic", "Anthropic"],
          ]}
        />
        <TextField
          label="Name at the provider"
          placeholder="as the name here"
          value={draft.model}
          fault={fault("/settings/model")}
          onChange={(event) => set({ model: event.target.value })}
        />
        <TextField
          label="Address"
          type="url"
          placeholder="the provider’s own"
          value={draft.url}
          fault={fault("/settings/url")}
          onChange={(event) => set({ url: event.target.value })}
        />
        <TextField
          label="API key"
          type="password"
          autoComplete="new-password"
          placeholder={hasKey ? "stored; type to replace it" : ""}
          value={draft.apiKey}
          fault={fault("/apiKey")}
          hint="Encrypted at once, never shown again"
          onChange={(event) => set({ apiKey: event.target.value })}
        />
        <TextField
          label="Or a variable that holds it"
          placeholder="env:OPENAI_API_KEY"
          value={draft.keyReference}
          fault={fault("/keyReference")}
          onChange={(event) => set({ keyReference: event.target.value })}
        />
      </div>
      <fieldset>
        <legend className="text-[13px] font-medium">It can</legend>
        <div className="grid grid-cols-2 gap-x-4 sm:grid-cols-3">
          {ABILITIES.map((ability) => (
            <Check
              key={ability}
              label={ability}
              checked={draft.abilities.includes(ability)}
              onChange={(event) =>
                set({
                  abilities: event.target.checked
                    ? [...draft.abilities, ability]
                    : draft.abilities.filter((one) => one !== ability),
                })
              }
            />
          ))}
        </div>
      </fieldset>
      <TextArea
        label="Further settings"
        mono
        rows={4}
        placeholder={'{ "prices": { "inputPerMillion": 1 }, "fallbacks": ["small"] }'}
        value={draft.further}
        fault={isJson ? fault("/settings") : "Expected a JSON object"}
        hint="JSON: prices, limits, fallbacks, priority, voice"
        onChange={(event) => set({ further: event.target.value })}
      />
      <Check
        label="Switched on"
        checked={draft.enabled}
        onChange={(event) => set({ enabled: event.target.checked })}
      />
    </>
  );
}
