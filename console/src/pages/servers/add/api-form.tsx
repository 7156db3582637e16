// An HTTP API whose operations become tools: from its OpenAPI document, or one endpoint by hand.
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Select, TextArea, TextField } from "../../../ui/field.tsx";
import { faultsOf, Form } from "../../../ui/form.tsx";
import { notify } from "../../../ui/toast.tsx";
import { filled, linesOf, readPairs } from "./fields.ts";
import { Offer } from "./offer.tsx";

type ApiInput = Inputs["servers"]["importApi"];

const BLANK = {
  name: "",
  url: "",
  source: "document" as "document" | "endpoint",
  openapi: "",
  choose: "",
  endpointName: "",
  endpointText: "",
  method: "GET",
  path: "",
  headers: "",
  credentials: "",
};
type Draft = typeof BLANK;

function inputOf(draft: Draft, dryRun: boolean): ApiInput {
  const { name, url, source, openapi, choose } = draft;
  return {
    name: name.trim(),
    dryRun,
    ...(url.trim() === "" ? {} : { url: url.trim() }),
    ...(source === "document"
      ? { openapi: openapi.trim(), ...filled("choose", linesOf(choose)) }
      : {
          endpoints: [
            {
              name: draft.endpointName.trim(),
              description: draft.endpointText.trim(),
              method: draft.method,
              url: draft.path.trim(),
            },
          ],
        }),
    ...filled("headers", readPairs(draft.headers, ":")),
    ...filled("credentials", readPairs(draft.credentials, "=")),
  };
}

export function AddApi() {
  const navigate = useNavigate();
  const [draft, setDraft] = useState(BLANK);
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const send = (dryRun: boolean) => api.servers.importApi.mutate(inputOf(draft, dryRun));
  const test = useChange(() => send(true), { quiet: true });
  const add = useChange(() => send(false), {
    quiet: true,
    refreshes: ["servers"],
    onDone: ({ server, tools }) => {
      notify(`${server.name} is added`, { detail: `${tools.length} operations wait for review` });
      void navigate({ to: "/servers/$name", params: { name: server.name } });
    },
  });
  const cause = add.error ?? test.error;
  const fault = faultsOf(cause);
  const isReady =
    draft.name !== "" && (draft.source === "document" ? draft.openapi : draft.path).trim() !== "";
  const isBusy = test.isPending || add.isPending;
  return (
    <Form
      submit="Add API"
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
          Show its operations
        </Button>
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Name"
          required
          placeholder="pets"
          value={draft.name}
          fault={fault("/name")}
          hint="The name of an API that exists imports it anew"
          onChange={(event) => set({ name: event.target.value })}
        />
        <TextField
          label="Address of the API"
          type="url"
          placeholder="https://api.example.org/v1"
          value={draft.url}
          fault={fault("/url")}
          hint="No other host is reached"
          onChange={(event) => set({ url: event.target.value })}
        />
        <Select
          label="Its operations"
          value={draft.source}
          onChange={(event) => set({ source: event.target.value as Draft["source"] })}
          options={[
            ["document", "from an OpenAPI document"],
            ["endpoint", "one endpoint by hand"],
          ]}
        />
      </div>
      {draft.source === "document" ? (
        <DocumentFields draft={draft} set={set} fault={fault} />
      ) : (
        <EndpointFields draft={draft} set={set} fault={fault} />
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <TextArea
          label="Headers"
          mono
          rows={2}
          placeholder="X-Api-Key: ${credential:apiKey}"
          value={draft.headers}
          fault={fault("/headers")}
          hint="Sent with every request; none: as the document says"
          onChange={(event) => set({ headers: event.target.value })}
        />
        <TextArea
          label="Credentials"
          mono
          rows={2}
          placeholder="apiKey=…"
          value={draft.credentials}
          fault={fault("/credentials")}
          hint="Encrypted at once, never shown again"
          onChange={(event) => set({ credentials: event.target.value })}
        />
      </div>
      {test.data && !add.error ? <Offer tried={test.data} /> : null}
    </Form>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly fault: (path: string) => string | undefined;
}

function DocumentFields({ draft, set, fault }: PartProps) {
  return (
    <>
      <TextArea
        label="OpenAPI document"
        mono
        required
        rows={6}
        placeholder="https://api.example.org/openapi.json, or the document as JSON or YAML"
        value={draft.openapi}
        fault={fault("/openapi")}
        onChange={(event) => set({ openapi: event.target.value })}
      />
      <TextArea
        label="Only these operations"
        mono
        rows={2}
        placeholder={"tag:pets+!method:delete\ngetPet"}
        value={draft.choose}
        fault={fault("/choose")}
        hint="operationId, tag:…, method:… or path:… , one on a line; + means both, ! means not; none: all"
        onChange={(event) => set({ choose: event.target.value })}
      />
    </>
  );
}

function EndpointFields({ draft, set, fault }: PartProps) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <TextField
        label="Name of the tool"
        required
        placeholder="read_note"
        value={draft.endpointName}
        fault={fault("/endpoints/0/name")}
        onChange={(event) => set({ endpointName: event.target.value })}
      />
      <Select
        label="Method"
        value={draft.method}
        fault={fault("/endpoints/0/method")}
        onChange={(event) => set({ method: event.target.value })}
        options={["GET", "POST", "PUT", "PATCH", "DELETE"].map((name) => [name, name] as const)}
      />
      <TextField
        label="Path"
        required
        placeholder="/notes/{id}?lang={lang}"
        value={draft.path}
        fault={fault("/endpoints/0/url")}
        hint="{placeholders} become arguments"
        onChange={(event) => set({ path: event.target.value })}
      />
      <TextField
        label="What it does"
        required
        placeholder="Reads a note"
        value={draft.endpointText}
        fault={fault("/endpoints/0/description")}
        hint="Models read this to choose the tool"
        onChange={(event) => set({ endpointText: event.target.value })}
      />
    </div>
  );
}
