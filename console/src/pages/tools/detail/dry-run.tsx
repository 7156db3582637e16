// What the gate would say, before anything runs.
import type { Outputs } from "../../../api/client.ts";
import { ExplainLink } from "../../../ui/explain-link.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { GateStrip } from "../../../ui/gate-strip.tsx";
import { Card } from "../../../ui/page.tsx";
import { Failed, Skeleton } from "../../../ui/states.tsx";
import { VerdictBadge } from "../../../ui/verdict.tsx";
import type { Arguments } from "../../../ui/arguments/parse.ts";

export function DryRun({
  change,
  tool,
  arguments: args,
}: {
  readonly change: {
    readonly data: Outputs["explain"]["explainCall"] | undefined;
    readonly error: unknown;
  };
  readonly tool: string;
  readonly arguments: Arguments;
}) {
  const { data, error } = change;
  if (error) return <Failed cause={error} />;
  if (!data) return <Skeleton className="h-48 w-full" />;
  return (
    <Card
      title={
        <span className="flex items-center gap-2">
          <VerdictBadge verdict={data.verdict} /> The gate would say
        </span>
      }
      actions={
        <ExplainLink tool={tool} arguments={args}>
          Explain
        </ExplainLink>
      }
    >
      <div className="flex flex-col gap-3">
        <p className="font-medium">{visibleText(data.summary)}</p>
        <GateStrip key={data.summary} gates={data.gates} />
        {data.wouldChange.length === 0 ? null : (
          <>
            <h3>What would have to change</h3>
            <ul className="list-disc pl-5">
              {data.wouldChange.map((change) => (
                <li key={change}>{visibleText(change)}</li>
              ))}
            </ul>
          </>
        )}
      </div>
    </Card>
  );
}
