// A call of the agent: how it stands, what the gate said, and the decision where a person must agree.
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Json } from "../../ui/code.tsx";
import { cx } from "../../ui/class-names.ts";
import { GateStrip } from "../../ui/gate-strip.tsx";
import { Loaded } from "../../ui/states.tsx";
import { CallBadge } from "../../ui/verdict.tsx";
import { InlineApproval } from "./inline-approval.tsx";
import type { LiveCall } from "./turn-stream.ts";

export function ToolCallCard({ call }: { readonly call: LiveCall }) {
  const [isOpen, setOpen] = useState(false);
  const { tool, status, executionId, approvalId, reason } = call;
  return (
    <section aria-label={`Call of ${tool}`} className="rounded-md border border-line bg-surface">
      <div className="flex flex-wrap items-center gap-2 px-3 py-1.5">
        <button
          type="button"
          aria-expanded={isOpen}
          disabled={executionId === null}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-6 min-w-0 items-center gap-1.5"
        >
          <ChevronRight
            size={14}
            aria-hidden
            className={cx("transition-transform", isOpen && "rotate-90")}
          />
          <code className="truncate">{tool}</code>
        </button>
        <CallBadge status={status} errorCode={isRefusal(reason) ? "FORBIDDEN" : undefined} />
        {reason === undefined ? null : <span className="text-muted">{reason}</span>}
        {executionId === null ? null : (
          <span className="ml-auto flex gap-3">
            {status === "failed" ? (
              <Link to="/x/$id" params={{ id: executionId }}>
                Why?
              </Link>
            ) : null}
            <Link to="/executions/$id" params={{ id: executionId }}>
              Open
            </Link>
          </span>
        )}
      </div>
      {status === "pending" && approvalId !== null ? <InlineApproval id={approvalId} /> : null}
      {isOpen && executionId !== null ? <CallDetail executionId={executionId} /> : null}
    </section>
  );
}

/** Reasons that stages of the gate give; others come from the tool itself. */
const isRefusal = (reason: string | undefined): boolean =>
  reason !== undefined &&
  /forbid|denied|not_allow|too_low|missing|blocked|exceeded|unknown|rate_|budget_|invalid_|approval_/.test(
    reason,
  );

function CallDetail({ executionId }: { readonly executionId: string }) {
  const record = useData(["executions", "one", executionId], (signal) =>
    api.tools.getToolStatus.query({ executionId }, { signal }),
  );
  return (
    <div className="border-t border-line p-3">
      <Loaded query={record}>
        {({ execution }) => (
          <div className="flex flex-col gap-3">
            {execution.gates ? <GateStrip gates={execution.gates} /> : null}
            <Json value={execution.arguments} label="arguments" />
            {execution.error === undefined ? (
              <Json value={execution.result ?? null} label="result" />
            ) : (
              <p className="text-deny">✕ {execution.error}</p>
            )}
          </div>
        )}
      </Loaded>
    </div>
  );
}
