// Every setting of the server as it is in effect, with where it came from.
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Chips } from "../../../ui/chips.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { copyText } from "../../../ui/copy.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Filter, holds } from "../../../ui/filter.tsx";
import { ListDetail } from "../../../ui/list-detail.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { SettingDetail } from "./setting-detail.tsx";
import { yamlOf } from "./yaml.ts";

export type Setting = Outputs["settings"]["getSettings"]["items"][number];
type Source = Setting["source"];

const route = getRouteApi("/settings");

export const SOURCES: Record<Source, string> = {
  default: "default",
  file: "settings file",
  environment: "environment",
  flag: "flag",
};
const NAMES = Object.keys(SOURCES) as Source[];

export const valueText = ({ value, secret }: Pick<Setting, "value" | "secret">): string => {
  if (value === null || value === undefined) return "not set";
  if (secret) return "set, not shown";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const COLUMNS: readonly Column<Setting>[] = [
  { id: "key", header: "Setting", width: "md:w-72", cell: ({ key }) => <code>{key}</code> },
  {
    id: "value",
    header: "Value",
    cell: (row) => (
      <code className={row.value === null ? "text-muted" : ""}>{visibleText(valueText(row))}</code>
    ),
  },
  {
    id: "source",
    header: "From",
    width: "w-36",
    wideOnly: true,
    cell: ({ source }) =>
      source === "default" ? (
        <span className="text-muted">default</span>
      ) : (
        <Badge tone="info">{SOURCES[source]}</Badge>
      ),
  },
  {
    id: "where",
    header: "Where",
    width: "w-64",
    wideOnly: true,
    cell: ({ where, source }) => (source === "default" ? null : <code>{visibleText(where)}</code>),
  },
];
const FEW_COLUMNS = COLUMNS.slice(0, 2);

export function ServerSettings() {
  const query = useData(["settings"], (signal) =>
    api.settings.getSettings.query(undefined, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {({ items }) => <SettingList items={items} />}
    </Loaded>
  );
}

function SettingList({ items }: { readonly items: readonly Setting[] }) {
  const { q = "", from, id } = route.useSearch();
  const navigate = useNavigate();
  const go = (next: { q?: string; from?: Source | undefined; id?: string | undefined }): void => {
    const to = { q, from, id, ...next };
    void navigate({
      to: "/settings",
      replace: true,
      search: {
        tab: "server",
        ...(to.q === "" ? {} : { q: to.q }),
        ...(to.from === undefined ? {} : { from: to.from }),
        ...(to.id === undefined ? {} : { id: to.id }),
      },
    });
  };
  const rows = items.filter(
    (one) =>
      (from === undefined || one.source === from) &&
      holds(q, one.key, one.description, valueText(one), one.env, one.where),
  );
  const open = items.find(({ key }) => key === id);
  const copy = async (): Promise<void> => {
    if (await copyText(yamlOf(rows))) notify(`${rows.length} settings copied as YAML`);
  };
  return (
    <div className="flex flex-col gap-3">
      <p className="text-muted">
        Settings are changed in the settings file, the environment or on the command line, and count
        from the next start on.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <Filter label="Search settings" value={q} onChange={(text) => go({ q: text })} />
        <Chips
          label="Where they come from"
          value={from ?? ""}
          onChange={(name) => go({ from: NAMES.find((one) => one === name) })}
          chips={[
            { id: "", label: "All", count: items.length },
            ...NAMES.map((name) => ({
              id: name,
              label: SOURCES[name],
              count: items.filter(({ source }) => source === name).length,
            })),
          ]}
        />
        <Button small className="ml-auto" disabled={rows.length === 0} onClick={() => void copy()}>
          Copy {rows.length} as YAML
        </Button>
      </div>
      <ListDetail
        title={open ? <code>{open.key}</code> : null}
        detail={open ? <SettingDetail setting={open} /> : null}
        onClose={() => go({ id: undefined })}
        list={
          rows.length === 0 ? (
            <Empty
              title="No setting fits"
              action={
                <Button onClick={() => go({ q: "", from: undefined })}>
                  Show all {items.length}
                </Button>
              }
            />
          ) : (
            <DataTable
              label="Settings"
              rows={rows}
              columns={open ? FEW_COLUMNS : COLUMNS}
              rowId={({ key }) => key}
              isCurrent={({ key }) => key === id}
              onOpen={({ key }) => go({ id: key })}
            />
          )
        }
      />
    </div>
  );
}
