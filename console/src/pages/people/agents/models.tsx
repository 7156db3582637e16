import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import type { Column } from "../../../ui/data-table.tsx";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { usePeople } from "../navigation.ts";
import { Records } from "../records.tsx";
import { ModelForm } from "./model-form.tsx";

export type Model = Outputs["models"]["getModel"];

const textAt = ({ settings }: Model, key: string): string => {
  const value = settings[key];
  return typeof value === "string" ? value : "";
};

const COLUMNS: readonly Column<Model>[] = [
  { id: "name", header: "Model", cell: ({ name }) => <span className="font-medium">{name}</span> },
  {
    id: "state",
    header: "State",
    width: "w-32",
    cell: ({ enabled }) =>
      enabled ? (
        <Badge tone="ok" sign="✓">
          on
        </Badge>
      ) : (
        <Badge sign="○">off</Badge>
      ),
  },
  {
    id: "provider",
    header: "Provider",
    width: "w-32",
    wideOnly: true,
    cell: (row) => textAt(row, "provider"),
  },
  {
    id: "model",
    header: "Its name there",
    wideOnly: true,
    cell: (row) => <code>{textAt(row, "model") || row.name}</code>,
  },
  {
    id: "key",
    header: "API key",
    width: "w-36",
    wideOnly: true,
    cell: ({ hasKey, keyReference }) =>
      keyReference ?? (hasKey ? "stored" : <span className="text-muted">none</span>),
  },
  {
    id: "source",
    header: "From",
    width: "w-32",
    wideOnly: true,
    cell: ({ source }) => (source === "settings" ? "settings file" : "added here"),
  },
];

export function Models() {
  const { isNew, create, go } = usePeople();
  const query = useData(["models", "list"], (signal) =>
    api.models.listModels.query(undefined, { signal }),
  );
  const items = query.data?.items;
  const { error, isError, refetch } = query;
  return (
    <>
      <Records
        noun="model"
        create="New model"
        query={{ data: items, error, isError, refetch }}
        columns={COLUMNS}
        idOf={({ name }) => name}
        holds={(q, row) => holds(q, row.name, textAt(row, "provider"), textAt(row, "model"))}
        about="Chat, agents and AI tools ask these models. Keys are encrypted and never shown again."
        command="ostiary models add local --provider openai --url http://127.0.0.1:11434/v1"
        detail={(name) => (
          <ModelDetail key={name} model={items?.find((one) => one.name === name)} name={name} />
        )}
      />
      <Dialog open={isNew} onClose={() => create(false)} title="New model">
        <ModelForm
          model={null}
          onCancel={() => create(false)}
          onDone={({ name }) => void go({ tab: "models", id: name })}
        />
      </Dialog>
    </>
  );
}

function ModelDetail({
  model,
  name,
}: {
  readonly model: Model | undefined;
  readonly name: string;
}) {
  const { open } = usePeople();
  const remove = useChange(() => api.models.removeModel.mutate({ name }), {
    refreshes: ["models"],
    leave: () => open(undefined),
    onDone: () => notify(`${name} is removed`),
  });
  if (!model) return <p>There is no model “{name}”.</p>;
  return (
    <>
      <Facts
        rows={[
          ["Name", <strong key="name">{model.name}</strong>],
          [
            "From",
            model.source === "settings" ? "the settings file: change it there" : "added here",
          ],
          ["API key", model.keyReference ?? (model.hasKey ? "stored, never shown" : "none")],
          ["Changed", <Time key="changed" at={model.updatedAt} />],
        ]}
      />
      <TestModel name={name} />
      {model.source === "api" ? (
        <>
          <ModelForm key={model.updatedAt} model={model} />
          <div className="border-t border-line pt-3">
            <ConfirmButton
              small
              label="Remove"
              question={`Remove ${name}?`}
              explain="Capsules that name it fall back to the first model that can do the work. This cannot be undone."
              confirm="Remove it"
              busy={remove.isPending}
              onConfirm={() => remove.mutate(undefined)}
            />
          </div>
        </>
      ) : null}
    </>
  );
}

function TestModel({ name }: { readonly name: string }) {
  const test = useChange(() => api.models.testModel.mutate({ name }));
  const { data } = test;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button small busy={test.isPending} onClick={() => test.mutate(undefined)}>
        Test the model
      </Button>
      <p role="status">
        {data === undefined ? null : data.ok ? (
          <span className="text-ok">
            ✓ answered “{visibleText(data.reply ?? "")}” after {Math.round(data.ms)} ms
          </span>
        ) : (
          <span className="text-deny">
            ✕ {visibleText(data.error?.message ?? "failed")}
            {data.error?.remedy === undefined ? "" : ` · ${visibleText(data.error.remedy)}`}
          </span>
        )}
      </p>
    </div>
  );
}
