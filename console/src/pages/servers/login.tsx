// Servers that want a login of their own: the browser goes there and comes back.
import { api } from "../../api/client.ts";
import { useChange, useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmButton } from "../../ui/dialog.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { notify } from "../../ui/toast.tsx";
import { Sign } from "../../ui/verdict.tsx";

export function LoginNeeded({
  name,
  isNeeded,
}: {
  readonly name: string;
  readonly isNeeded: boolean;
}) {
  const state = useData(
    ["servers", "login", name],
    (signal) => api.servers.getServerLogin.query({ name }, { signal }),
    { refetchMs: 5_000 },
  );
  const begin = useChange(() => api.servers.beginServerLogin.mutate({ name }), {
    onDone: ({ authorizationUrl }) => window.location.assign(authorizationUrl),
  });
  const end = useChange(() => api.servers.endServerLogin.mutate({ name }), {
    refreshes: ["servers"],
    onDone: ({ revoked }) =>
      notify("The login is forgotten", {
        detail: revoked
          ? "The server was told that its tokens are of no use any more."
          : "The server could not be told; its tokens run out by themselves.",
      }),
  });
  return (
    <section
      aria-label="Login"
      className="flex flex-wrap items-center justify-between gap-3 rounded-lg border border-line bg-surface px-4 py-3"
    >
      <Loaded query={state} skeleton={<Skeleton className="h-6 w-64" />}>
        {({ since }) => (
          <p>
            {since === null ? (
              <strong className={isNeeded ? "text-hold" : ""}>
                <Sign sign="⏸" className="mr-1 inline" />
                This server wants somebody to log in.
              </strong>
            ) : (
              <>
                ✓ Logged in <Time at={since} />
                {isNeeded ? (
                  <strong className="text-hold"> · it does not count any more</strong>
                ) : null}
              </>
            )}
          </p>
        )}
      </Loaded>
      <div className="flex gap-2">
        <Button
          look={isNeeded ? "primary" : "secondary"}
          busy={begin.isPending}
          onClick={() => begin.mutate(undefined)}
        >
          {state.data?.since ? "Log in again" : "Log in at the server"}
        </Button>
        {state.data?.since ? (
          <ConfirmButton
            label="Log out"
            question={`Forget the login at ${name}?`}
            explain="Calls to this server fail until somebody logs in again."
            confirm="Log out"
            busy={end.isPending}
            onConfirm={() => end.mutate(undefined)}
          />
        ) : null}
      </div>
    </section>
  );
}
