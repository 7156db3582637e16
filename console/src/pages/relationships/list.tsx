// What is written down.
import { Trash2 } from "lucide-react";
import { useMemo } from "react";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { useChange } from "../../api/query.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Copy } from "../../ui/copy.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Empty, Failed, Skeleton } from "../../ui/states.tsx";
import { exactTime } from "../../ui/time.tsx";
import { notify } from "../../ui/toast.tsx";
import { AddButton } from "./add.tsx";
import { RelationshipFilters } from "./filters.tsx";
import {
  faultOf,
  filtersOf,
  NOUN,
  type Relationship,
  textOfReference,
  useRelationships,
} from "./relationships.ts";
import { relationshipsRoute } from "./routes.ts";

const PAGE = 100;

export function RelationshipList() {
  const search = relationshipsRoute.useSearch();
  const filters = filtersOf(search);
  const query = useRelationships(filters, PAGE);
  const isFiltered = Object.keys(filters).length > 0;
  const isBadFilter = ["resource", "relation", "subject"].some(
    (field) => faultOf(query.error, field) !== undefined,
  );
  return (
    <div className="flex flex-col gap-3">
      <RelationshipFilters failure={query.error} />
      <section className="rounded-lg border border-line bg-surface">
        {query.data === undefined ? (
          query.isError ? (
            isBadFilter ? (
              <Empty
                title="These filters cannot be read"
                text="Correct the field that is marked."
              />
            ) : (
              <Failed cause={query.error} retry={() => void query.refetch()} />
            )
          ) : (
            <Skeleton className="h-[60vh] w-full" />
          )
        ) : query.data.length === 0 ? (
          isFiltered ? (
            <NothingFits />
          ) : (
            <Empty
              title="Nothing is written down yet"
              text="Without a relationship nobody but the owner sees a tool."
              action={<AddButton />}
              command="ostiary relations write tool:system/echo#executor@user:ada"
            />
          )
        ) : (
          <Rows
            rows={query.data}
            onEnd={() => {
              if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
            }}
          />
        )}
      </section>
      {query.data && query.data.length > 0 ? (
        <p role="status" className="text-muted">
          {query.data.length.toLocaleString("en")} shown
          {query.hasNextPage ? ", more follow as you scroll" : ""}
        </p>
      ) : null}
    </div>
  );
}

function NothingFits() {
  const navigate = useNavigate();
  return (
    <Empty
      title="No relationship fits these filters"
      text="Others may."
      action={
        <Button onClick={() => void navigate({ to: "/relationships", search: {} })}>
          Clear the filters
        </Button>
      }
    />
  );
}

function Rows({
  rows,
  onEnd,
}: {
  readonly rows: readonly Relationship[];
  readonly onEnd: () => void;
}) {
  const navigate = relationshipsRoute.useNavigate();
  const write = useChange(
    ({ operation, text }: { operation: "touch" | "delete"; text: string }) =>
      api.relationships.writeRelationships.mutate({ changes: [{ operation, relationship: text }] }),
    {
      refreshes: [NOUN, "tools"],
      onDone: (_answer, { operation, text }) =>
        notify(operation === "delete" ? "Removed" : "Written again", {
          detail: text,
          ...(operation === "delete"
            ? { undo: () => write.mutate({ operation: "touch", text }) }
            : {}),
        }),
    },
  );
  const columns = useMemo<readonly Column<Relationship>[]>(() => {
    const narrow = (name: "resource" | "relation" | "subject", value: string) => (
      <button
        type="button"
        title={`Only ${value}`}
        className="min-h-6 max-w-full truncate font-mono text-[12.5px] hover:underline"
        onClick={() => void navigate({ search: (old) => ({ ...old, [name]: value }) })}
      >
        {value}
      </button>
    );
    return [
      {
        id: "resource",
        header: "Resource",
        cell: ({ resource }) => narrow("resource", textOfReference(resource)),
      },
      {
        id: "relation",
        header: "Relation",
        width: "w-36",
        cell: ({ relation }) => narrow("relation", relation),
      },
      {
        id: "subject",
        header: "Subject",
        cell: ({ subject }) => narrow("subject", textOfReference(subject)),
      },
      {
        id: "condition",
        header: "Only if, until",
        width: "w-56",
        wideOnly: true,
        cell: ({ caveat, expiresAt }) => (
          <span className="text-muted">
            {[caveat?.name, expiresAt === null ? undefined : `until ${exactTime(expiresAt)}`]
              .filter((part) => part !== undefined)
              .join(", ")}
          </span>
        ),
      },
      {
        id: "actions",
        header: "Actions",
        width: "w-24",
        align: "right",
        cell: ({ text }) => (
          <span className="flex justify-end">
            <span className="max-md:hidden">
              <Copy text={text} label={`Copy ${text}`} />
            </span>
            <IconButton
              label={`Remove ${text}`}
              onClick={() => write.mutate({ operation: "delete", text })}
            >
              <Trash2 size={14} aria-hidden />
            </IconButton>
          </span>
        ),
      },
    ];
  }, [navigate, write.mutate]);
  return (
    <DataTable
      label="Relationships"
      rows={rows}
      columns={columns}
      rowId={({ text }) => text}
      onEnd={onEnd}
      className="max-h-[62vh]"
      minWidth="min-w-160"
    />
  );
}
