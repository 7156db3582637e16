// Recorded calls whose input can be loaded.
import { useState } from "react";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { CallBadge } from "../../ui/verdict.tsx";
import { policiesRoute } from "./routes.ts";

export function Samples({
  current,
  hasInput,
}: {
  readonly current: string | null;
  /** False: the call is on record, but what was asked is not. */
  readonly hasInput: boolean;
}) {
  const [isOpen, setOpen] = useState(false);
  const navigate = policiesRoute.useNavigate();
  return (
    <div className="flex min-w-0 items-center gap-2">
      <span className="max-w-64 min-w-0 truncate text-muted" title={current ?? undefined}>
        {current === null
          ? "a made-up call"
          : hasInput
            ? `of ${current}`
            : "made up: what that call asked is not on record"}
      </span>
      <Button small onClick={() => setOpen(true)}>
        Load a call …
      </Button>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        size="large"
        title="Load a recorded call"
        lead="Its input appears as the policy was asked, secrets masked."
      >
        {isOpen ? (
          <RecentCalls
            onChoose={(call) => {
              setOpen(false);
              void navigate({ search: (old) => ({ ...old, call }), replace: true });
            }}
          />
        ) : null}
      </Dialog>
    </div>
  );
}

function RecentCalls({ onChoose }: { readonly onChoose: (id: string) => void }) {
  const calls = useData(["executions", "samples"], (signal) =>
    api.tools.getToolHistory.query({ userId: "*", limit: 50 }, { signal }),
  );
  return (
    <Loaded query={calls}>
      {({ executions }) =>
        executions.length === 0 ? (
          <Empty
            title="Nothing is on record yet"
            text="Calls appear here as soon as there are some."
            command="ostiary call system/echo text=hello"
          />
        ) : (
          <ul>
            {executions.map((call) => (
              <li key={call.id}>
                <button
                  type="button"
                  onClick={() => onChoose(call.id)}
                  className="flex min-h-9 w-full flex-wrap items-center gap-x-3 rounded-md px-2 text-left hover:bg-raised"
                >
                  <CallBadge {...call} />
                  <code>{call.toolName}</code>
                  <span className="text-muted">{call.userId}</span>
                  <span className="ml-auto text-muted">
                    <Time at={call.startTime} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
