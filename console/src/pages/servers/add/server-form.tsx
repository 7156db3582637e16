// An MCP server by hand: a program of this machine, or an address.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Select, TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import { filled, linesOf, readFolders, readPairs, splitCommand } from "./fields.ts";
import { Offer } from "./offer.tsx";

type NewServer = Inputs["servers"]["addServer"];

const BLANK = {
  name: "",
  description: "",
  kind: "stdio" as "stdio" | "http" | "sse",
  command: "",
  env: "",
  folders: "",
  hosts: "",
  isolation: "sandbox" as "sandbox" | "none",
  url: "",
  headers: "",
  auth: "headers" as "headers" | "oauth",
  credentials: "",
};
type Draft = typeof BLANK;

function transportOf(draft: Draft): NewServer["transport"] {
  if (draft.kind !== "stdio")
    return {
      kind: draft.kind,
      url: draft.url.trim(),
      auth: draft.auth,
      ...filled("headers", readPairs(draft.headers, ":")),
    };
  const hosts = linesOf(draft.hosts);
  return {
    kind: "stdio",
    argv: splitCommand(draft.command) ?? [],
    isolation: draft.isolation,
    ...filled("env", readPairs(draft.env, "=")),
    ...filled("folders", readFolders(draft.folders)),
    ...(hosts.length === 0 ? {} : { network: { hosts } }),
  };
}

export function AddServer() {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(BLANK);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const send = (dryRun: boolean) =>
    api.servers.addServer.mutate({
      name: draft.name.trim(),
      description: draft.description.trim(),
      transport: transportOf(draft),
      dryRun,
      ...filled("credentials", readPairs(draft.credentials, "=")),
    });
  const test = useChange(() => send(true), { quiet: true });
  const add = useChange(() => send(false), {
    quiet: true,
    refreshes: ["servers"],
    onDone: ({ server, tools }) => {
      notify(`${server.name} is added`, { detail: `${tools.length} tools wait for your review` });
      void navigate({ to: "/servers/$name", params: { name: server.name } });
    },
  });
  const cause = add.error ?? test.error;
  const fault = faultsOf(cause);
  const isProgram = draft.kind === "stdio";
  const isReady = draft.name !== "" && (isProgram ? draft.command : draft.url).trim() !== "";
  const isBusy = test.isPending || add.isPending;
  return (
    <Form
      submit="Add server"
      onSubmit={() => add.mutate(undefined)}
      busy={add.isPending}
      disabled={!isReady || isBusy}
      cause={cause}
      actions={
        <Button
          busy={test.isPending}
          disabled={!isReady || isBusy}
          onClick={() => {
            add.reset();
            test.mutate(undefined);
          }}
        >
          Try it first
        </Button>
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          required
          placeholder="tracker"
          value={draft.name}
          fault={fault("/name")}
          hint="Also the first part of its tools’ names: tracker/create_issue"
          onChange={(event) => set({ name: event.target.value })}
        />
        <Select
          label="Reached by"
          value={draft.kind}
          onChange={(event) => set({ kind: event.target.value as Draft["kind"] })}
          options={[
            ["stdio", "a program on this machine"],
            ["http", "an address (streamable HTTP)"],
            ["sse", "an address (SSE, older servers)"],
          ]}
        />
      </div>
      {isProgram ? (
        <ProgramFields draft={draft} set={set} fault={fault} />
      ) : (
        <AddressFields draft={draft} set={set} fault={fault} />
      )}
      <TextArea
        label="Credentials"
        mono
        rows={2}
        placeholder="TOKEN=…"
        value={draft.credentials}
        fault={fault("/credentials")}
        hint="One NAME=value on a line, for ${credential:NAME} above. Encrypted at once, never shown again."
        onChange={(event) => set({ credentials: event.target.value })}
      />
      <TextField
        label="Description"
        value={draft.description}
        fault={fault("/description")}
        onChange={(event) => set({ description: event.target.value })}
      />
      {test.data && !add.error ? <Offer tried={test.data} /> : null}
    </Form>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly fault: (path: string) => string | undefined;
}

function ProgramFields({ draft, set, fault }: PartProps) {
  const isOpenQuote = splitCommand(draft.command) === null;
  return (
    <>
      <TextField
        label="Command"
        required
        placeholder="node server.js --quiet"
        value={draft.command}
        fault={isOpenQuote ? "A quote is not closed" : fault("/transport/argv")}
        hint="A program and its arguments; no shell reads them"
        onChange={(event) => set({ command: event.target.value })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <TextArea
          label="Folders"
          mono
          rows={2}
          placeholder={"/srv/data:rw\n/srv/docs"}
          value={draft.folders}
          fault={fault("/transport/folders")}
          hint="One on a line; read-only unless :rw follows"
          onChange={(event) => set({ folders: event.target.value })}
        />
        <TextArea
          label="Hosts"
          mono
          rows={2}
          placeholder="registry.npmjs.org"
          value={draft.hosts}
          fault={fault("/transport/network")}
          hint="Hosts it may reach, one on a line; none: no network"
          onChange={(event) => set({ hosts: event.target.value })}
        />
        <TextArea
          label="Environment"
          mono
          rows={2}
          placeholder="API_TOKEN=${credential:TOKEN}"
          value={draft.env}
          fault={fault("/transport/env")}
          hint="One NAME=value on a line"
          onChange={(event) => set({ env: event.target.value })}
        />
        <Select
          label="Sandbox"
          value={draft.isolation}
          fault={fault("/transport/isolation")}
          hint={
            draft.isolation === "none"
              ? "It may do on this machine whatever Ostiary may. The ledger records it."
              : "It sees its program, a folder of its own and what is named above"
          }
          onChange={(event) => set({ isolation: event.target.value as Draft["isolation"] })}
          options={[
            ["sandbox", "in a sandbox of its own"],
            ["none", "without a sandbox"],
          ]}
        />
      </div>
    </>
  );
}

function AddressFields({ draft, set, fault }: PartProps) {
  return (
    <>
      <TextField
        label="Address"
        type="url"
        required
        placeholder="https://tracker.example.org/mcp"
        value={draft.url}
        fault={fault("/transport/url")}
        onChange={(event) => set({ url: event.target.value })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <TextArea
          label="Headers"
          mono
          rows={2}
          placeholder="Authorization: Bearer ${credential:TOKEN}"
          value={draft.headers}
          fault={fault("/transport/headers")}
          hint="One Name: value on a line"
          onChange={(event) => set({ headers: event.target.value })}
        />
        <Select
          label="It knows us by"
          value={draft.auth}
          fault={fault("/transport/auth")}
          hint={draft.auth === "oauth" ? "You log in at the server after it is added" : undefined}
          onChange={(event) => set({ auth: event.target.value as Draft["auth"] })}
          options={[
            ["headers", "headers, or nothing"],
            ["oauth", "a login (OAuth)"],
          ]}
        />
      </div>
    </>
  );
}
