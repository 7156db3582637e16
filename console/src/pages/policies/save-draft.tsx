// Keeps a draft on the server as a new version; nothing is in force by that.
import { useState } from "react";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { notify } from "../../ui/toast.tsx";
import type { Draft } from "./draft.ts";
import { GOVERNED, type Kind } from "./kinds.ts";
import { policiesRoute } from "./routes.ts";

export function SaveDraft({ kind, draft }: { readonly kind: Kind; readonly draft: Draft }) {
  const texts = GOVERNED[kind];
  const navigate = policiesRoute.useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [note, setNote] = useState("");
  const save = useChange(() => texts.draft(draft.files, note), {
    refreshes: [texts.noun],
    onDone: ({ document, faults }) => {
      setOpen(false);
      setNote("");
      draft.discard();
      notify(`Kept as version ${document.version}, a draft`, {
        ...(faults.length > 0 ? { detail: `It has ${faults.length} faults.` } : {}),
      });
      void navigate({ search: (old) => ({ ...old, version: document.version }) });
    },
  });
  return (
    <>
      <Button small disabled={draft.changed.length === 0} onClick={() => setOpen(true)}>
        Save draft
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title="Save as a new draft"
        lead="Others can open it then. What is in force does not change."
      >
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate(undefined);
          }}
        >
          <TextField
            label="Note"
            hint="Why; it stands in the ledger"
            maxLength={500}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" look="primary" busy={save.isPending}>
              Save draft
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
