import { Link } from "@tanstack/react-router";
import type { UseQueryResult } from "@tanstack/react-query";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { useIsAdmin } from "../../app/session.tsx";
import { visibleText } from "../../ui/code.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { CallBadge } from "../../ui/verdict.tsx";
import { previewOf } from "../executions/row.ts";

const SHOWN = 10;

type History = Outputs["tools"]["getToolHistory"];

/** The newest ones, as they happen. */
export function useLastExecutions(): UseQueryResult<History> {
  const isAdmin = useIsAdmin();
  return useData(["executions", "last"], (signal) =>
    api.tools.getToolHistory.query(
      { limit: SHOWN, ...(isAdmin ? { userId: "*" } : {}) },
      { signal },
    ),
  );
}

export function LastExecutions({ query }: { readonly query: UseQueryResult<History> }) {
  return (
    <Card flush title="Last executions" actions={<Link to="/executions">All executions</Link>}>
      <Loaded query={query} skeleton={<Skeleton className="m-4 h-80" />}>
        {({ executions }) =>
          executions.length === 0 ? (
            <Empty
              title="No calls yet"
              text="The last ten appear here, as they happen."
              command="npx ostiary call system/time"
            />
          ) : (
            <ul>
              {executions.map((execution) => (
                <Entry key={execution.id} execution={execution} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function Entry({ execution }: { readonly execution: History["executions"][number] }) {
  const { id, toolName, userId, startTime } = execution;
  return (
    <li className="border-b border-line/60 last:border-0">
      <Link
        to="/executions/$id"
        params={{ id }}
        className="flex min-h-9 items-center gap-3 px-4 py-1 text-text no-underline hover:bg-raised focus-visible:-outline-offset-2"
      >
        <span className="w-22 shrink-0">
          <CallBadge {...execution} />
        </span>
        <span className="min-w-0 flex-1 truncate">
          <span className="font-medium">{visibleText(toolName)}</span>{" "}
          <code className="text-muted">{visibleText(previewOf(execution.arguments))}</code>
        </span>
        <span className="max-w-32 truncate text-muted max-sm:hidden">{userId}</span>
        <span className="w-24 shrink-0 text-right text-muted">
          <Time at={startTime} />
        </span>
      </Link>
    </li>
  );
}
