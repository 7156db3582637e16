import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData, usePages } from "../../../api/query.ts";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import type { Column } from "../../../ui/data-table.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { usePeople } from "../navigation.ts";
import { RecordId } from "../record-id.tsx";
import { Records } from "../records.tsx";
import { PersonaForm } from "./persona-form.tsx";

export type Persona = Outputs["personas"]["getPersona"];

const COLUMNS: readonly Column<Persona>[] = [
  {
    id: "name",
    header: "Persona",
    cell: ({ name }) => <span className="font-medium">{name}</span>,
  },
  {
    id: "tools",
    header: "Narrows itself to",
    width: "w-48",
    cell: ({ capabilities }) =>
      capabilities === null ? (
        <span className="text-muted">nothing</span>
      ) : (
        `${capabilities.length} tools`
      ),
  },
  {
    id: "prompt",
    header: "Prompt",
    wideOnly: true,
    cell: ({ prompt }) => <span className="text-muted">{prompt}</span>,
  },
  {
    id: "updated",
    header: "Changed",
    width: "w-36",
    wideOnly: true,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];

export function Personas() {
  const { isNew, create, go } = usePeople();
  const query = usePages(["personas", "list"], (page, signal) =>
    api.personas.listPersonas.query({ ...page, limit: 100 }, { signal }),
  );
  return (
    <>
      <Records
        noun="persona"
        create="New persona"
        query={query}
        columns={COLUMNS}
        idOf={({ id }) => id}
        holds={(q, { id, name, prompt }) => holds(q, id, name, prompt)}
        about="A persona says how an agent speaks, and may narrow the tools it works with."
        command="ostiary personas create reviewer"
        detail={(id) => <PersonaDetail key={id} id={id} />}
      />
      <Dialog open={isNew} onClose={() => create(false)} title="New persona" size="large">
        <PersonaForm
          persona={null}
          onCancel={() => create(false)}
          onDone={({ id }) => void go({ tab: "personas", id })}
        />
      </Dialog>
    </>
  );
}

function PersonaDetail({ id }: { readonly id: string }) {
  const { open } = usePeople();
  const query = useData(["personas", "one", id], (signal) =>
    api.personas.getPersona.query({ id }, { signal }),
  );
  const remove = useChange(() => api.personas.removePersona.mutate({ id }), {
    refreshes: ["personas"],
    leave: () => open(undefined),
    onDone: () => notify("The persona is removed"),
  });
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(persona) => (
        <>
          <Facts
            rows={[
              ["Id", <RecordId key="id" id={persona.id} />],
              ["Created", <Time key="created" at={persona.createdAt} />],
              ["Changed", <Time key="changed" at={persona.updatedAt} />],
            ]}
          />
          <PersonaForm key={persona.updatedAt} persona={persona} />
          <div className="border-t border-line pt-3">
            <ConfirmButton
              small
              label="Remove"
              question={`Remove ${persona.name}?`}
              explain="New conversations cannot choose it any more. This cannot be undone."
              confirm="Remove it"
              busy={remove.isPending}
              onConfirm={() => remove.mutate(undefined)}
            />
          </div>
        </>
      )}
    </Loaded>
  );
}
