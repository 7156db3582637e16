// What was decided, and what ran out, newest first.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { api } from "../../../api/client.ts";
import { Button } from "../../../ui/button.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Card } from "../../../ui/page.tsx";
import { Empty, Failed, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { type Listed } from "../approval.ts";
import { ApprovalBadge } from "../state.tsx";
import { Wish } from "../wish.tsx";

const KINDS = {
  decided: ["approved", "consumed", "declined", "cancelled"],
  expired: ["expired", "not_presented"],
} as const satisfies Record<string, readonly Listed["state"][]>;

const COLUMNS: readonly Column<Listed>[] = [
  {
    id: "state",
    header: "State",
    width: "w-40",
    cell: ({ state }) => <ApprovalBadge state={state} />,
  },
  { id: "what", header: "What", cell: (row) => <Wish row={row} /> },
  {
    id: "tool",
    header: "Tool",
    width: "w-40",
    wideOnly: true,
    cell: ({ toolName }) => <code>{toolName}</code>,
  },
  {
    id: "by",
    header: "Decided by",
    width: "w-36",
    wideOnly: true,
    cell: ({ votes }) => votes.map(({ userId }) => userId).join(", ") || "–",
  },
  {
    id: "at",
    header: "When",
    width: "w-28",
    wideOnly: true,
    cell: ({ decidedAt, expiresAt }) => <Time at={decidedAt ?? expiresAt} />,
  },
];

export function History({ kind }: { readonly kind: keyof typeof KINDS }) {
  const navigate = useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["approvals", "history"],
    queryFn: ({ pageParam, signal }) =>
      api.approvals.listApprovals.query(
        { limit: 100, ...(pageParam === null ? {} : { after: pageParam }) },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const rows = useMemo(() => {
    const states: readonly string[] = KINDS[kind];
    const all = query.data?.pages.flatMap(({ items }) => items) ?? [];
    return all.filter(({ state }) => states.includes(state));
  }, [query.data, kind]);
  if (query.isError) return <Failed cause={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton className="h-72 w-full" />;
  return (
    <Card flush>
      {rows.length > 0 ? (
        <DataTable
          label={kind === "decided" ? "Decided approvals" : "Expired approvals"}
          rows={rows}
          columns={COLUMNS}
          rowId={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: "/approvals/$id", params: { id } })}
        />
      ) : (
        <Empty
          title={kind === "decided" ? "Nothing was decided yet" : "Nothing has run out"}
          text={
            kind === "decided"
              ? "Every decision stays here with who made it."
              : "Calls that nobody decides in time are refused and listed here."
          }
          command={`ostiary approvals list --state ${kind === "decided" ? "consumed" : "expired"}`}
        />
      )}
      {query.hasNextPage ? (
        <div className="border-t border-line p-3">
          <Button small busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Older ones
          </Button>
        </div>
      ) : null}
    </Card>
  );
}
