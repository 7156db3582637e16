import { Link } from "@tanstack/react-router";
import type { Outputs } from "../../../api/client.ts";
import { Json, visibleText } from "../../../ui/code.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { duration, Time } from "../../../ui/time.tsx";

export function About({ detail }: { readonly detail: Outputs["tools"]["getToolDetails"] }) {
  const { tool } = detail;
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <Card title="Arguments">
        {tool.parameters.length === 0 ? (
          <p className="text-muted">It takes none.</p>
        ) : (
          <dl className="flex flex-col gap-3">
            {tool.parameters.map(({ name, type, description, required }) => (
              <div key={name}>
                <dt className="flex items-center gap-2">
                  <code className="font-semibold">{name}</code>
                  <span className="text-xs text-muted">
                    {type}
                    {required ? ", required" : ""}
                  </span>
                </dt>
                <dd className="text-muted">{visibleText(description)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Card>
      <div className="flex flex-col gap-4">
        <UseOf detail={detail} />
        <Card title="Schemas">
          <details>
            <summary className="min-h-6 font-medium">What it takes</summary>
            <Json value={tool.inputSchema} label="input schema" />
          </details>
          <details className="mt-2">
            <summary className="min-h-6 font-medium">What it answers</summary>
            <Json value={tool.outputSchema} label="output schema" />
          </details>
          <details className="mt-2">
            <summary className="min-h-6 font-medium">As a model is told of it</summary>
            <Json value={tool.functionDefinition} label="function definition" />
          </details>
        </Card>
        <Card title="Properties">
          <Facts
            rows={[
              ["Name on the wire", <code key="wire">{tool.wireName}</code>],
              ["Also called", tool.aliases.length > 0 ? tool.aliases.join(", ") : undefined],
              ["Tags", tool.tags.length > 0 ? tool.tags.join(", ") : undefined],
              ["Time limit", duration(tool.timeout)],
              ["Repeatable", tool.idempotent ? "yes: twice is as once" : "no"],
              ["Reaches outside", tool.openWorld ? "yes" : "no"],
              ["Answers kept", tool.cacheable ? "for a while" : "no"],
              ["Replaced by", tool.deprecated?.replacement],
            ]}
          />
        </Card>
      </div>
    </div>
  );
}

const EXECUTIONS: string = "/executions";

/** Figures, each with the calls behind it. */
function UseOf({ detail }: { readonly detail: Outputs["tools"]["getToolDetails"] }) {
  const { tool, userStats } = detail;
  return (
    <Card
      title="My calls of it"
      actions={
        <Link to={EXECUTIONS} search={{ toolName: tool.name } as never}>
          Show them
        </Link>
      }
    >
      <Facts
        rows={[
          ["Calls", userStats.totalExecutions.toLocaleString()],
          ["Succeeded", userStats.successfulExecutions.toLocaleString()],
          ["Failed or refused", userStats.failedExecutions.toLocaleString()],
          [
            "Mean time",
            userStats.totalExecutions > 0 ? duration(userStats.averageExecutionTime) : "–",
          ],
          [
            "Last",
            userStats.lastExecuted === null ? (
              "never"
            ) : (
              <Time key="at" at={userStats.lastExecuted} />
            ),
          ],
        ]}
      />
    </Card>
  );
}
