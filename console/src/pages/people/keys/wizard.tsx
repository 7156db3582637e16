// A new key in three steps: whose it is, what it may do, and how the agent gets it.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { Secret } from "../../../ui/secret.tsx";
import { inDays, planOf, wordsOf } from "../choices.ts";
import { Connect } from "./connect.tsx";
import { limitsOf } from "./limits.tsx";
import { BLANK_KEY, type KeyDraft, OwnerStep, RightsStep } from "./wizard-steps.tsx";

type Created = Outputs["keys"]["createKey"];

const STEPS = ["Whose key", "What it may do", "Connect"] as const;

export function KeyWizard({
  userId,
  onCancel,
  onDone,
}: {
  readonly userId: string | undefined;
  readonly onCancel: () => void;
  readonly onDone: (id: string) => void;
}) {
  const [draft, setDraft] = useState<KeyDraft>({ ...BLANK_KEY, userId: userId ?? "" });
  const [step, setStep] = useState(0);
  const set = (change: Partial<KeyDraft>): void => setDraft((before) => ({ ...before, ...change }));
  const create = useChange(() => createFrom(draft), {
    quiet: true,
    refreshes: ["keys", "users"],
    onDone: () => setStep(2),
  });
  const fault = faultsOf(create.error);
  return (
    <div className="flex flex-col gap-4">
      <ol className="flex flex-wrap gap-x-4 gap-y-1">
        {STEPS.map((name, at) => (
          <li
            key={name}
            aria-current={at === step ? "step" : undefined}
            className={at === step ? "font-semibold" : "text-muted"}
          >
            {at + 1}. {name}
          </li>
        ))}
      </ol>
      {step === 0 ? (
        <Form
          submit="Next"
          onSubmit={() => setStep(1)}
          onCancel={onCancel}
          disabled={draft.name.trim() === "" || (draft.userId || draft.userName.trim()) === ""}
        >
          <OwnerStep draft={draft} set={set} fault={fault} />
        </Form>
      ) : null}
      {step === 1 ? (
        <Form
          submit="Create key"
          onSubmit={() => create.mutate(undefined)}
          onCancel={onCancel}
          busy={create.isPending}
          cause={create.error}
          actions={<Button onClick={() => setStep(0)}>Back</Button>}
        >
          <RightsStep draft={draft} set={set} fault={fault} />
        </Form>
      ) : null}
      {step === 2 && create.data ? (
        <Ready created={create.data} onDone={() => onDone(create.data.id)} />
      ) : null}
    </div>
  );
}

async function createFrom(draft: KeyDraft): Promise<Created> {
  const { name, capsuleId, level, scopes, days, plan } = draft;
  const chosenScopes = wordsOf(scopes);
  const userId =
    draft.userId === ""
      ? (await api.users.createUser.mutate({ name: draft.userName.trim() })).id
      : draft.userId;
  const limits = limitsOf(draft);
  const chosenPlan = planOf(plan);
  return api.keys.createKey.mutate({
    userId,
    name: name.trim(),
    expiresAt: inDays(Number(days)),
    ...(capsuleId === "" ? {} : { capsuleId }),
    ...(level === "" ? {} : { level }),
    ...(chosenScopes.length === 0 ? {} : { scopes: chosenScopes }),
    ...(chosenPlan === null ? {} : { plan: chosenPlan }),
    ...(limits === null ? {} : { limits }),
  });
}

function Ready({ created, onDone }: { readonly created: Created; readonly onDone: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <Secret value={created.secret} label="key" />
      <Connect secret={created.secret} />
      <div className="flex justify-end">
        <Button look="primary" onClick={onDone}>
          I have copied it
        </Button>
      </div>
    </div>
  );
}
