// Calls of a key that run or wait, so that they can be cancelled after it was revoked.
import { api } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { CallBadge } from "../../../ui/verdict.tsx";
import { Part } from "../part.tsx";
import type { KeyRecord } from "./key-state.tsx";

async function callsOf({ id, userId }: KeyRecord, signal: AbortSignal) {
  const pages = await Promise.all(
    (["running", "pending"] as const).map((status) =>
      api.tools.getToolHistory.query({ userId, status, limit: 100 }, { signal }),
    ),
  );
  return pages.flatMap(({ executions }) => executions).filter(({ keyId }) => keyId === id);
}

export function RunningCalls({ record }: { readonly record: KeyRecord }) {
  const query = useData(["executions", "of key", record.id], (signal) => callsOf(record, signal), {
    refetchMs: 10_000,
  });
  const cancel = useChange(
    (ids: readonly string[]) =>
      Promise.all(
        ids.map((executionId) =>
          api.tools.cancelToolExecution.mutate({
            executionId,
            reason: `calls of key ${record.id} are cancelled`,
          }),
        ),
      ),
    {
      refreshes: ["executions"],
      onDone: (done) => notify(done.length === 1 ? "Cancelled" : `${done.length} calls cancelled`),
    },
  );
  const ids = query.data?.map(({ id }) => id) ?? [];
  return (
    <Part
      title="Running now"
      actions={
        ids.length > 1 ? (
          <Button small look="danger" busy={cancel.isPending} onClick={() => cancel.mutate(ids)}>
            Cancel all {ids.length}
          </Button>
        ) : null
      }
    >
      <Loaded query={query}>
        {(calls) =>
          calls.length === 0 ? (
            <p className="text-muted">No call of this key runs or waits.</p>
          ) : (
            <ul>
              {calls.map(({ id, toolName, status, startTime }) => (
                <li
                  key={id}
                  className="flex flex-wrap items-center justify-between gap-2 border-b border-line/60 py-1.5 last:border-0"
                >
                  <span className="flex flex-wrap items-center gap-2">
                    <CallBadge status={status} />
                    <a href={`/executions/${id}`}>
                      <code>{toolName}</code>
                    </a>
                    <Time at={startTime} />
                  </span>
                  <Button small busy={cancel.isPending} onClick={() => cancel.mutate([id])}>
                    Cancel
                  </Button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Part>
  );
}
