// One user: what they are, and their keys.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { KeyState } from "../keys/key-state.tsx";
import { usePeople } from "../navigation.ts";
import { Part } from "../part.tsx";
import { RecordId } from "../record-id.tsx";
import { EditUser } from "./user-form.tsx";

export function UserDetail({ id }: { readonly id: string }) {
  const [isEditing, setEditing] = useState(false);
  const query = useData(["users", "one", id], (signal) =>
    api.users.getUser.query({ id }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {(user) => (
        <>
          <Facts
            rows={[
              ["Name", <strong key="name">{user.name}</strong>],
              ["Id", <RecordId key="id" id={user.id} />],
              ["Role", user.role === "admin" ? "administrator" : "user"],
              ["Level", user.level.replaceAll("_", " ")],
              ["Roles", user.roles.length === 0 ? "none" : user.roles.join(", ")],
              ["Plan", user.plan ?? "as the tenant"],
              ["Created", <Time key="created" at={user.createdAt} />],
              [
                "Calls",
                <a key="calls" href={`/executions?userId=${encodeURIComponent(user.id)}`}>
                  Executions of this user
                </a>,
              ],
            ]}
          />
          <div>
            <Button small onClick={() => setEditing(true)}>
              Edit
            </Button>
          </div>
          <KeysOf userId={user.id} />
          <Dialog
            open={isEditing}
            onClose={() => setEditing(false)}
            title={`Edit ${user.name}`}
            lead="Role and plan count from the next call on."
          >
            <EditUser user={user} onClose={() => setEditing(false)} />
          </Dialog>
        </>
      )}
    </Loaded>
  );
}

function KeysOf({ userId }: { readonly userId: string }) {
  const { go } = usePeople();
  const query = useData(["keys", "of", userId], (signal) =>
    api.keys.listKeys.query({ userId, limit: 100 }, { signal }),
  );
  return (
    <Part
      title="Keys"
      actions={
        <Button small onClick={() => void go({ tab: "keys", new: true, user: userId })}>
          New key
        </Button>
      }
    >
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-muted">This user has no keys.</p>
          ) : (
            <ul>
              {items.map((key) => (
                <li
                  key={key.id}
                  className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 py-1.5 last:border-0"
                >
                  <Link to="/people" search={{ tab: "keys", id: key.id }}>
                    {key.name}
                  </Link>
                  <KeyState record={key} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Part>
  );
}
