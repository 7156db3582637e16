import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { failureOf } from "../../api/failure.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Failed } from "../../ui/states.tsx";
import { notify } from "../../ui/toast.tsx";
import { NOUN } from "./relationships.ts";

export function AddButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        Add a relationship
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Add a relationship"
        lead="It holds before the server acknowledges it, and stands in the ledger."
      >
        <AddForm onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function AddForm({ onDone }: { readonly onDone: () => void }) {
  const [resource, setResource] = useState("");
  const [relation, setRelation] = useState("");
  const [subject, setSubject] = useState("");
  const [until, setUntil] = useState("");
  const end = until === "" ? "" : `[expiration:${new Date(until).toISOString()}]`;
  const text = `${resource.trim()}#${relation.trim()}@${subject.trim()}${end}`;
  const undo = useChange(
    (relationship: string) =>
      api.relationships.writeRelationships.mutate({
        changes: [{ operation: "delete", relationship }],
      }),
    { refreshes: [NOUN, "tools"] },
  );
  const write = useChange(
    (relationship: string) =>
      api.relationships.writeRelationships.mutate({
        changes: [{ operation: "create", relationship }],
      }),
    {
      quiet: true,
      refreshes: [NOUN, "tools"],
      onDone: (_answer, relationship) => {
        onDone();
        notify("Written", { detail: relationship, undo: () => undo.mutate(relationship) });
      },
    },
  );
  const isComplete = resource.trim() !== "" && relation.trim() !== "" && subject.trim() !== "";
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (isComplete) write.mutate(text);
      }}
    >
      <TextField
        label="Resource"
        placeholder="tool:system/echo"
        hint="A thing: tool:…, group:…, tenant:…, capsule:…"
        list="relation-types"
        value={resource}
        onChange={(event) => setResource(event.target.value)}
      />
      <TextField
        label="Relation"
        placeholder="executor"
        list="relation-names"
        value={relation}
        onChange={(event) => setRelation(event.target.value)}
      />
      <TextField
        label="Subject"
        placeholder="user:ada or group:eng#member"
        list="relation-types"
        value={subject}
        onChange={(event) => setSubject(event.target.value)}
      />
      <TextField
        label="Until (optional)"
        type="datetime-local"
        hint="Where the schema allows a grant that ends by itself"
        value={until}
        onChange={(event) => setUntil(event.target.value)}
      />
      {isComplete ? (
        <p className="text-muted">
          Writes <code className="text-text">{text}</code>
        </p>
      ) : null}
      {write.isError ? <Failed cause={write.error} /> : null}
      {write.isError && failureOf(write.error).code === "CONFLICT" ? (
        <p className="text-muted">It may be written down already.</p>
      ) : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" disabled={!isComplete} busy={write.isPending}>
          Write
        </Button>
      </div>
    </form>
  );
}
