// What the call would run with: as it is, against the last approved call like it, or edited.
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { ArgumentsEditor } from "../../../ui/arguments/arguments-editor.tsx";
import { argumentsText } from "../../../ui/arguments/parse.ts";
import { Button } from "../../../ui/button.tsx";
import { Json } from "../../../ui/code.tsx";
import { Diff } from "../../../ui/diff.tsx";
import { Card } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { Time } from "../../../ui/time.tsx";
import { type Approval, argumentsOf } from "../approval.ts";

export function ArgumentsCard({
  row,
  edited,
  onEdit,
  onPreview,
  isPreviewed,
}: {
  readonly row: Approval;
  /** As text; null while nobody edits. */
  readonly edited: string | null;
  readonly onEdit: (text: string | null) => void;
  readonly onPreview: () => void;
  readonly isPreviewed: boolean;
}) {
  if (edited === null) return <AsAsked row={row} />;
  return (
    <Edit
      row={row}
      edited={edited}
      onEdit={onEdit}
      onPreview={onPreview}
      isPreviewed={isPreviewed}
    />
  );
}

function AsAsked({ row }: { readonly row: Approval }) {
  const similar = useData(["approval-similar", row.id], (signal) =>
    api.approvals.getSimilarApproval.query({ id: row.id }, { signal }),
  );
  const last = similar.data?.similar ?? null;
  const [chosen, setView] = useState<string | null>(null);
  const view = chosen ?? (row.editedArguments ? "edit" : last ? "last" : "json");
  const all = <Json value={argumentsOf(row)} label="arguments of the call" />;
  return (
    <Card title="Arguments">
      <Tabs
        label="Arguments"
        value={view}
        onChange={setView}
        tabs={[
          ...(row.editedArguments
            ? [
                {
                  id: "edit",
                  label: "As edited",
                  content: (
                    <Diff
                      label="What an approver changed of the arguments"
                      before={argumentsText(row.arguments)}
                      after={argumentsText(row.editedArguments)}
                    />
                  ),
                },
              ]
            : []),
          {
            id: "last",
            label: "Against the last approved",
            content: (
              <Loaded query={similar}>
                {({ similar: found }) =>
                  found === null ? (
                    <p className="text-muted">No call of this tool was approved before.</p>
                  ) : (
                    <div className="flex flex-col gap-2">
                      <p className="text-[13px] text-muted">
                        {found.sameRequester ? "The same caller" : found.requester} was allowed{" "}
                        <Time at={found.decidedAt} /> by{" "}
                        {found.votes.map(({ userId }) => userId).join(", ") || "nobody known"} (
                        <RecordLink kind="approval" id={found.approvalId} copy={false} />)
                        {found.sameTool ? "" : "; the tool's definition has changed since"}
                      </p>
                      <Diff
                        label="Difference to the last approved call"
                        before={argumentsText(found.arguments)}
                        after={argumentsText(argumentsOf(row))}
                      />
                    </div>
                  )
                }
              </Loaded>
            ),
          },
          { id: "json", label: "All of them", content: all },
        ]}
      />
    </Card>
  );
}

function Edit({
  row,
  edited,
  onEdit,
  onPreview,
  isPreviewed,
}: {
  readonly row: Approval;
  readonly edited: string;
  readonly onEdit: (text: string | null) => void;
  readonly onPreview: () => void;
  readonly isPreviewed: boolean;
}) {
  // Whoever decides need not see the tool: then there is JSON only.
  const detail = useData(["tools", "detail", row.toolName], (signal) =>
    api.tools.getToolDetails.query({ name: row.toolName }, { signal }),
  );
  return (
    <Card
      title="Edit the arguments"
      actions={
        <Button small onClick={() => onEdit(null)}>
          Discard the edit
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <ArgumentsEditor
          schema={detail.data?.tool.inputSchema}
          text={edited}
          onChange={onEdit}
          onSubmit={onPreview}
        />
        <div>
          <Button small disabled={isPreviewed} onClick={onPreview}>
            Preview the edited call
          </Button>
        </div>
        <div>
          <h3 className="mb-1">As asked, and as edited</h3>
          <Diff
            label="As asked, and as edited"
            before={argumentsText(argumentsOf(row))}
            after={edited}
          />
        </div>
      </div>
    </Card>
  );
}
