// A new user, and changes of one.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Select, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import { planOf, planOptions, wordsOf } from "../choices.ts";

type User = Outputs["users"]["getUser"];

interface Draft {
  readonly id: string;
  readonly name: string;
  readonly role: "admin" | "user";
  readonly roles: string;
  readonly plan: string;
}

function Fields({
  draft,
  set,
  fault,
  isNew,
}: {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly fault: (path: string) => string | undefined;
  readonly isNew: boolean;
}) {
  return (
    <>
      <TextField
        label="Name"
        required
        value={draft.name}
        fault={fault("/name")}
        onChange={(event) => set({ name: event.target.value })}
      />
      {isNew ? (
        <TextField
          label="Id"
          placeholder="ada"
          value={draft.id}
          fault={fault("/id")}
          hint="Letters, digits, _ and -; left out: one is made. It cannot be changed later."
          onChange={(event) => set({ id: event.target.value })}
        />
      ) : null}
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Role"
          value={draft.role}
          fault={fault("/role")}
          onChange={(event) => set({ role: event.target.value as Draft["role"] })}
          options={[
            ["user", "user"],
            ["admin", "administrator"],
          ]}
        />
        <Select
          label="Plan"
          value={draft.plan}
          fault={fault("/plan")}
          onChange={(event) => set({ plan: event.target.value })}
          options={planOptions("as the tenant")}
        />
      </div>
      <TextField
        label="Roles in relationships"
        value={draft.roles}
        fault={fault("/roles")}
        hint="Words that rules and relationships know, e.g. tool_user approver"
        onChange={(event) => set({ roles: event.target.value })}
      />
    </>
  );
}

export function NewUser({
  onCancel,
  onDone,
}: {
  readonly onCancel: () => void;
  readonly onDone: (user: User) => void;
}) {
  const [draft, setDraft] = useState<Draft>({
    id: "",
    name: "",
    role: "user",
    roles: "tool_user",
    plan: "",
  });
  const create = useChange(
    () =>
      api.users.createUser.mutate({
        name: draft.name,
        role: draft.role,
        roles: wordsOf(draft.roles),
        ...(draft.id.trim() === "" ? {} : { id: draft.id.trim() }),
        ...(draft.plan === "" ? {} : { plan: planOf(draft.plan) }),
      }),
    {
      quiet: true,
      refreshes: ["users"],
      onDone: (user) => {
        notify(`${user.name} is created`);
        onDone(user);
      },
    },
  );
  return (
    <Form
      submit="Create user"
      onSubmit={() => create.mutate(undefined)}
      onCancel={onCancel}
      busy={create.isPending}
      disabled={draft.name.trim() === ""}
      cause={create.error}
    >
      <Fields
        isNew
        draft={draft}
        set={(change) => setDraft((before) => ({ ...before, ...change }))}
        fault={faultsOf(create.error)}
      />
    </Form>
  );
}

export function EditUser({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>({
    id: user.id,
    name: user.name,
    role: user.role,
    roles: user.roles.join(" "),
    plan: user.plan ?? "",
  });
  const update = useChange(
    () =>
      api.users.updateUser.mutate({
        id: user.id,
        name: draft.name,
        role: draft.role,
        roles: wordsOf(draft.roles),
        plan: planOf(draft.plan),
      }),
    {
      quiet: true,
      refreshes: ["users", "usage"],
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
      disabled={draft.name.trim() === ""}
      cause={update.error}
    >
      <Fields
        isNew={false}
        draft={draft}
        set={(change) => setDraft((before) => ({ ...before, ...change }))}
        fault={faultsOf(update.error)}
      />
    </Form>
  );
}
