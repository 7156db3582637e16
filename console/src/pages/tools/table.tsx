import { useNavigate } from "@tanstack/react-router";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { duration } from "../../ui/time.tsx";
import { cx } from "../../ui/class-names.ts";
import { visibleText } from "../../ui/code.tsx";
import { type CatalogueTool, sourceOf } from "./search.ts";
import { RiskBadge, StateBadge } from "./state.tsx";

const isOff = ({ state }: CatalogueTool): boolean => state === "barred" || state === "hidden";

const COLUMNS: readonly Column<CatalogueTool>[] = [
  {
    id: "state",
    header: "State",
    width: "w-24",
    cell: ({ state }) => <StateBadge state={state} />,
  },
  {
    id: "name",
    header: "Tool",
    width: "w-52",
    cell: (tool) => (
      <code className={cx(isOff(tool) && "text-muted", tool.deprecated && "line-through")}>
        {tool.name}
      </code>
    ),
  },
  {
    id: "about",
    header: "What it does, or why it does not run",
    wideOnly: true,
    cell: (tool) => (
      <span className="text-muted">
        {isOff(tool) && tool.verdict
          ? `${tool.verdict.stage}: ${visibleText(tool.verdict.message || tool.verdict.reason)}`
          : visibleText(tool.description)}
      </span>
    ),
  },
  {
    id: "source",
    header: "Source",
    width: "w-24",
    wideOnly: true,
    cell: (tool) => <span className="text-muted">{sourceOf(tool)}</span>,
  },
  { id: "risk", header: "Risk", width: "w-28", cell: ({ risk }) => <RiskBadge risk={risk} /> },
  {
    id: "class",
    header: "Class",
    width: "w-36",
    wideOnly: true,
    cell: ({ governanceClass }) => <span className="text-muted">{governanceClass}</span>,
  },
  {
    id: "calls",
    header: "24 h",
    width: "w-16",
    wideOnly: true,
    align: "right",
    cell: ({ lastDay }) => (lastDay.calls === 0 ? "–" : lastDay.calls.toLocaleString()),
  },
  {
    id: "errors",
    header: "Errors",
    width: "w-20",
    wideOnly: true,
    align: "right",
    cell: ({ lastDay }) =>
      lastDay.errorShare === null ? "–" : `${(lastDay.errorShare * 100).toFixed(0)} %`,
  },
  {
    id: "p95",
    header: "p95",
    width: "w-20",
    wideOnly: true,
    align: "right",
    cell: ({ lastDay }) => (lastDay.p95 === null ? "–" : duration(lastDay.p95)),
  },
];

export function ToolTable({ rows }: { readonly rows: readonly CatalogueTool[] }) {
  const navigate = useNavigate();
  return (
    <DataTable
      label="Tools"
      rows={rows}
      columns={COLUMNS}
      rowId={({ name }) => name}
      onOpen={({ name }) => void navigate({ to: `/tools/${name}` })}
      className="max-h-[calc(100vh-19rem)] min-h-64"
    />
  );
}
