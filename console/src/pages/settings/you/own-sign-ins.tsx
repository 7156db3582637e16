import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useSession } from "../../../app/session.tsx";
import { SignInTable } from "../../../app/sign-in-table.tsx";
import { Empty, Loaded, Skeleton } from "../../../ui/states.tsx";

/** Where the person who looks is signed in. */
export function OwnSignIns() {
  const { userId } = useSession();
  const query = useData(["sign-ins", "own", userId], (signal) =>
    api.signIns.listSignIns.query({ userId, limit: 100 }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-48 w-full" />}>
      {({ items }) => (
        <div className="rounded-lg border border-line bg-surface">
          {items.length === 0 ? (
            <Empty
              title="You have no sign-in of your own"
              text="You are here with a key, or anonymously on this machine."
              command="ostiary open"
            />
          ) : (
            <SignInTable rows={items} />
          )}
        </div>
      )}
    </Loaded>
  );
}
