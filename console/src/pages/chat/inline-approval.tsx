// A decision in the conversation. The whole page of the approval has the preview and the differences.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Json } from "../../ui/code.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Countdown } from "../../ui/time.tsx";
import { Sign } from "../../ui/verdict.tsx";

export function InlineApproval({ id }: { readonly id: string }) {
  const [comment, setComment] = useState("");
  const approval = useData(["approvals", "one", id], (signal) =>
    api.approvals.getApproval.query({ id }, { signal }),
  );
  const vote = { id, ...(comment === "" ? {} : { comment }) };
  const options = { refreshes: ["approvals", "turns", "sessions"] };
  const approve = useChange(
    (version: string) => api.approvals.approve.mutate({ ...vote, version }),
    options,
  );
  const deny = useChange(
    (version: string) => api.approvals.deny.mutate({ ...vote, version }),
    options,
  );
  return (
    <div className="flex flex-col gap-2 border-t border-line bg-hold-soft/40 p-3">
      <Loaded query={approval}>
        {(row) => (
          <>
            <p>
              <Sign sign="⏸" className="mr-1 inline" />A person must agree:{" "}
              {row.reasons.map(({ message }) => message).join("; ")} (
              <Countdown until={row.expiresAt} />)
            </p>
            <Json value={row.arguments} label="arguments that wait" />
            {row.state === "pending" && row.mayDecide ? (
              <div className="flex flex-wrap items-end gap-2">
                <TextField
                  label="Comment for the agent"
                  className="min-w-40 flex-1"
                  value={comment}
                  onChange={(event) => setComment(event.target.value)}
                />
                <Button busy={deny.isPending} onClick={() => deny.mutate(row.version)}>
                  Deny
                </Button>
                <ConfirmButton
                  label="Approve …"
                  danger={false}
                  question={`Run ${row.toolName} once?`}
                  explain="This one call runs with exactly these arguments. The gate judges it again first."
                  confirm="Approve this call"
                  busy={approve.isPending}
                  onConfirm={() => approve.mutate(row.version)}
                />
              </div>
            ) : (
              <p>{row.mayNot ?? `It is ${row.state}`}</p>
            )}
            <Link to="/approvals/$id" params={{ id }}>
              Open with preview and differences
            </Link>
          </>
        )}
      </Loaded>
    </div>
  );
}
