// Definitions a tool has had. An earlier one can be the approved one again.
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Copy } from "../../../ui/copy.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import type { ServerToolDetails } from "../types.ts";

export function Versions({
  server,
  tool,
  versions,
}: {
  readonly server: string;
  readonly tool: string;
  readonly versions: ServerToolDetails["versions"];
}) {
  const rollback = useChange(
    (pin: string) => api.servers.rollbackServerTool.mutate({ name: server, tool, pin }),
    {
      refreshes: ["servers", "tools"],
      onDone: (_made, pin) => notify(`${tool} is pinned to ${pin.slice(0, 12)} again`),
    },
  );
  return (
    <ul className="flex flex-col">
      {versions.map(({ pin, firstSeenAt, approvedAt, approvedBy, isApproved, isOffered }) => (
        <li
          key={pin}
          className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 py-1.5 last:border-0"
        >
          <span className="flex flex-wrap items-center gap-2">
            <code>{pin.slice(0, 12)}</code>
            <Copy text={pin} label={`Copy the pin ${pin.slice(0, 12)}`} />
            {isApproved ? (
              <Badge tone="ok" sign="✓">
                approved
              </Badge>
            ) : null}
            {isOffered ? <Badge tone="info">offered now</Badge> : null}
            <span className="text-muted">
              seen <Time at={firstSeenAt} />
              {approvedAt === null ? null : <>, approved by {approvedBy}</>}
            </span>
          </span>
          {approvedAt !== null && !isApproved ? (
            <ConfirmButton
              small
              danger={false}
              label="Roll back"
              question={`Approve ${pin.slice(0, 12)} again?`}
              explain="The tool can be called while the server offers exactly this definition. While it offers another one, the tool is hidden."
              confirm="Approve it again"
              busy={rollback.isPending}
              onConfirm={() => rollback.mutate(pin)}
            />
          ) : null}
        </li>
      ))}
    </ul>
  );
}
