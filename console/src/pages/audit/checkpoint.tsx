import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Code } from "../../ui/code.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { download } from "../../ui/download.ts";
import { NOUN } from "./events.ts";

/** A signed line that says where the chains stand; kept elsewhere it proves that nothing before it was taken back. */
export function CheckpointButton() {
  const [line, setLine] = useState<string | null>(null);
  const make = useChange(() => api.audit.makeCheckpoint.mutate({}), {
    refreshes: [NOUN],
    onDone: (made) => setLine(made.line),
  });
  return (
    <>
      <Button busy={make.isPending} onClick={() => make.mutate(undefined)}>
        Checkpoint
      </Button>
      <Dialog
        open={line !== null}
        onClose={() => setLine(null)}
        title="Checkpoint"
        lead="Keep this line on another machine, exactly as it is. A verification with it notices when anything before it was taken back."
      >
        {line === null ? null : (
          <div className="flex flex-col gap-3">
            <Code text={line} label="Line of the checkpoint" />
            <p className="text-muted">
              To verify with it: <code>ostiary audit verify --anchor checkpoint.json</code>
            </p>
            <div className="flex justify-end">
              <Button
                look="primary"
                onClick={() => download("checkpoint.json", `${line}\n`, "application/json")}
              >
                Save as a file
              </Button>
            </div>
          </div>
        )}
      </Dialog>
    </>
  );
}
