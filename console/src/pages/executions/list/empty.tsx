import { useNavigate } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { useChange } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { Empty } from "../../../ui/states.tsx";

export function NoExecutions() {
  const navigate = useNavigate();
  const run = useChange(
    () => api.tools.executeTool.mutate({ name: "system/time", arguments: {} }),
    {
      refreshes: ["executions", "execution-list"],
      onDone: ({ executionId: id }) => void navigate({ to: "/executions/$id", params: { id } }),
    },
  );
  return (
    <Empty
      title="No calls yet"
      text="Every call that an agent makes appears here, with what the gate decided and why."
      action={
        <Button look="primary" busy={run.isPending} onClick={() => run.mutate(undefined)}>
          Run the demo call
        </Button>
      }
      command="npx ostiary call system/time"
    />
  );
}

export function NothingFits({
  search,
  further,
  isBusy,
  onClear,
}: {
  readonly search: { readonly searched: number; readonly of: number } | undefined;
  /** Looks through older ones, where there are any. */
  readonly further: (() => void) | null;
  readonly isBusy: boolean;
  readonly onClear: () => void;
}) {
  const looked = search
    ? `${search.searched.toLocaleString()} of ${search.of.toLocaleString()} executions were looked through.`
    : "";
  return (
    <div data-state="filtered">
      <Empty
        title="No execution fits these filters"
        text={further ? looked : "Take one away, or choose a longer time."}
        action={
          further ? (
            <Button look="primary" busy={isBusy} onClick={further}>
              Look through older ones
            </Button>
          ) : (
            <Button look="primary" onClick={onClear}>
              Clear the filters
            </Button>
          )
        }
      />
    </div>
  );
}
