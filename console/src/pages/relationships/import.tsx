// A file of the SpiceDB playground is read in the browser and written in batches.
import { useState } from "react";
import { api } from "../../api/client.ts";
import { failureOf } from "../../api/failure.ts";
import { queryClient } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Failed } from "../../ui/states.tsx";
import { notify } from "../../ui/toast.tsx";
import type { Playground } from "./playground.ts";
import { NOUN } from "./relationships.ts";
import { useSchema } from "./suggestions.tsx";

/** As many as one request takes; a larger file is not one change. */
const BATCH = 1_000;

export function ImportButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Import</Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Import relationships"
        lead="A YAML file with the keys schema and relationships, as Export and the SpiceDB playground write it."
      >
        {isOpen ? <ImportForm onDone={() => setOpen(false)} /> : null}
      </Dialog>
    </>
  );
}

function ImportForm({ onDone }: { readonly onDone: () => void }) {
  const { schema: inForce = "" } = useSchema().data ?? {};
  const [text, setText] = useState("");
  const [read, setRead] = useState<{ file: Playground; isOther: boolean } | null>(null);
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [progress, setProgress] = useState<number | null>(null);
  const [failure, setFailure] = useState<unknown>(null);

  const take = async (given: string): Promise<void> => {
    setText(given);
    setRead(null);
    setFault(undefined);
    if (given.trim() === "") return;
    const { parsePlayground, isSameSchema } = await import("./playground.ts");
    try {
      const file = parsePlayground(given);
      setRead({ file, isOther: file.schema !== "" && !isSameSchema(file.schema, inForce) });
    } catch (cause) {
      setFault((cause as Error).message.split("\n")[0]);
    }
  };
  const write = async ({ relationships }: Playground): Promise<void> => {
    setFailure(null);
    try {
      for (let at = 0; at < relationships.length; at += BATCH) {
        setProgress(at);
        const batch = relationships.slice(at, at + BATCH);
        await writeBatch(batch);
      }
      onDone();
      notify(`${relationships.length.toLocaleString("en")} relationships are imported`);
    } catch (cause) {
      setFailure(cause);
    } finally {
      setProgress(null);
      await queryClient.invalidateQueries({ queryKey: [NOUN] });
    }
  };
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (read) void write(read.file);
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="text-[13px] font-medium">File</span>
        <input
          type="file"
          accept=".yaml,.yml,.zed,text/plain"
          className="min-h-8"
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            if (file) void file.text().then(take);
          }}
        />
      </label>
      <TextArea
        label="or its text"
        mono
        rows={8}
        value={text}
        onChange={(event) => void take(event.target.value)}
        fault={fault}
      />
      {read ? (
        <p role="status">
          {read.file.relationships.length.toLocaleString("en")} relationships to write; those that
          are there already stay as they are.
          {read.isOther
            ? " The schema in this file is not the one in force: only its relationships are imported."
            : ""}
        </p>
      ) : null}
      {failure === null ? null : <Failed cause={failure} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" disabled={!read} busy={progress !== null}>
          {progress === null || progress === 0
            ? "Import"
            : `${progress.toLocaleString("en")} written`}
        </Button>
      </div>
    </form>
  );
}

/** A fault names the line of the file. */
async function writeBatch(batch: Playground["relationships"]): Promise<void> {
  try {
    await api.relationships.writeRelationships.mutate({
      changes: batch.map(({ text }) => ({ relationship: text })),
    });
  } catch (cause) {
    const { errors = [] } = failureOf(cause);
    const at = Number(/^\/changes\/(\d+)/.exec(errors[0]?.path ?? "")?.[1]);
    const line = batch[at];
    if (line) throw new Error(`Line ${line.line}, ${line.text}: ${errors[0]?.message}`, { cause });
    throw cause;
  }
}
