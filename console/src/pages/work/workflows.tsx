import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { ButtonLink, Button } from "../../ui/button.tsx";
import { visibleText } from "../../ui/code.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Filter, holds } from "../../ui/filter.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { type Of, useWorkflows, type Workflow } from "./data.ts";

const route = getRouteApi("/work");

const COLUMNS: readonly Column<Workflow>[] = [
  {
    id: "name",
    header: "Workflow",
    cell: ({ id, name }) => (
      <Link to="/work/$workflowId" params={{ workflowId: id }} className="font-medium">
        {visibleText(name)}
      </Link>
    ),
  },
  {
    id: "steps",
    header: "Steps",
    width: "w-20",
    align: "right",
    cell: ({ steps }) => steps.length,
  },
  { id: "risk", header: "Risk", width: "w-28", wideOnly: true, cell: ({ risk }) => risk },
  {
    id: "trigger",
    header: "Started by",
    width: "w-28",
    wideOnly: true,
    cell: ({ trigger }) => trigger,
  },
  { id: "user", header: "Of", width: "w-32", wideOnly: true, cell: ({ userId }) => userId },
  {
    id: "version",
    header: "Version",
    width: "w-24",
    align: "right",
    wideOnly: true,
    cell: ({ version }) => version,
  },
  {
    id: "created",
    header: "Changed",
    width: "w-32",
    wideOnly: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

export function Workflows({ of }: { readonly of: Of }) {
  const { q = "" } = route.useSearch();
  const navigate = useNavigate();
  const query = useWorkflows(of);
  const filter = (text: string): void =>
    void navigate({
      to: "/work",
      search: { ...(of ? { of } : {}), ...(text === "" ? {} : { q: text }) },
      replace: true,
    });
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) => {
        const rows = items.filter((one) =>
          holds(q, one.id, one.name, one.description, ...one.steps.map(({ tool }) => tool)),
        );
        return items.length === 0 ? (
          <div className="rounded-lg border border-line bg-surface">
            <Empty
              title="No workflows yet"
              text="A workflow is a list of tool calls that agents or people keep with the tool workflow/create and run later. Each step passes the gate."
              action={
                <ButtonLink to="/tools" look="primary">
                  Go to the tools
                </ButtonLink>
              }
              command="ostiary call workflow/create --input workflow.json"
            />
          </div>
        ) : (
          <div className="flex flex-col gap-3">
            <Filter label="Filter workflows" value={q} onChange={filter} />
            <div className="rounded-lg border border-line bg-surface">
              {rows.length === 0 ? (
                <Empty
                  title="No workflow fits the filter"
                  action={<Button onClick={() => filter("")}>Show all {items.length}</Button>}
                />
              ) : (
                <DataTable
                  label="Workflows"
                  rows={rows}
                  columns={COLUMNS}
                  rowId={({ id }) => id}
                  onOpen={({ id }) =>
                    void navigate({
                      to: "/work/$workflowId",
                      params: { workflowId: id },
                      search: of ? { of } : {},
                    })
                  }
                />
              )}
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}
