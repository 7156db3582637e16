// What can be done with several executions at once.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useChange } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { TextField } from "../../../ui/field.tsx";
import { notify } from "../../../ui/toast.tsx";
import { isOpen, type Row } from "../row.ts";

export function SelectionBar({
  rows,
  chosen,
  onClear,
}: {
  readonly rows: readonly Row[];
  readonly chosen: ReadonlySet<string>;
  readonly onClear: () => void;
}) {
  const [reason, setReason] = useState("");
  const { userId } = useSession();
  // Only whoever made a call cancels it.
  const open = rows.filter((row) => chosen.has(row.id) && isOpen(row) && row.userId === userId);
  const cancel = useChange(cancelAll, {
    refreshes: ["executions"],
    onDone: ({ cancelled, failures }) => {
      notify(`${cancelled} cancelled`, failures.length > 0 ? { detail: failures.join(" · ") } : {});
      onClear();
    },
  });
  useShortcut("Escape", "Clear the selection", onClear, chosen.size > 0);
  if (chosen.size === 0) return null;
  return (
    <div
      role="region"
      aria-label="Selection"
      className="flex flex-wrap items-center gap-2 border-t border-line bg-accent-soft px-3 py-2"
    >
      <strong>{chosen.size} selected</strong>
      <span className="text-muted">
        {open.length === 0
          ? "none of them is a call of yours that runs or waits"
          : `${open.length} can be cancelled`}
      </span>
      <span className="ml-auto flex gap-2">
        {open.length > 0 ? (
          <ConfirmButton
            small
            label={`Cancel ${open.length} …`}
            question={`Cancel ${open.length} ${open.length === 1 ? "execution" : "executions"}?`}
            explain="Each is stopped where it is. What it has done so far stays done."
            confirm={`Cancel ${open.length}`}
            busy={cancel.isPending}
            onConfirm={() => cancel.mutate({ ids: open.map(({ id }) => id), reason })}
          >
            <TextField
              label="Reason"
              value={reason}
              maxLength={500}
              onChange={(event) => setReason(event.target.value)}
              hint="Kept in the record"
            />
          </ConfirmButton>
        ) : null}
        <Button small onClick={onClear}>
          Clear
        </Button>
      </span>
    </div>
  );
}

/** One after the other; one that ended meanwhile does not stop the rest. */
async function cancelAll({ ids, reason }: { ids: readonly string[]; reason: string }) {
  let cancelled = 0;
  const failures: string[] = [];
  const why = reason.trim() === "" ? {} : { reason: reason.trim() };
  for (const executionId of ids) {
    try {
      await api.tools.cancelToolExecution.mutate({ executionId, ...why });
      cancelled++;
    } catch (cause) {
      failures.push(failureOf(cause).message);
    }
  }
  return { cancelled, failures };
}
