import { Link } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { usePages } from "../../../api/query.ts";
import type { Column } from "../../../ui/data-table.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { holds } from "../../../ui/filter.tsx";
import { Time } from "../../../ui/time.tsx";
import { usePeople } from "../navigation.ts";
import { Records } from "../records.tsx";
import { KeyDetail } from "./key-detail.tsx";
import { type KeyRecord, KeyState } from "./key-state.tsx";
import { KeyWizard } from "./wizard.tsx";

const none = <span className="text-muted">–</span>;

const COLUMNS: readonly Column<KeyRecord>[] = [
  { id: "name", header: "Key", cell: ({ name }) => <span className="font-medium">{name}</span> },
  { id: "state", header: "State", width: "w-28", cell: (row) => <KeyState record={row} /> },
  {
    id: "user",
    header: "User",
    width: "w-36",
    wideOnly: true,
    cell: ({ userId }) => (
      <Link to="/people" search={{ tab: "users", id: userId }}>
        {userId}
      </Link>
    ),
  },
  {
    id: "prefix",
    header: "Begins with",
    width: "w-44",
    wideOnly: true,
    cell: ({ prefix }) => <code>{prefix}…</code>,
  },
  {
    id: "capsule",
    header: "Capsule",
    width: "w-36",
    wideOnly: true,
    cell: ({ capsuleId }) => capsuleId ?? none,
  },
  {
    id: "used",
    header: "Last use",
    width: "w-32",
    wideOnly: true,
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Time at={lastUsedAt} />),
  },
  {
    id: "expires",
    header: "Expires",
    width: "w-32",
    wideOnly: true,
    cell: ({ expiresAt }) =>
      expiresAt === null ? "never" : new Date(expiresAt).toLocaleDateString(),
  },
];

export function Keys() {
  const { isNew, create, open, user } = usePeople();
  const query = usePages(["keys", "list"], (page, signal) =>
    api.keys.listKeys.query({ ...page, limit: 100 }, { signal }),
  );
  return (
    <>
      <Records
        noun="key"
        create="New key"
        query={query}
        columns={COLUMNS}
        idOf={({ id }) => id}
        holds={(q, row) => holds(q, row.id, row.name, row.userId, row.prefix, row.capsuleId)}
        about="Every agent and program calls with a key of its own, so that each can be narrowed and revoked alone."
        command="ostiary keys create laptop --user ada"
        detail={(id) => <KeyDetail key={id} id={id} />}
      />
      <Dialog
        open={isNew}
        onClose={() => create(false)}
        title="New key"
        lead="For one agent or program. Its secret is shown once."
      >
        <KeyWizard userId={user} onCancel={() => create(false)} onDone={(id) => void open(id)} />
      </Dialog>
    </>
  );
}
