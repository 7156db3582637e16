// The tools of a server by state; those that are chosen are approved or rejected together.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Chips } from "../../../ui/chips.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { ListDetail } from "../../../ui/list-detail.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { stateWord, ToolStateBadge } from "../health.tsx";
import type { Server, ServerTool } from "../types.ts";
import { Decide } from "./decide.tsx";
import { dangersIn } from "./findings.tsx";
import { ToolDetail } from "./tool-detail.tsx";

const route = getRouteApi("/servers/$name");
const ORDER = ["pending", "changed", "approved", "rejected", "refused", "removed"] as const;

export function ServerTools({ server }: { readonly server: Server }) {
  const { name, health } = server;
  const query = useData(
    ["servers", "tools", name],
    (signal) => api.servers.listServerTools.query({ name }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-80 w-full" />}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty
            title="No tools seen yet"
            text={
              health?.reason
                ? `The server could not be asked: ${visibleText(health.reason)}`
                : "Tools that the server offers appear here and wait for your review."
            }
            command={`ostiary servers tools ${name} --look`}
          />
        ) : (
          <ToolTable server={name} items={items} />
        )
      }
    </Loaded>
  );
}

const partOf = ({ server, name }: ServerTool): string => name.slice(server.length + 1);

const COLUMNS: readonly Column<ServerTool>[] = [
  {
    id: "name",
    header: "Tool",
    cell: (tool) => (
      <Link to="/servers/$name" params={{ name: tool.server }} search={{ tool: partOf(tool) }}>
        <code>{visibleText(partOf(tool))}</code>
      </Link>
    ),
  },
  {
    id: "state",
    header: "State",
    width: "w-32",
    cell: ({ state }) => <ToolStateBadge state={state} />,
  },
  {
    id: "risk",
    header: "Risk",
    width: "w-24",
    wideOnly: true,
    cell: ({ terms }) => terms.risk,
  },
  {
    id: "findings",
    header: "Findings",
    width: "w-28",
    wideOnly: true,
    cell: (tool) => {
      const dangers = dangersIn([tool]);
      if (dangers > 0)
        return (
          <Badge tone="deny" sign="!">
            {dangers} danger
          </Badge>
        );
      return tool.findings.length === 0 ? (
        <span className="text-muted">none</span>
      ) : (
        <span>{tool.findings.length}</span>
      );
    },
  },
];

/** Beside a detail there is room for less. */
const FEW_COLUMNS = COLUMNS.slice(0, 2);

const isOpen = ({ state }: ServerTool): boolean => state === "pending" || state === "changed";

function ToolTable({
  server,
  items,
}: {
  readonly server: string;
  readonly items: readonly ServerTool[];
}) {
  const { tool, state } = route.useSearch();
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const rows = items
    .filter((one) => state === undefined || one.state === state)
    .toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const picked = items.filter(({ name }) => chosen.has(name));
  const waiting = items.filter(isOpen);
  const go = (search: { tool?: string; state?: ServerTool["state"] }): void =>
    void navigate({ to: "/servers/$name", params: { name: server }, search, replace: true });
  const kept = state === undefined ? {} : { state };
  const toggle = (name: string): void =>
    setChosen((before) => {
      const next = new Set(before);
      if (!next.delete(name)) next.add(name);
      return next;
    });
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Chips
          label="State"
          value={state ?? ""}
          onChange={(id) => go(id === "" ? {} : { state: id as ServerTool["state"] })}
          chips={[
            { id: "", label: "All", count: items.length },
            ...ORDER.map((id) => ({
              id,
              label: stateWord(id),
              count: items.filter((one) => one.state === id).length,
            })).filter(({ count, id }) => count > 0 || id === state),
          ]}
        />
        <div className="flex flex-wrap gap-2">
          {picked.length > 0 ? (
            <>
              <Button small look="quiet" onClick={() => setChosen(new Set())}>
                Choose none
              </Button>
              <Decide
                server={server}
                tools={picked}
                as="chosen"
                onDone={() => setChosen(new Set())}
              />
            </>
          ) : waiting.length > 0 ? (
            <Decide
              server={server}
              tools={waiting}
              as="waiting"
              onDone={() => setChosen(new Set())}
            />
          ) : null}
        </div>
      </div>
      <ListDetail
        list={
          rows.length === 0 ? (
            <Empty
              title={`No tool is ${state ? stateWord(state) : "here"}`}
              action={<Button onClick={() => go({})}>Show all {items.length}</Button>}
            />
          ) : (
            <DataTable
              label="Tools"
              rows={rows}
              columns={tool === undefined ? COLUMNS : FEW_COLUMNS}
              rowId={({ name }) => name}
              isCurrent={(one) => partOf(one) === tool}
              onOpen={(one) => go({ ...kept, tool: partOf(one) })}
              selection={{ chosen, onToggle: toggle }}
            />
          )
        }
        title={tool === undefined ? null : <code>{visibleText(tool)}</code>}
        detail={tool === undefined ? null : <ToolDetail key={tool} server={server} tool={tool} />}
        onClose={() => go(kept)}
      />
    </div>
  );
}
