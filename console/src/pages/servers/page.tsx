// Upstream servers: which are up, and whose tools wait for a decision.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { AdminOnly } from "../../app/admin-only.tsx";
import { Button } from "../../ui/button.tsx";
import { Chips } from "../../ui/chips.tsx";
import { visibleText } from "../../ui/code.tsx";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Filter, holds } from "../../ui/filter.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { AddDialog } from "./add/dialog.tsx";
import { HealthBadge, KINDS, needsAttention, ToolCounts, whereOf } from "./health.tsx";
import type { Server } from "./types.ts";

const route = getRouteApi("/servers");
export const SERVERS_REFRESH_MS = 10_000;

export function ServersPage() {
  const { add, ...filters } = route.useSearch();
  const navigate = useNavigate();
  const choose = (way: typeof add): void =>
    void navigate({ to: "/servers", search: way ? { ...filters, add: way } : filters });
  return (
    <AdminOnly title="Servers">
      <Page
        title="Servers"
        lead="MCP servers and HTTP APIs behind Ostiary. Their tools can be called once you have approved them."
        wide
        actions={
          <Button look="primary" onClick={() => choose("server")}>
            <Plus size={15} aria-hidden /> Add a server
          </Button>
        }
      >
        <ServerList onAdd={() => choose("server")} />
        <AddDialog way={add} onChoose={choose} onClose={() => choose(undefined)} />
      </Page>
    </AdminOnly>
  );
}

const COLUMNS: readonly Column<Server>[] = [
  {
    id: "name",
    header: "Server",
    width: "w-36 md:w-44",
    cell: ({ name }) => (
      <Link to="/servers/$name" params={{ name }} className="font-medium">
        {name}
      </Link>
    ),
  },
  {
    id: "status",
    header: "Status",
    width: "md:w-36",
    cell: (server) => <HealthBadge server={server} />,
  },
  {
    id: "tools",
    header: "Tools",
    width: "w-60",
    wideOnly: true,
    cell: ({ tools }) => <ToolCounts tools={tools} />,
  },
  {
    id: "kind",
    header: "Kind",
    width: "w-38",
    wideOnly: true,
    cell: ({ transport }) => KINDS[transport.kind],
  },
  {
    id: "version",
    header: "Protocol",
    width: "w-28",
    wideOnly: true,
    cell: ({ health }) => health?.protocolVersion ?? <span className="text-muted">–</span>,
  },
  {
    id: "reason",
    header: "Last problem or address",
    wideOnly: true,
    cell: (server) =>
      server.health?.reason ? (
        <span title={visibleText(server.health.reason)}>{visibleText(server.health.reason)}</span>
      ) : (
        <code className="text-muted">{visibleText(whereOf(server))}</code>
      ),
  },
];

function ServerList({ onAdd }: { readonly onAdd: () => void }) {
  const query = useData(
    ["servers", "list"],
    (signal) => api.servers.listServers.query(undefined, { signal }),
    { refetchMs: SERVERS_REFRESH_MS },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {({ items }) =>
        items.length === 0 ? (
          <div className="rounded-lg border border-line bg-surface">
            <Empty
              title="No servers yet"
              text="Servers that you add appear here with their state. Their tools wait until you have looked at them."
              action={
                <Button look="primary" onClick={onAdd}>
                  Add a server
                </Button>
              }
              command="ostiary servers import ~/.cursor/mcp.json"
            />
          </div>
        ) : (
          <Servers items={items} />
        )
      }
    </Loaded>
  );
}

function Servers({ items }: { readonly items: readonly Server[] }) {
  const { q = "", status } = route.useSearch();
  const navigate = useNavigate();
  const rows = items.filter(
    (server) =>
      holds(q, server.name, server.description, whereOf(server)) &&
      (status === undefined || inGroup[status](server)),
  );
  const set = (next: { q: string; status: keyof typeof inGroup | undefined }): void =>
    void navigate({
      to: "/servers",
      replace: true,
      search: {
        ...(next.q === "" ? {} : { q: next.q }),
        ...(next.status === undefined ? {} : { status: next.status }),
      },
    });
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <Filter label="Filter servers" value={q} onChange={(text) => set({ q: text, status })} />
        <Chips
          label="Status"
          value={status ?? ""}
          onChange={(id) => set({ q, status: isGroup(id) ? id : undefined })}
          chips={[
            { id: "", label: "All", count: items.length },
            { id: "attention", label: "Needs you", count: items.filter(needsAttention).length },
            { id: "up", label: "Up", count: items.filter(inGroup.up).length },
            { id: "off", label: "Switched off", count: items.filter(inGroup.off).length },
          ]}
        />
      </div>
      <div className="rounded-lg border border-line bg-surface">
        {rows.length === 0 ? (
          <Empty
            title="No server fits the filter"
            action={
              <Button onClick={() => void navigate({ to: "/servers", search: {} })}>
                Show all {items.length}
              </Button>
            }
          />
        ) : (
          <DataTable
            label="Servers"
            rows={rows}
            columns={COLUMNS}
            rowId={({ name }) => name}
            onOpen={({ name }) => void navigate({ to: "/servers/$name", params: { name } })}
          />
        )}
      </div>
    </>
  );
}

const inGroup = {
  up: ({ enabled, health }: Server) => enabled && health?.status === "up",
  off: ({ enabled }: Server) => !enabled,
  attention: needsAttention,
};

const isGroup = (id: string): id is keyof typeof inGroup => id in inGroup;
