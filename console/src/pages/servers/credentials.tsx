// Credentials of a server: their names; values go in and never come out.
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Check, TextField } from "../../ui/field.tsx";
import { faultsOf, Form } from "../../ui/form.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { notify } from "../../ui/toast.tsx";

interface Named {
  readonly name: string;
  readonly updatedAt: string;
  readonly own: boolean;
}

export function Credentials({ name }: { readonly name: string }) {
  const query = useData(["servers", "credentials", name], (signal) =>
    api.servers.listServerCredentials.query({ name }, { signal }),
  );
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Stored" flush>
        <Loaded query={query}>
          {({ shared, own }) => {
            const rows = [
              ...shared.map((row) => ({ ...row, own: false })),
              ...own.map((row) => ({ ...row, own: true })),
            ];
            return rows.length === 0 ? (
              <Empty
                title="No credentials yet"
                text="Headers and environment name a credential as ${credential:NAME}; its value is stored here, encrypted."
                command={`ostiary servers credential ${name} TOKEN`}
              />
            ) : (
              <ul>
                {rows.map((row) => (
                  <Stored key={`${row.own} ${row.name}`} server={name} row={row} />
                ))}
              </ul>
            );
          }}
        </Loaded>
      </Card>
      <Card title="Store a credential">
        <PutCredential server={name} />
      </Card>
    </div>
  );
}

function Stored({ server, row }: { readonly server: string; readonly row: Named }) {
  const { name, own, updatedAt } = row;
  const remove = useChange(
    () => api.servers.removeServerCredential.mutate({ name: server, credential: name, own }),
    { refreshes: ["servers"], onDone: () => notify(`${name} is forgotten`) },
  );
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 px-4 py-2 last:border-0">
      <span className="min-w-0">
        <code className="font-medium">{name}</code>{" "}
        <span className="text-muted">
          {own ? "your own" : "everybody’s"} · stored <Time at={updatedAt} />
        </span>
      </span>
      <ConfirmButton
        small
        label={`Forget ${name}`}
        question={`Forget ${name}?`}
        explain={`Calls to ${server} that need it fail until it is stored again. The value cannot be brought back.`}
        confirm="Forget it"
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
      />
    </li>
  );
}

function PutCredential({ server }: { readonly server: string }) {
  const [credential, setCredential] = useState("");
  const [value, setValue] = useState("");
  const [own, setOwn] = useState(false);
  const put = useChange(
    () => api.servers.putServerCredential.mutate({ name: server, credential, value, own }),
    {
      quiet: true,
      refreshes: ["servers"],
      onDone: () => {
        notify(`${credential} is stored`);
        setCredential("");
        setValue("");
      },
    },
  );
  const fault = faultsOf(put.error);
  return (
    <Form
      submit="Store"
      busy={put.isPending}
      disabled={credential === "" || value === ""}
      cause={put.error}
      onSubmit={() => put.mutate(undefined)}
    >
      <TextField
        label="Name"
        placeholder="TOKEN"
        value={credential}
        fault={fault("/credential")}
        onChange={(event) => setCredential(event.target.value)}
        hint="As ${credential:NAME} names it"
      />
      <TextField
        label="Value"
        type="password"
        autoComplete="new-password"
        value={value}
        fault={fault("/value")}
        onChange={(event) => setValue(event.target.value)}
        hint="Encrypted at once, never shown again. The same name replaces it."
      />
      <Check
        label="Only for my own calls"
        hint="Where the server takes a credential of each user"
        checked={own}
        onChange={(event) => setOwn(event.target.checked)}
      />
    </Form>
  );
}
