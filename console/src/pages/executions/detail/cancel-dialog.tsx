import { type FormEvent, useState } from "react";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { Button, ButtonLink } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { notify } from "../../../ui/toast.tsx";
import type { Execution } from "../row.ts";

export function CancelDialog({
  execution,
  open,
  onClose,
}: {
  readonly execution: Execution;
  readonly open: boolean;
  readonly onClose: () => void;
}) {
  const { userId } = useSession();
  const isOthersHold = execution.status === "pending" && execution.userId !== userId;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={isOthersHold ? "This call waits for a decision" : "Cancel this execution?"}
      lead={
        isOthersHold
          ? `It has not run. Deny it, and ${execution.userId} reads your reason.`
          : "It is stopped where it is. What it has done so far stays done."
      }
    >
      {isOthersHold ? (
        <div className="flex justify-end">
          <ButtonLink to={`/approvals/${execution.approvalId ?? ""}`} look="primary">
            Open the approval
          </ButtonLink>
        </div>
      ) : (
        <CancelForm executionId={execution.id} onClose={onClose} />
      )}
    </Dialog>
  );
}

function CancelForm({
  executionId,
  onClose,
}: {
  readonly executionId: string;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState("");
  const cancel = useChange(
    () =>
      api.tools.cancelToolExecution.mutate({
        executionId,
        ...(reason.trim() === "" ? {} : { reason: reason.trim() }),
      }),
    {
      refreshes: ["executions", "approvals"],
      onDone: () => {
        notify("Execution cancelled");
        onClose();
      },
    },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    cancel.mutate(undefined);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <TextField
        label="Reason"
        value={reason}
        maxLength={500}
        onChange={(event) => setReason(event.target.value)}
        hint="Kept in the record"
      />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Let it run</Button>
        <Button type="submit" look="danger" busy={cancel.isPending}>
          Cancel the execution
        </Button>
      </div>
    </form>
  );
}
