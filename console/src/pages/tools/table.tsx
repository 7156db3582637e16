import { useNavigate } from "@tanstack/react-router";
import { type Column, DataTable } from "../../ui/data-table.tsx";
import { Tip } from "../../ui/tip.tsx";
import { duration } from "../../ui/time.tsx";
import { cx } from "../../ui/class-names.ts";
import { visibleText } from "../../ui/code.tsx";
import { type CatalogueTool, sourceOf } from "./search.ts";
import { RiskBadge, StateBadge } from "./state.tsx";

const isOff = ({ state }: CatalogueTool): boolean => state === "barred" || state === "hidden";

/** Of a hidden tool its caller only learns that it does not exist; administrators want to know what would show it. */
const whyOff = (
  state: CatalogueTool["state"],
  { message, reason, remedy }: NonNullable<CatalogueTool["verdict"]>,
): string => (state === "hidden" ? (remedy ?? reason) : message || reason);

/** Calls, share of errors, 95th percentile. */
function LastDay({ calls, errorShare, p95 }: CatalogueTool["lastDay"]) {
  if (calls === 0) return <span className="text-muted">–</span>;
  const parts = [
    `${calls.toLocaleString()} ×`,
    errorShare === null ? null : `${(errorShare * 100).toFixed(0)} % err`,
    p95 === null ? null : duration(p95),
  ];
  return (
    <Tip text="Calls of everybody, share of errors, 95 of 100 took at most">
      <span className="text-[13px]" tabIndex={-1}>
        {parts.filter((part) => part !== null).join(" · ")}
      </span>
    </Tip>
  );
}

const COLUMNS: readonly Column<CatalogueTool>[] = [
  {
    id: "state",
    header: "State",
    width: "w-25",
    cell: ({ state }) => <StateBadge state={state} />,
  },
  {
    id: "name",
    header: "Tool",
    width: "w-72",
    cell: (tool) => (
      <span className={cx(isOff(tool) && "text-muted", tool.deprecated && "line-through")}>
        {visibleText(tool.displayName)} <code className="text-muted">{tool.name}</code>
      </span>
    ),
  },
  {
    id: "about",
    header: "About",
    wideOnly: true,
    cell: (tool) => (
      <span className="text-muted">
        {tool.verdict && isOff(tool)
          ? `${tool.verdict.stage}: ${visibleText(whyOff(tool.state, tool.verdict))}`
          : visibleText(tool.description)}
      </span>
    ),
  },
  {
    id: "source",
    header: "Source",
    width: "w-20",
    wideOnly: true,
    cell: (tool) => <span className="text-muted">{sourceOf(tool)}</span>,
  },
  { id: "risk", header: "Risk", width: "w-26", cell: ({ risk }) => <RiskBadge risk={risk} /> },
  {
    id: "class",
    header: "Class",
    width: "w-40",
    widestOnly: true,
    cell: ({ governanceClass }) => <span className="text-muted">{governanceClass}</span>,
  },
  {
    id: "day",
    header: "Last 24 h",
    width: "w-45",
    wideOnly: true,
    align: "right",
    cell: ({ lastDay }) => <LastDay {...lastDay} />,
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
