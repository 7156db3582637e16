import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { api, type Outputs } from "../../../api/client.ts";
import { usePages } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { type Column, DataTable } from "../../../ui/data-table.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { ListDetail } from "../../../ui/list-detail.tsx";
import { Empty, Failed, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { NewWebhook } from "./new-webhook.tsx";
import { WebhookDetail } from "./webhook-detail.tsx";

export type Webhook = Outputs["webhooks"]["getWebhook"];

const route = getRouteApi("/settings");
const REASONS = {
  switched_off: "switched off",
  gone: "off: it said it is gone",
  failing: "off: it failed for too long",
};

export function WebhookState({ hook }: { readonly hook: Webhook }) {
  const { enabled, disabledReason, failingSince } = hook;
  if (!enabled) return <Badge sign="○">{REASONS[disabledReason ?? "switched_off"]}</Badge>;
  return failingSince === null ? (
    <Badge tone="ok" sign="✓">
      on
    </Badge>
  ) : (
    <Badge tone="deny" sign="✕">
      failing
    </Badge>
  );
}

const COLUMNS: readonly Column<Webhook>[] = [
  { id: "url", header: "Address", cell: ({ url }) => <code>{visibleText(url)}</code> },
  { id: "state", header: "State", width: "w-40", cell: (hook) => <WebhookState hook={hook} /> },
  {
    id: "events",
    header: "Events",
    width: "w-56",
    wideOnly: true,
    cell: ({ events }) => <code>{events.join(" ")}</code>,
  },
  {
    id: "success",
    header: "Last success",
    width: "w-36",
    wideOnly: true,
    cell: ({ lastSuccessAt }) => (lastSuccessAt === null ? "never" : <Time at={lastSuccessAt} />),
  },
];
const FEW_COLUMNS = COLUMNS.slice(0, 2);

/** Endpoints outside that are told of events. */
export function Webhooks() {
  const { id, new: isNew = false } = route.useSearch();
  const navigate = useNavigate();
  const query = usePages(["webhooks", "list"], (page, signal) =>
    api.webhooks.listWebhooks.query({ ...page, limit: 100 }, { signal }),
  );
  const go = (search: { id?: string; new?: true }): void =>
    void navigate({ to: "/settings", search: { tab: "webhooks", ...search }, replace: true });
  const button = (
    <Button look="primary" onClick={() => go({ new: true })}>
      <Plus size={15} aria-hidden /> New webhook
    </Button>
  );
  return (
    <div className="flex flex-col gap-3">
      {query.isError && query.data === undefined ? (
        <Failed cause={query.error} retry={() => void query.refetch()} />
      ) : query.data === undefined ? (
        <Skeleton className="h-72 w-full" />
      ) : query.data.length === 0 ? (
        <div className="rounded-lg border border-line bg-surface">
          <Empty
            title="No webhooks yet"
            text="A webhook tells a program of yours of approvals, calls and mode changes, with signed messages."
            action={button}
            command="ostiary webhooks add https://example.org/hook 'approval.*'"
          />
        </div>
      ) : (
        <>
          <div className="flex justify-end">{button}</div>
          <ListDetail
            title="Webhook"
            detail={id === undefined ? null : <WebhookDetail key={id} id={id} />}
            onClose={() => go({})}
            list={
              <DataTable
                label="Webhooks"
                rows={query.data}
                columns={id === undefined ? COLUMNS : FEW_COLUMNS}
                rowId={(hook) => hook.id}
                isCurrent={(hook) => hook.id === id}
                onOpen={(hook) => go({ id: hook.id })}
              />
            }
          />
        </>
      )}
      <Dialog
        open={isNew}
        onClose={() => go({})}
        title="New webhook"
        lead="Messages follow Standard Webhooks: signed, with a time and an id, tried again when they fail."
      >
        <NewWebhook onCancel={() => go({})} onDone={(made) => go({ id: made })} />
      </Dialog>
    </div>
  );
}
