// Messages to a webhook, newest first; what failed can be sent again.
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, usePages } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Failed, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";

type Delivery = Outputs["webhooks"]["listWebhookDeliveries"]["items"][number];

const LOOKS: Record<Delivery["state"], readonly [Tone, string, string]> = {
  pending: ["info", "…", "waits"],
  delivered: ["ok", "✓", "delivered"],
  dead: ["deny", "✕", "given up"],
};

export function Deliveries({ id }: { readonly id: string }) {
  const query = usePages(["webhooks", "deliveries", id], (page, signal) =>
    api.webhooks.listWebhookDeliveries.query({ ...page, id, limit: 50 }, { signal }),
  );
  if (query.isError && query.data === undefined)
    return <Failed cause={query.error} retry={() => void query.refetch()} />;
  if (query.data === undefined) return <Skeleton className="h-32 w-full" />;
  if (query.data.length === 0)
    return <p className="text-muted">None yet. Send a test, or wait for an event.</p>;
  return (
    <>
      <ul>
        {query.data.map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} />
        ))}
      </ul>
      {query.hasNextPage ? (
        <Button small busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Load more
        </Button>
      ) : null}
    </>
  );
}

function DeliveryRow({ delivery }: { readonly delivery: Delivery }) {
  const { id, type, state, attempts, nextAt, lastStatus, lastError, response, createdAt } =
    delivery;
  const [tone, sign, word] = LOOKS[state];
  const retry = useChange(() => api.webhooks.retryWebhookDelivery.mutate({ id }), {
    refreshes: ["webhooks"],
    onDone: () => notify("It is sent again"),
  });
  return (
    <li className="flex flex-col gap-1 border-b border-line/60 py-2 last:border-0">
      <span className="flex flex-wrap items-center justify-between gap-2">
        <span className="flex flex-wrap items-center gap-2">
          <Badge tone={tone} sign={sign}>
            {word}
          </Badge>
          <code>{visibleText(type)}</code>
          <Time at={createdAt} />
          <span className="text-muted">
            {attempts} {attempts === 1 ? "attempt" : "attempts"}
            {lastStatus === null ? "" : `, answered ${lastStatus}`}
          </span>
        </span>
        {state === "delivered" ? null : (
          <Button small busy={retry.isPending} onClick={() => retry.mutate(undefined)}>
            Send again
          </Button>
        )}
      </span>
      {lastError === null ? null : <span className="text-deny">{visibleText(lastError)}</span>}
      {response === null ? null : <code className="text-muted">{visibleText(response)}</code>}
      {nextAt === null ? null : (
        <span className="text-muted">next attempt {new Date(nextAt).toLocaleTimeString()}</span>
      )}
    </li>
  );
}
