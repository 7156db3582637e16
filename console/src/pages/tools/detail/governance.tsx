// What governs the tool before its arguments are looked at.
import type { Outputs } from "../../../api/client.ts";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { CatalogueTool } from "../search.ts";
import { RiskBadge, StateBadge, stateSays } from "../state.tsx";

type Detail = Outputs["tools"]["getToolDetails"];
type Treatment = Detail["tool"]["rulesByMode"]["NORMAL"];

const TREATMENTS: Record<Treatment, { sign: string; tone: Tone; word: string }> = {
  run: { sign: "✓", tone: "ok", word: "run" },
  approval: { sign: "⏸", tone: "hold", word: "ask" },
  no: { sign: "⛔", tone: "deny", word: "no" },
};

export function Governance({
  detail,
  entry,
}: {
  readonly detail: Detail;
  readonly entry: CatalogueTool | undefined;
}) {
  const { tool } = detail;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title="For me, now" actions={<ExplainLink tool={tool.name}>Every stage</ExplainLink>}>
        {entry ? (
          <Facts
            rows={[
              [
                "State",
                <span key="state" className="flex flex-wrap items-center gap-2">
                  <StateBadge state={entry.state} /> {stateSays(entry.state)}
                </span>,
              ],
              ["Decided by", entry.verdict?.stage],
              ["Because", entry.verdict?.message],
              [
                "Rule",
                entry.verdict?.rule ? <code key="rule">{entry.verdict.rule}</code> : undefined,
              ],
              ["What to do", entry.verdict?.remedy],
            ]}
          />
        ) : (
          <p className="text-muted">…</p>
        )}
      </Card>
      <Card title="By class and risk">
        <Facts
          rows={[
            ["Risk", <RiskBadge key="risk" risk={tool.risk} />],
            ["Class", tool.governanceClass],
            ["Asks by itself", tool.requiresApproval ? "yes" : "no"],
            ["Sandbox", tool.requiresSandbox ? "required" : "not needed"],
            [
              "Permissions",
              tool.requiredPermissions.length > 0 ? (
                <code key="permissions">{tool.requiredPermissions.join(", ")}</code>
              ) : (
                "none of its own"
              ),
            ],
            ["Calls per hour", tool.rateLimitPerHour ?? "no limit of its own"],
          ]}
        />
      </Card>
      <Card title="In each mode" className="xl:col-span-2">
        <dl className="flex flex-wrap gap-x-8 gap-y-3">
          {Object.entries(tool.rulesByMode).map(([mode, treatment]) => {
            const { sign, tone, word } = TREATMENTS[treatment];
            return (
              <div key={mode}>
                <dt className="text-xs text-muted">{mode}</dt>
                <dd>
                  <Badge tone={tone} sign={sign}>
                    {word}
                  </Badge>
                </dd>
              </div>
            );
          })}
        </dl>
      </Card>
    </div>
  );
}
