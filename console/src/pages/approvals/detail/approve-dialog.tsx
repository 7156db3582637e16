// The confirmation: exactly what will run, read to its end, and how far the answer reaches.
import { useEffect, useState } from "react";
import { api, type Inputs } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { argumentsText, parseArguments } from "../../../ui/arguments/parse.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Diff } from "../../../ui/diff.tsx";
import { TextField } from "../../../ui/field.tsx";
import { ReadThrough } from "../../../ui/read-through.tsx";
import { Failed } from "../../../ui/states.tsx";
import { notify, notifyFailure } from "../../../ui/toast.tsx";
import { type Approval, argumentsOf, votesFor } from "../approval.ts";
import { type Scope, ScopeChoice } from "../rules/scope-choice.tsx";
import { SignInAgain, wantsSignIn } from "../sign-in-again.tsx";
import { Wish } from "../wish.tsx";

const ONCE: Scope = { forSeconds: null, matches: undefined };

export function ApproveDialog({
  open,
  onClose,
  row,
  edited,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly row: Approval;
  readonly edited: string | null;
}) {
  const { userId } = useSession();
  const [isRead, setRead] = useState(false);
  const [comment, setComment] = useState("");
  const [scope, setScope] = useState<Scope>(ONCE);
  const asked = argumentsOf(row);
  const change = edited === null ? undefined : parseArguments(edited).value;
  const isEdit = change !== undefined && argumentsText(change) !== argumentsText(asked);
  // Other text is other arguments: they are read again.
  useEffect(() => setRead(false), [edited, row.version, open]);
  const approve = useApproval(row, scope, onClose);
  const mayRule = row.needed === 1 && row.requester !== userId;
  return (
    <Dialog
      open={open}
      onClose={onClose}
      size="large"
      title="Approve this call?"
      lead="It runs once with exactly these arguments. The gate judges it again first."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isRead) return;
          approve.mutate({
            id: row.id,
            version: row.version,
            ...(comment.trim() === "" ? {} : { comment: comment.trim() }),
            ...(isEdit ? { arguments: change } : {}),
          });
        }}
      >
        <p>
          <Wish row={isEdit ? { ...row, editedArguments: change } : row} large />
        </p>
        <ReadThrough label="Arguments that will run" onRead={() => setRead(true)}>
          {isEdit ? (
            <Diff
              label="As asked, and as it will run"
              before={argumentsText(asked)}
              after={argumentsText(change)}
            />
          ) : (
            <pre className="break-words whitespace-pre-wrap">
              {visibleText(argumentsText(asked))}
            </pre>
          )}
        </ReadThrough>
        {row.needed > 1 ? (
          <p className="text-muted">
            {votesFor(row)} of {row.needed} people have agreed; it runs once all have.
          </p>
        ) : null}
        <TextField
          label="Comment"
          value={comment}
          maxLength={1000}
          onChange={(event) => setComment(event.target.value)}
          hint="Reaches whoever asked"
        />
        {mayRule ? (
          <ScopeChoice row={row} scope={scope} onChange={setScope} isEdit={isEdit} />
        ) : null}
        {approve.isError ? <Failed cause={approve.error} /> : null}
        {approve.isError && wantsSignIn(faultText(approve.error)) ? <SignInAgain /> : null}
        <div className="flex flex-wrap items-center justify-end gap-2">
          {isRead ? null : (
            <p className="mr-auto text-[13px] text-muted">Scroll through the arguments first</p>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={!isRead} busy={approve.isPending}>
            {scope.forSeconds === null ? "Approve once" : "Approve and make the rule"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function faultText(cause: unknown): string {
  const { message, remedy } = failureOf(cause);
  return `${message} ${remedy ?? ""}`;
}

/** Agrees, then makes the rule if one was wanted: it is drafted from an approval that was granted. */
function useApproval(row: Approval, { forSeconds, matches }: Scope, onDone: () => void) {
  const rule = useChange(
    (input: Inputs["approvals"]["draftApprovalRule"]) =>
      api.approvals.draftApprovalRule.mutate(input),
    {
      refreshes: ["approvals"],
      quiet: true,
      onDone: ({ id }) =>
        notify("Standing rule made", {
          detail: "Calls like it run unasked until it ends.",
          undo: () =>
            void api.approvals.revokeApprovalRule.mutate({ id }).then(
              () => notify("Rule revoked"),
              (cause: unknown) => notifyFailure(failureOf(cause)),
            ),
        }),
    },
  );
  return useChange((input: Inputs["approvals"]["approve"]) => api.approvals.approve.mutate(input), {
    refreshes: ["approvals", "executions"],
    quiet: true,
    onDone: ({ state, needed, votes }) => {
      const count = votesFor({ votes });
      notify(state === "pending" ? `Your vote counts: ${count} of ${needed}` : "Approved", {
        ...(state === "pending" ? {} : { detail: "The call goes on." }),
      });
      onDone();
      if (forSeconds !== null && state !== "pending")
        rule.mutate(
          { id: row.id, expiresInSeconds: forSeconds, ...(matches ? { matches } : {}) },
          { onError: (cause) => notifyFailure(failureOf(cause)) },
        );
    },
  });
}
