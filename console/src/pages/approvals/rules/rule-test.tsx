// What a standing rule would have covered among the recorded calls of its user.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import type { Approval } from "../approval.ts";
import type { Matches } from "./scope-choice.tsx";

type Reach = Outputs["approvals"]["previewApprovalRule"];

export function RuleTest({
  row,
  matches,
}: {
  readonly row: Approval;
  readonly matches: Matches | undefined;
}) {
  const [tested, setTested] = useState<string | null>(null);
  const rule = JSON.stringify(matches ?? "same");
  const reach = useData(
    ["approval-rule-reach", row.id, rule],
    (signal) =>
      api.approvals.previewApprovalRule.mutate(
        { id: row.id, ...(matches ? { matches } : {}) },
        { signal },
      ),
    { enabled: tested === rule },
  );
  return (
    <div className="flex flex-col gap-2">
      <div>
        <Button small busy={reach.isFetching} onClick={() => setTested(rule)}>
          Test it against past calls
        </Button>
      </div>
      {tested === rule ? <Loaded query={reach}>{(found) => <Found reach={found} />}</Loaded> : null}
    </div>
  );
}

function Found({ reach }: { readonly reach: Reach }) {
  const { tried, covered, unknown, summary, newest, broader } = reach;
  return (
    <div role="status" className="flex flex-col gap-1.5">
      <p className={broader ? "text-hold" : ""}>
        {broader ? "⚠ " : ""}
        {summary}
      </p>
      <p className="text-[13px] text-muted">
        {covered.toLocaleString()} of {tried.toLocaleString()} past calls
        {unknown > 0 ? `; of ${unknown.toLocaleString()} it cannot be told` : ""}
      </p>
      {newest.length === 0 ? null : (
        <ul className="max-h-40 overflow-y-auto text-[13px]">
          {newest.map((call) => (
            <li key={call.executionId} className="flex items-center gap-2">
              <span className="w-24 shrink-0 text-muted">
                <Time at={call.at} />
              </span>
              <RecordLink kind="execution" id={call.executionId} copy={false} />
              <code className="truncate text-muted">
                {visibleText(JSON.stringify(call.arguments))}
              </code>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
