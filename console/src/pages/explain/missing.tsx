// Why somebody does not see a tool: every hidden tool with the stage that hides it. Administrators only.
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { CallerSelect } from "../../ui/caller-select.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { TextField } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Badge } from "../../ui/verdict.tsx";

type Missing = Outputs["explain"]["explainMissing"]["missing"][number];

const COLUMNS: readonly Column<Missing>[] = [
  { id: "tool", header: "Tool", width: "w-56", cell: ({ tool }) => <code>{tool}</code> },
  {
    id: "stage",
    header: "Hidden by",
    width: "w-36",
    cell: ({ stage }) => <Badge sign="◌">{stage}</Badge>,
  },
  { id: "reason", header: "Reason", width: "w-48", wideOnly: true, cell: ({ reason }) => reason },
  {
    id: "remedy",
    header: "What would show it",
    wideOnly: true,
    cell: ({ remedy, rule }) => <span title={remedy ?? rule}>{remedy ?? rule ?? ""}</span>,
  },
];

export function MissingTools() {
  const { as } = useSearch({ from: "/explain" });
  const navigate = useNavigate({ from: "/explain" });
  const [filter, setFilter] = useState("");
  const query = useData(["explain", "missing", as], (signal) =>
    api.explain.explainMissing.query(as === undefined ? {} : { as }, { signal }),
  );
  const rows = useMemo(
    () =>
      (query.data?.missing ?? []).filter(({ tool, stage, reason }) =>
        `${tool} ${stage} ${reason}`.includes(filter.trim().toLowerCase()),
      ),
    [query.data, filter],
  );
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-3 sm:grid-cols-[minmax(14rem,20rem)_minmax(14rem,20rem)]">
        <CallerSelect
          label="Who misses tools"
          value={as ?? ""}
          onChange={(next) =>
            void navigate({ search: (now) => ({ ...now, as: next || undefined }) })
          }
        />
        <TextField
          label="Filter"
          type="search"
          value={filter}
          placeholder="tool, stage or reason"
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      <Loaded query={query} skeleton={<Skeleton className="h-80 w-full" />}>
        {({ user, visible, missing }) => (
          <Card
            flush
            title={`${user} sees ${visible} ${visible === 1 ? "tool" : "tools"}, ${missing.length} are hidden`}
          >
            {rows.length > 0 ? (
              <DataTable
                label="Hidden tools"
                rows={rows}
                columns={COLUMNS}
                rowId={({ tool }) => tool}
                onOpen={({ tool }) => void navigate({ search: { tool, as } })}
              />
            ) : missing.length > 0 ? (
              <Empty title="No hidden tool fits the filter" />
            ) : (
              <Empty title="Nothing is missing" text={`${user} sees every tool there is.`} />
            )}
          </Card>
        )}
      </Loaded>
    </div>
  );
}
