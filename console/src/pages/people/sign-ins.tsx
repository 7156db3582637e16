import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { SignInTable } from "../../app/sign-in-table.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";

/** Who is signed in to the console. */
export function SignIns() {
  const query = useData(["sign-ins", "tenant"], (signal) =>
    api.signIns.listSignIns.query({ limit: 100 }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Nobody is signed in" command="ostiary open" />
        ) : (
          <div className="rounded-lg border border-line bg-surface">
            <SignInTable rows={items} />
          </div>
        )
      }
    </Loaded>
  );
}
