// Standing rules: calls that run unasked for a while, because somebody agreed to one like them.
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Json, visibleText } from "../../../ui/code.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Card } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { Countdown, Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";

type Rule = Outputs["approvals"]["listApprovalRules"]["items"][number];

export function StandingRules() {
  const rules = useData(["approvals", "rules"], (signal) =>
    api.approvals.listApprovalRules.query({ limit: 100 }, { signal }),
  );
  return (
    <Loaded query={rules} skeleton={<Skeleton className="h-48 w-full" />}>
      {({ items }) =>
        items.length === 0 ? (
          <Card>
            <Empty
              title="No standing rules"
              text="When you approve a call you can also let calls like it run unasked for a while. Such rules are listed here and can be revoked at any time."
              command="ostiary approvals approve <id> --expires 1h"
            />
          </Card>
        ) : (
          <ul aria-label="Standing rules" className="flex flex-col gap-3">
            {items.map((rule) => (
              <RuleCard key={rule.id} rule={rule} />
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function RuleCard({ rule }: { readonly rule: Rule }) {
  const revoke = useChange(() => api.approvals.revokeApprovalRule.mutate({ id: rule.id }), {
    refreshes: ["approvals"],
    onDone: () => notify("Rule revoked", { detail: "The next call like it asks again." }),
  });
  const isExact = rule.matches.length === 1 && rule.matches[0]?.pointer === "";
  return (
    <li className="flex flex-wrap items-start justify-between gap-3 rounded-lg border border-line bg-surface p-4">
      <div className="flex min-w-0 flex-1 flex-col gap-1.5">
        <p className="text-[15px]">
          <strong className="font-semibold">{rule.userId}</strong> may call{" "}
          <code>{rule.toolName}</code> unasked{" "}
          {isExact
            ? "with exactly these arguments"
            : rule.matches.length === 0
              ? "with any arguments"
              : "where the arguments fit"}
        </p>
        {isExact ? (
          <Json value={rule.matches[0]?.equals} label="arguments that are covered" />
        ) : (
          <ul className="flex flex-col gap-0.5">
            {rule.matches.map(({ pointer, equals, glob }) => (
              <li key={pointer}>
                <code>{pointer}</code> {glob === undefined ? "is" : "fits"}{" "}
                <code>{visibleText(glob ?? JSON.stringify(equals))}</code>
              </li>
            ))}
          </ul>
        )}
        <p className="flex flex-wrap gap-x-3 text-[13px] text-muted">
          <span>
            made by {rule.createdBy} <Time at={rule.createdAt} />
          </span>
          <span className="text-hold">
            <Countdown until={rule.expiresAt} />
          </span>
          <span className="flex items-center gap-1">
            from <RecordLink kind="approval" id={rule.fromApproval} copy={false} />
          </span>
        </p>
      </div>
      <ConfirmButton
        small
        label="Revoke"
        question="Revoke this rule?"
        explain="The next call like it asks again. Calls that run now go on. It cannot be brought back; a new one can be made from an approval."
        confirm="Revoke the rule"
        busy={revoke.isPending}
        onConfirm={() => revoke.mutate(undefined)}
      />
    </li>
  );
}
