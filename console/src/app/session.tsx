// Who is signed in. Every page is inside, so that none has to ask.
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { api, type Outputs } from "../api/client.ts";
import { startLive } from "../api/live.ts";
import { useData } from "../api/query.ts";
import { Failed, Skeleton } from "../ui/states.tsx";

type Session = Outputs["account"]["whoami"];

const SessionContext = createContext<Session | null>(null);

export function SessionGate({ children }: { readonly children: ReactNode }) {
  const query = useData(["session"], (signal) => api.account.whoami.query(undefined, { signal }));
  const session = query.data;
  const isAdmin = session?.role === "admin";
  useEffect(() => {
    if (session) startLive({ everyone: isAdmin });
  }, [session, isAdmin]);
  if (session) return <SessionContext value={session}>{children}</SessionContext>;
  return (
    <main className="mx-auto max-w-lg p-6">
      {query.isError ? (
        <Failed cause={query.error} retry={() => void query.refetch()} />
      ) : (
        <Skeleton className="h-40 w-full" />
      )}
    </main>
  );
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("useSession is called outside of SessionGate");
  return session;
}

export const useIsAdmin = (): boolean => useSession().role === "admin";
