// The fields of a new key, step by step.
import type { Inputs } from "../../../api/client.ts";
import { Select, TextField } from "../../../ui/field.tsx";
import { EXPIRIES, LEVELS, planOptions } from "../choices.ts";
import { useCapsuleChoices, useUserChoices } from "../use-lists.ts";
import { LimitFields, type LimitsDraft, NO_LIMITS } from "./limits.tsx";

type Level = NonNullable<Inputs["keys"]["createKey"]["level"]>;

export interface KeyDraft extends LimitsDraft {
  readonly name: string;
  /** Empty: a new user of the name beside it. */
  readonly userId: string;
  readonly userName: string;
  readonly capsuleId: string;
  readonly level: Level | "";
  readonly scopes: string;
  readonly days: string;
  readonly plan: string;
}

export const BLANK_KEY: KeyDraft = {
  ...NO_LIMITS,
  name: "",
  userId: "",
  userName: "",
  capsuleId: "",
  level: "",
  scopes: "",
  days: "90",
  plan: "",
};

interface StepProps {
  readonly draft: KeyDraft;
  readonly set: (change: Partial<KeyDraft>) => void;
  readonly fault: (path: string) => string | undefined;
}

export function OwnerStep({ draft, set, fault }: StepProps) {
  const users = useUserChoices();
  const items = users.data?.items ?? [];
  const isKnown = draft.userId === "" || items.some(({ id }) => id === draft.userId);
  return (
    <>
      <TextField
        label="Name of the key"
        required
        placeholder="claude-code on the laptop"
        value={draft.name}
        fault={fault("/name")}
        hint="So that you recognise it in lists and in the ledger"
        onChange={(event) => set({ name: event.target.value })}
      />
      <Select
        label="User"
        value={draft.userId}
        fault={fault("/userId")}
        onChange={(event) => set({ userId: event.target.value })}
        options={[
          ["", "a new user"],
          ...(isKnown ? [] : [[draft.userId, draft.userId] as const]),
          ...items.map(({ id, name }) => [id, name === id ? id : `${name} (${id})`] as const),
        ]}
      />
      {draft.userId === "" ? (
        <TextField
          label="Name of the new user"
          required
          placeholder="Ada Lovelace"
          value={draft.userName}
          onChange={(event) => set({ userName: event.target.value })}
        />
      ) : null}
    </>
  );
}

export function RightsStep({ draft, set, fault }: StepProps) {
  const capsules = useCapsuleChoices();
  return (
    <>
      <Select
        label="Capsule"
        value={draft.capsuleId}
        fault={fault("/capsuleId")}
        hint="The tools that exist for this key"
        onChange={(event) => set({ capsuleId: event.target.value })}
        options={[
          ["", "the default one"],
          ...(capsules.data?.items ?? []).map(
            ({ id, name, capabilities }) =>
              [
                id,
                `${name} · ${capabilities.includes("*") ? "every native tool" : `${capabilities.length} tools`}`,
              ] as const,
          ),
        ]}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Level"
          value={draft.level}
          fault={fault("/level")}
          onChange={(event) => set({ level: event.target.value as KeyDraft["level"] })}
          options={[["", "as the user"], ...LEVELS]}
        />
        <Select
          label="Expires"
          value={draft.days}
          fault={fault("/expiresAt")}
          onChange={(event) => set({ days: event.target.value })}
          options={EXPIRIES}
        />
      </div>
      <details>
        <summary className="min-h-6 text-[13px] font-medium">Scopes, plan and limits</summary>
        <div className="mt-2 flex flex-col gap-3">
          <TextField
            label="Scopes"
            placeholder="agent:execute:safe agent:execute:moderate"
            value={draft.scopes}
            fault={fault("/scopes")}
            hint="Left empty: those that the level reaches. tool:approve lets people sign in to decide."
            onChange={(event) => set({ scopes: event.target.value })}
          />
          <Select
            label="Plan of its own"
            value={draft.plan}
            fault={fault("/plan")}
            onChange={(event) => set({ plan: event.target.value })}
            options={planOptions("none")}
          />
          <LimitFields draft={draft} set={set} fault={fault} />
        </div>
      </details>
    </>
  );
}
