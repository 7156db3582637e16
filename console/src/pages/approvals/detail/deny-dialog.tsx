import { useState } from "react";
import { api } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { TextArea } from "../../../ui/field.tsx";
import { Failed } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import type { Approval } from "../approval.ts";
import { SignInAgain, wantsSignIn } from "../sign-in-again.tsx";
import { Wish } from "../wish.tsx";

export function DenyDialog({
  open,
  onClose,
  row,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly row: Approval;
}) {
  const [comment, setComment] = useState("");
  const deny = useChange(
    () =>
      api.approvals.deny.mutate({
        id: row.id,
        version: row.version,
        ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
      }),
    {
      refreshes: ["approvals", "executions"],
      quiet: true,
      onDone: () => {
        notify("Denied", { detail: "The call does not run, and whoever asked is told." });
        onClose();
      },
    },
  );
  return (
    <Dialog open={open} onClose={onClose} title="Deny this call?" lead="It does not run.">
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          deny.mutate(undefined);
        }}
      >
        <p>
          <Wish row={row} />
        </p>
        <TextArea
          label="Reason"
          value={comment}
          maxLength={1000}
          onChange={(event) => setComment(event.target.value)}
          hint="Reaches whoever asked: say what they should do instead"
        />
        {deny.isError ? <Failed cause={deny.error} /> : null}
        {deny.isError && wantsSignIn(failureOf(deny.error).message) ? <SignInAgain /> : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" busy={deny.isPending}>
            Deny this call
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
