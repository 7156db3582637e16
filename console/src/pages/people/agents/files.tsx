// Capsules, personas and models as one YAML file: taken out, and brought in after a dry run.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { jsonText, visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { Diff } from "../../../ui/diff.tsx";
import { Editor } from "../../../ui/editor/editor.tsx";
import { Form } from "../../../ui/form.tsx";
import { Card } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";

type Change = Outputs["agents"]["importAgents"]["changes"][number];

export function AgentFiles() {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <ExportCard />
      <ImportCard />
    </div>
  );
}

function save(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "agents.yaml";
  link.click();
  URL.revokeObjectURL(url);
}

function ExportCard() {
  const query = useData(["capsules", "file"], (signal) =>
    api.agents.exportAgents.query({}, { signal }),
  );
  return (
    <Card
      title="Export"
      actions={
        query.data ? (
          <span className="flex gap-1">
            <Copy text={query.data.text} label="Copy the file" />
            <Button small onClick={() => save(query.data.text)}>
              Download agents.yaml
            </Button>
          </span>
        ) : null
      }
    >
      <p className="mb-3 text-muted">
        All capsules, personas and models of the tenant. Keys are left out.
      </p>
      <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
        {({ text }) => (
          <Editor label="Exported file" language="yaml" value={text} readOnly className="h-96" />
        )}
      </Loaded>
    </Card>
  );
}

function ImportCard() {
  const [text, setText] = useState("");
  const check = useChange(() => api.agents.importAgents.mutate({ text, dryRun: true }), {
    quiet: true,
  });
  const bring = useChange(() => api.agents.importAgents.mutate({ text }), {
    quiet: true,
    refreshes: ["capsules", "personas", "models", "servers"],
    onDone: ({ changes }) =>
      notify(
        `${changes.filter(({ change }) => change !== "unchanged").length} records are written`,
      ),
  });
  const isBusy = check.isPending || bring.isPending;
  const shown = bring.data ?? check.data;
  return (
    <Card title="Import">
      <Form
        submit="Import"
        onSubmit={() => bring.mutate(undefined)}
        busy={bring.isPending}
        disabled={text.trim() === "" || isBusy}
        cause={bring.error ?? check.error}
        actions={
          <Button
            busy={check.isPending}
            disabled={text.trim() === "" || isBusy}
            onClick={() => {
              bring.reset();
              check.mutate(undefined);
            }}
          >
            Show what would change
          </Button>
        }
      >
        <p className="text-muted">
          Paste the file. Nothing is written unless all of it is valid; servers that it defines wait
          switched off.
        </p>
        <Editor
          label="File to import"
          language="yaml"
          value={text}
          onChange={setText}
          className="h-72"
        />
        {shown ? <Changes changes={shown.changes} isDone={bring.data !== undefined} /> : null}
      </Form>
    </Card>
  );
}

const TONES: Record<Change["change"], Tone> = {
  created: "ok",
  changed: "hold",
  unchanged: "plain",
};
const SIGNS: Record<Change["change"], string> = { created: "+", changed: "±", unchanged: "=" };

function Changes({
  changes,
  isDone,
}: {
  readonly changes: readonly Change[];
  readonly isDone: boolean;
}) {
  return (
    <section aria-label="Changes" className="flex flex-col gap-2">
      <h3>{isDone ? "Written" : "Would be written"}</h3>
      {changes.map(({ kind, id, change, fields }) => (
        <div key={`${kind} ${id}`} className="flex flex-col gap-1 border-t border-line/60 pt-2">
          <span className="flex items-center gap-2">
            <Badge tone={TONES[change]} sign={SIGNS[change]}>
              {change}
            </Badge>
            {kind} <code>{visibleText(id)}</code>
          </span>
          {change === "changed"
            ? fields.map(({ path, from, to }) => (
                <div key={path}>
                  <code>{visibleText(path)}</code>
                  <Diff label={`change of ${path}`} before={jsonText(from)} after={jsonText(to)} />
                </div>
              ))
            : null}
        </div>
      ))}
    </section>
  );
}
