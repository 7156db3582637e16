// The servers of an AI client's configuration file, pasted as it is.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { TextArea } from "../../../ui/field.tsx";
import { Form } from "../../../ui/form.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Sign } from "../../../ui/verdict.tsx";
import { filled, linesOf, readFolders } from "./fields.ts";
import { Offer } from "./offer.tsx";

type Imported = Outputs["servers"]["importServers"];

export function AddFromFile() {
  const [text, setText] = useState("");
  const [folders, setFolders] = useState("");
  const [hosts, setHosts] = useState("");
  const send = (dryRun: boolean) =>
    api.servers.importServers.mutate({
      text,
      dryRun,
      ...filled("folders", readFolders(folders)),
      ...filled("network", linesOf(hosts)),
    });
  const test = useChange(() => send(true), { quiet: true });
  const add = useChange(() => send(false), {
    quiet: true,
    refreshes: ["servers"],
    onDone: ({ servers }) => {
      const added = servers.filter(({ tried }) => tried !== null);
      notify(`${added.length} of ${servers.length} servers are added`);
    },
  });
  const shown = add.data ?? test.data;
  const isBusy = test.isPending || add.isPending;
  return (
    <Form
      submit="Add these servers"
      onSubmit={() => add.mutate(undefined)}
      busy={add.isPending}
      disabled={text.trim() === "" || isBusy}
      cause={add.error ?? test.error}
      actions={
        <Button
          busy={test.isPending}
          disabled={text.trim() === "" || isBusy}
          onClick={() => {
            add.reset();
            test.mutate(undefined);
          }}
        >
          Show what would be added
        </Button>
      }
    >
      <p className="text-muted">
        The configuration of Claude, Cursor, Windsurf, VS Code and others: an object with{" "}
        <code>mcpServers</code> or <code>servers</code>. Secrets in it are encrypted at once.
      </p>
      <Editor
        label="Configuration of the client"
        language="json"
        value={text}
        onChange={setText}
        className="h-56"
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <TextArea
          label="Folders for its programs"
          mono
          rows={2}
          placeholder="/srv/data:rw"
          value={folders}
          hint="One on a line; read-only unless :rw follows"
          onChange={(event) => setFolders(event.target.value)}
        />
        <TextArea
          label="Hosts for its programs"
          mono
          rows={2}
          placeholder="registry.npmjs.org"
          value={hosts}
          hint="One on a line; npx needs the registry"
          onChange={(event) => setHosts(event.target.value)}
        />
      </div>
      {shown ? <ImportResult result={shown} isAdded={add.data !== undefined} /> : null}
    </Form>
  );
}

function ImportResult({
  result,
  isAdded,
}: {
  readonly result: Imported;
  readonly isAdded: boolean;
}) {
  const { servers, faults } = result;
  return (
    <div className="flex flex-col gap-2">
      {servers.length + faults.length === 0 ? <p>There is no server in it.</p> : null}
      {servers.map(({ name, called, tried, fault, needs, ignored }) => (
        <div key={name} className="flex flex-col gap-1">
          {tried ? (
            <Offer tried={tried} />
          ) : (
            <p className="rounded-md bg-deny-soft px-3 py-2 text-deny">
              ✕ {name} {called === name ? "" : `(${visibleText(called)}) `}cannot be added:{" "}
              {visibleText(fault?.message ?? "")}
            </p>
          )}
          {needs.length > 0 ? (
            <p className="text-hold">
              <Sign sign="⏸" className="mr-1 inline" />
              It still needs the credential {needs.join(", ")}.
            </p>
          ) : null}
          {ignored.length > 0 ? (
            <p className="text-muted">Left out, as it means nothing here: {ignored.join(", ")}</p>
          ) : null}
          {isAdded && tried ? (
            <p>
              <Link to="/servers/$name" params={{ name }}>
                Review the tools of {name}
              </Link>
            </p>
          ) : null}
        </div>
      ))}
      {faults.map(({ path, message, suggestion }) => (
        <p key={path} className="rounded-md bg-deny-soft px-3 py-2 text-deny">
          ✕ <code>{visibleText(path || "/")}</code> {visibleText(message)}
          {suggestion === undefined ? "" : `: ${suggestion}`}
        </p>
      ))}
    </div>
  );
}
