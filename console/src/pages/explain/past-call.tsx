// The call on record that is explained, and the way to ask the same today.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { useIsAdmin, useSession } from "../../app/session.tsx";
import { ButtonLink } from "../../ui/button.tsx";
import { Json } from "../../ui/code.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { RecordLink } from "../../ui/record-link.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { CallBadge } from "../../ui/verdict.tsx";

export function PastCall({ id }: { readonly id: string }) {
  const isAdmin = useIsAdmin();
  const { userId } = useSession();
  const record = useData(["executions", id], (signal) =>
    api.tools.getToolStatus.query({ executionId: id }, { signal }),
  );
  return (
    <Card
      title="The call"
      actions={
        <ButtonLink small to="/explain">
          Ask about another
        </ButtonLink>
      }
    >
      <Loaded query={record} skeleton={<Skeleton className="h-64 w-full" />}>
        {({ execution }) => (
          <div className="flex flex-col gap-3">
            <Facts
              rows={[
                ["Execution", <RecordLink key="id" kind="execution" id={id} />],
                ["Ended as", <CallBadge key="state" {...execution} />],
                ["Tool", <code key="tool">{execution.toolName}</code>],
                ["User", <code key="user">{execution.userId}</code>],
                ["Began", <Time key="began" at={execution.startTime} />],
                ["Came by", execution.entry],
              ]}
            />
            <Json value={execution.arguments} label="arguments of the call" />
            <div>
              <ButtonLink
                look="primary"
                to="/explain"
                search={{
                  tool: execution.toolName,
                  arguments: execution.arguments,
                  ...(isAdmin && execution.userId !== userId ? { as: execution.userId } : {}),
                }}
              >
                What would it say now?
              </ButtonLink>
            </div>
          </div>
        )}
      </Loaded>
    </Card>
  );
}
