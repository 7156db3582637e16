// The decision: always in view, never made by one key or one click.
import { useState } from "react";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { parseArguments } from "../../../ui/arguments/parse.ts";
import { Button } from "../../../ui/button.tsx";
import type { Approval } from "../approval.ts";
import { SignInAgain, wantsSignIn } from "../sign-in-again.tsx";
import { ApproveDialog } from "./approve-dialog.tsx";
import { DenyDialog } from "./deny-dialog.tsx";

type Asked = "approve" | "deny" | null;

export function DecisionBar({
  row,
  edited,
  opens,
  onEdit,
}: {
  readonly row: Approval;
  readonly edited: string | null;
  /** What the list asked for with a key. */
  readonly opens: Asked;
  readonly onEdit: () => void;
}) {
  const [asked, setAsked] = useState<Asked>(row.mayDecide ? opens : null);
  const fault = edited === null ? undefined : parseArguments(edited).fault;
  const may = row.mayDecide;
  const mayApprove = may && fault === undefined;
  useShortcut("a", "Approve: opens the confirmation", () => setAsked("approve"), mayApprove);
  useShortcut("d", "Deny: opens the confirmation", () => setAsked("deny"), may);
  useShortcut("e", "Edit the arguments, or discard the edit", onEdit, may);
  if (!may)
    return wantsSignIn(row.mayNot ?? "") ? (
      <SignInAgain />
    ) : (
      <p className="rounded-lg border border-line bg-surface p-4 text-muted">
        You cannot decide this one: {row.mayNot ?? `it is ${row.state}`}
      </p>
    );
  return (
    <div
      role="group"
      aria-label="Decision"
      className="sticky bottom-0 z-10 -mx-4 mt-auto -mb-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-surface px-4 py-3 md:-mx-6 md:-mb-6 md:px-6"
    >
      <Button onClick={onEdit} aria-pressed={edited !== null}>
        {edited === null ? "Edit" : "Discard the edit"} <kbd className="text-muted">e</kbd>
      </Button>
      <Button look="danger" onClick={() => setAsked("deny")}>
        Deny … <kbd className="text-muted">d</kbd>
      </Button>
      <Button look="primary" disabled={!mayApprove} onClick={() => setAsked("approve")}>
        {edited === null ? "Approve …" : "Approve as edited …"} <kbd>a</kbd>
      </Button>
      <ApproveDialog
        open={asked === "approve"}
        onClose={() => setAsked(null)}
        row={row}
        edited={edited}
      />
      <DenyDialog open={asked === "deny"} onClose={() => setAsked(null)} row={row} />
    </div>
  );
}
