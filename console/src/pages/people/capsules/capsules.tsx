import { api, type Outputs } from "../../../api/client.ts";
import { usePages } from "../../../api/query.ts";
import type { Column } from "../../../ui/data-table.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { usePeople } from "../navigation.ts";
import { Records } from "../records.tsx";
import { CapsuleDetail } from "./capsule-detail.tsx";
import { NewCapsule } from "./new-capsule.tsx";

export type Capsule = Outputs["capsules"]["getCapsule"];

/** How many tools it holds, in words. */
export const toolsOf = ({ capabilities }: Pick<Capsule, "capabilities">): string => {
  const named = capabilities.filter((name) => name !== "*").length;
  if (!capabilities.includes("*")) return named === 1 ? "1 tool" : `${named} tools`;
  return named === 0 ? "every native tool" : `every native tool and ${named} more`;
};

const COLUMNS: readonly Column<Capsule>[] = [
  {
    id: "name",
    header: "Capsule",
    cell: ({ name, default: isDefault }) => (
      <span className="flex items-center gap-2">
        <span className="font-medium">{name}</span>
        {isDefault ? <Badge tone="info">default</Badge> : null}
      </span>
    ),
  },
  {
    id: "status",
    header: "Status",
    width: "w-28",
    cell: ({ status }) =>
      status === "active" ? (
        <Badge tone="ok" sign="✓">
          active
        </Badge>
      ) : (
        <Badge sign="○">{status}</Badge>
      ),
  },
  { id: "tools", header: "Tools", width: "w-56", wideOnly: true, cell: (row) => toolsOf(row) },
  {
    id: "autonomy",
    header: "Autonomy",
    width: "w-28",
    wideOnly: true,
    cell: ({ agentConfig }) =>
      agentConfig.autonomy ?? <span className="text-muted">as the rules</span>,
  },
  {
    id: "version",
    header: "Version",
    width: "w-24",
    wideOnly: true,
    align: "right",
    cell: ({ version }) => version,
  },
  {
    id: "updated",
    header: "Changed",
    width: "w-36",
    wideOnly: true,
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];

export function Capsules() {
  const { isNew, create, go } = usePeople();
  const query = usePages(["capsules", "list"], (page, signal) =>
    api.capsules.listCapsules.query({ ...page, limit: 100 }, { signal }),
  );
  return (
    <>
      <Records
        noun="capsule"
        create="New capsule"
        query={query}
        columns={COLUMNS}
        idOf={({ id }) => id}
        holds={(q, { id, name, capabilities }) => holds(q, id, name, ...capabilities)}
        about="A capsule is a set of tools, and how an agent works that acts through it. A key belongs to one."
        command="ostiary capsules create reader --tools file/read"
        detail={(id) => <CapsuleDetail key={id} id={id} />}
      />
      <Dialog
        open={isNew}
        onClose={() => create(false)}
        title="New capsule"
        lead="Keys of this capsule see these tools; all others do not exist for them."
        size="large"
      >
        <NewCapsule
          onCancel={() => create(false)}
          onDone={({ id }) => void go({ tab: "capsules", id })}
        />
      </Dialog>
    </>
  );
}
