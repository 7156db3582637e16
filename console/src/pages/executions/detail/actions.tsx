// Run it again, stop it, ask why, take it elsewhere.
import { useState } from "react";
import { useIsAdmin, useSession } from "../../../app/session.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { Button, ButtonLink } from "../../../ui/button.tsx";
import { copyText } from "../../../ui/copy.tsx";
import { Menu } from "../../../ui/menu.tsx";
import { notify } from "../../../ui/toast.tsx";
import { type Execution, isOpen } from "../row.ts";
import { CancelDialog } from "./cancel-dialog.tsx";
import { asCommand, asCurl, asMcp } from "./copy-call.ts";
import { RerunDialog } from "./rerun-dialog.tsx";

export function DetailActions({ execution }: { readonly execution: Execution }) {
  const { userId } = useSession();
  const isAdmin = useIsAdmin();
  const [isRerunning, setRerunning] = useState(false);
  const [isCancelling, setCancelling] = useState(false);
  // Only whoever made a call cancels it; what waits for a person, administrators deny.
  const isOwn = execution.userId === userId;
  const mayCancel = isOpen(execution) && (isOwn || (isAdmin && execution.status === "pending"));
  useShortcut("r", "Run this call again", () => setRerunning(true));
  useShortcut("c", "Cancel this execution", () => setCancelling(true), mayCancel);
  const copy = (what: string, text: string): void => {
    void copyText(text).then((isDone) => isDone && notify(`Copied as ${what}`));
  };
  return (
    <>
      {mayCancel ? (
        <Button look="danger" onClick={() => setCancelling(true)}>
          Cancel <kbd className="max-md:hidden">c</kbd>
        </Button>
      ) : null}
      <Button onClick={() => setRerunning(true)}>
        Run again <kbd className="text-muted max-md:hidden">r</kbd>
      </Button>
      <ButtonLink to={`/x/${execution.id}`}>Explain</ButtonLink>
      <Menu
        trigger={<Button>Copy as …</Button>}
        items={[
          { label: "curl", onSelect: () => copy("curl", asCurl(execution)) },
          { label: "Command line", onSelect: () => copy("a command", asCommand(execution)) },
          { label: "MCP request", onSelect: () => copy("an MCP request", asMcp(execution)) },
        ]}
      />
      <RerunDialog execution={execution} open={isRerunning} onClose={() => setRerunning(false)} />
      <CancelDialog
        execution={execution}
        open={isCancelling && mayCancel}
        onClose={() => setCancelling(false)}
      />
    </>
  );
}
