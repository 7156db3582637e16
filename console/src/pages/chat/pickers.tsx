// With which model, capsule and persona. Capsule and persona belong to a session from its beginning.
import { useIsAdmin } from "../../app/session.tsx";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import type { Session } from "./conversation.tsx";

export interface Picks {
  readonly model?: string;
  readonly capsuleId?: string;
  readonly personaId?: string;
}

export function Pickers({
  session,
  picks,
  onChange,
}: {
  readonly session: Session | undefined;
  readonly picks: Picks;
  readonly onChange: (picks: Picks) => void;
}) {
  const isAdmin = useIsAdmin();
  const isNew = session === undefined;
  const models = useData(
    ["models"],
    (signal) => api.models.listModels.query(undefined, { signal }),
    { enabled: isAdmin },
  );
  const capsules = useData(
    ["capsules", "names"],
    (signal) => api.capsules.listCapsules.query({ limit: 100 }, { signal }),
    { enabled: isAdmin && isNew },
  );
  const personas = useData(
    ["personas", "names"],
    (signal) => api.personas.listPersonas.query({ limit: 100 }, { signal }),
    { enabled: isNew },
  );
  const usable = (models.data?.items ?? [])
    .filter(({ enabled }) => enabled)
    .map(({ name }) => name);
  return (
    <>
      {usable.length === 0 ? null : (
        <Pick
          label="Model"
          usual="usual model"
          names={usable}
          value={picks.model}
          onChange={(model) => onChange({ ...picks, model })}
        />
      )}
      {isNew && capsules.data ? (
        <Pick
          label="Capsule"
          usual="my capsule"
          names={capsules.data.items.map(({ id }) => id)}
          value={picks.capsuleId}
          onChange={(capsuleId) => onChange({ ...picks, capsuleId })}
        />
      ) : null}
      {isNew && (personas.data?.items.length ?? 0) > 0 ? (
        <Pick
          label="Persona"
          usual="no persona"
          names={personas.data?.items.map(({ id }) => id) ?? []}
          value={picks.personaId}
          onChange={(personaId) => onChange({ ...picks, personaId })}
        />
      ) : null}
    </>
  );
}

function Pick({
  label,
  usual,
  names,
  value,
  onChange,
}: {
  readonly label: string;
  readonly usual: string;
  readonly names: readonly string[];
  readonly value: string | undefined;
  readonly onChange: (name: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value)}
      className="h-7 max-w-44 rounded-md border border-line bg-surface px-1.5 text-[13px]"
    >
      <option value="">{usual}</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
