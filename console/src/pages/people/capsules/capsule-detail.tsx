// One capsule: its tools, how its agents work, and its versions.
import { api } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Facts } from "../../../ui/page.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { type CapsuleView, usePeople } from "../navigation.ts";
import { RecordId } from "../record-id.tsx";
import { AgentForm } from "./agent-form.tsx";
import { type Capsule, toolsOf } from "./capsules.tsx";
import { EditTools } from "./edit-tools.tsx";
import { Versions } from "./versions.tsx";

export function CapsuleDetail({ id }: { readonly id: string }) {
  const query = useData(["capsules", "one", id], (signal) =>
    api.capsules.getCapsule.query({ id }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
      {(capsule) => <Shown capsule={capsule} />}
    </Loaded>
  );
}

function Shown({ capsule }: { readonly capsule: Capsule }) {
  const { view, go } = usePeople();
  const { id, name, status, version, listing, updatedAt } = capsule;
  const form = `${id} ${version} ${updatedAt}`;
  return (
    <>
      <Facts
        rows={[
          [
            "Name",
            <span key="name" className="flex flex-wrap items-center gap-2">
              <strong>{name}</strong>
              {capsule.default ? <Badge tone="info">default</Badge> : null}
              {status === "active" ? null : <Badge sign="○">{status}</Badge>}
            </span>,
          ],
          ["Id", <RecordId key="id" id={id} />],
          ["Holds", toolsOf(capsule)],
          [
            "MCP clients see",
            listing === "full" ? "every tool" : "two tools that find and call the others",
          ],
          [
            "Version",
            <span key="version">
              {version}, <Time at={updatedAt} />
            </span>,
          ],
        ]}
      />
      <CapsuleActions capsule={capsule} />
      <Tabs
        label="About this capsule"
        value={view}
        onChange={(next) => void go({ tab: "capsules", id, view: next as CapsuleView })}
        tabs={[
          { id: "tools", label: "Tools", content: <EditTools key={form} capsule={capsule} /> },
          { id: "agent", label: "Agent", content: <AgentForm key={form} capsule={capsule} /> },
          { id: "versions", label: "Versions", content: <Versions capsule={capsule} /> },
        ]}
      />
    </>
  );
}

function CapsuleActions({ capsule }: { readonly capsule: Capsule }) {
  const { id, name, status } = capsule;
  const update = useChange(
    (change: { default?: true; status?: "active" | "archived" }) =>
      api.capsules.updateCapsule.mutate({ id, ...change }),
    {
      refreshes: ["capsules"],
      onDone: (now, change) =>
        notify(
          change.default ? `${now.name} is the default capsule` : `${now.name} is ${now.status}`,
        ),
    },
  );
  return (
    <div className="flex flex-wrap gap-2">
      {capsule.default ? null : (
        <Button small busy={update.isPending} onClick={() => update.mutate({ default: true })}>
          Make it the default
        </Button>
      )}
      {status === "active" ? (
        <ConfirmButton
          small
          label="Archive"
          question={`Archive ${name}?`}
          explain="Keys of this capsule are refused while it is archived. You can activate it again."
          confirm="Archive it"
          busy={update.isPending}
          onConfirm={() => update.mutate({ status: "archived" })}
        />
      ) : (
        <Button small busy={update.isPending} onClick={() => update.mutate({ status: "active" })}>
          Activate
        </Button>
      )}
    </div>
  );
}
