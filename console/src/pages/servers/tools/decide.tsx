// Approve and reject, for one tool or for many.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton, Dialog } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { notify } from "../../../ui/toast.tsx";
import type { ServerTool } from "../types.ts";
import { ApproveForm } from "./approve-form.tsx";

export function Decide({
  server,
  tools,
  as,
  onDone,
}: {
  readonly server: string;
  readonly tools: readonly ServerTool[];
  /** What they are in a list: those that were chosen, or all that wait. */
  readonly as?: "chosen" | "waiting";
  readonly onDone?: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const what = as === undefined ? "" : ` ${tools.length} ${as}`;
  return (
    <>
      <Button small look="primary" onClick={() => setOpen(true)}>
        Approve{what}…
      </Button>
      <Reject server={server} tools={tools} what={what} onDone={onDone} />
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={
          tools.length === 1 ? `Approve ${tools[0]?.name ?? ""}` : `Approve ${tools.length} tools`
        }
        lead="Exactly what you have seen is approved. When the server changes a definition, the tool is held until you look again."
      >
        <ApproveForm
          server={server}
          tools={tools}
          onCancel={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            onDone?.();
          }}
        />
      </Dialog>
    </>
  );
}

function Reject({
  server,
  tools,
  what,
  onDone,
}: {
  readonly server: string;
  readonly tools: readonly ServerTool[];
  readonly what: string;
  readonly onDone: (() => void) | undefined;
}) {
  const [reason, setReason] = useState("");
  const reject = useChange(
    () =>
      api.servers.rejectServerTools.mutate({
        name: server,
        tools: tools.map(({ name }) => name),
        ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
      }),
    {
      refreshes: ["servers", "tools"],
      onDone: ({ tools: rejected }) => {
        notify(
          `${rejected.length === 1 ? rejected[0]?.name : `${rejected.length} tools`} rejected`,
        );
        setReason("");
        onDone?.();
      },
    },
  );
  return (
    <ConfirmButton
      small
      label={`Reject${what}`}
      question={
        tools.length === 1 ? `Reject ${tools[0]?.name ?? ""}?` : `Reject ${tools.length} tools?`
      }
      explain="Nobody can call them. Of a changed tool only the change is turned down. You can approve them later."
      confirm="Reject"
      busy={reject.isPending}
      onConfirm={() => reject.mutate(undefined)}
    >
      <TextField
        label="Reason"
        hint="Optional; kept in the ledger"
        maxLength={500}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </ConfirmButton>
  );
}
