// One webhook: how it fares, what can be done with it, and its messages.
import { api } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { visibleText } from "../../../ui/code.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { exactTime, Time } from "../../../ui/time.tsx";
import { WebhookActions } from "./actions.tsx";
import { Deliveries } from "./deliveries.tsx";
import { type Webhook, WebhookState } from "./webhooks.tsx";

export function WebhookDetail({ id }: { readonly id: string }) {
  const query = useData(
    ["webhooks", "one", id],
    (signal) => api.webhooks.getWebhook.query({ id }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-72 w-full" />}>
      {(hook) => (
        <>
          <WebhookFacts hook={hook} />
          <WebhookActions hook={hook} />
          <section className="flex flex-col gap-2 border-t border-line pt-3">
            <h3>Messages of the last 30 days</h3>
            <Deliveries id={id} />
          </section>
        </>
      )}
    </Loaded>
  );
}

function WebhookFacts({ hook }: { readonly hook: Webhook }) {
  const { url, events, description, lastSuccessAt, lastFailureAt, failures, dropped } = hook;
  const { origin, createdBy, createdAt, previousSecretUntil, id } = hook;
  return (
    <Facts
      rows={[
        ["Address", <code key="url">{visibleText(url)}</code>],
        ["State", <WebhookState key="state" hook={hook} />],
        ["Id", <code key="id">{id}</code>],
        ["Events", <code key="events">{events.join(" ")}</code>],
        ["Description", description === "" ? null : visibleText(description)],
        ["Last success", lastSuccessAt === null ? "never" : <Time at={lastSuccessAt} />],
        ["Last failure", lastFailureAt === null ? "never" : <Time at={lastFailureAt} />],
        ["Failures in a row", failures],
        ["Dropped", dropped === 0 ? null : `${dropped} events, because too many waited`],
        [
          "Two signatures",
          previousSecretUntil === null ? null : `until ${exactTime(previousSecretUntil)}`,
        ],
        [
          "Created",
          <span key="created">
            <Time at={createdAt} /> by {createdBy}
            {origin === "configuration" ? ", in the settings file" : ""}
          </span>,
        ],
      ]}
    />
  );
}
