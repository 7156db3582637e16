import { api, type Outputs } from "../../../api/client.ts";
import { usePages } from "../../../api/query.ts";
import type { Column } from "../../../ui/data-table.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { usePeople } from "../navigation.ts";
import { Records } from "../records.tsx";
import { UserDetail } from "./user-detail.tsx";
import { NewUser } from "./user-form.tsx";

type User = Outputs["users"]["listUsers"]["items"][number];

const COLUMNS: readonly Column<User>[] = [
  { id: "name", header: "Name", cell: ({ name }) => <span className="font-medium">{name}</span> },
  { id: "id", header: "Id", width: "w-40", cell: ({ id }) => <code>{id}</code> },
  {
    id: "role",
    header: "Role",
    width: "w-32",
    wideOnly: true,
    cell: ({ role }) => (role === "admin" ? <Badge tone="info">administrator</Badge> : "user"),
  },
  {
    id: "level",
    header: "Level",
    width: "w-40",
    wideOnly: true,
    cell: ({ level }) => level.replaceAll("_", " "),
  },
  {
    id: "plan",
    header: "Plan",
    width: "w-28",
    wideOnly: true,
    cell: ({ plan }) => plan ?? <span className="text-muted">tenant’s</span>,
  },
  {
    id: "created",
    header: "Created",
    width: "w-36",
    wideOnly: true,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
];

export function Users() {
  const { isNew, create, go } = usePeople();
  const query = usePages(["users", "list"], (page, signal) =>
    api.users.listUsers.query({ ...page, limit: 100 }, { signal }),
  );
  return (
    <>
      <Records
        noun="user"
        create="New user"
        query={query}
        columns={COLUMNS}
        idOf={({ id }) => id}
        holds={(q, { id, name, role }) => holds(q, id, name, role)}
        about="People and services that keys belong to."
        command="ostiary users create ada"
        detail={(id) => <UserDetail key={id} id={id} />}
      />
      <Dialog open={isNew} onClose={() => create(false)} title="New user">
        <NewUser
          onCancel={() => create(false)}
          onDone={({ id }) => void go({ tab: "users", id })}
        />
      </Dialog>
    </>
  );
}
