// How an AI client is told of this server, and whether it has been.
import { ChevronDown, ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ClientSteps } from "./client-steps.tsx";
import { useMadeKeys } from "./made-keys.ts";

export type Connections = Outputs["account"]["getConnections"];

export function ConnectCard({ startsOpen }: { readonly startsOpen: boolean }) {
  const made = useMadeKeys();
  const [isOpen, setOpen] = useState(startsOpen || made.isWaiting);
  const bodyId = useId();
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <Card
      flush={!isOpen}
      title={
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={bodyId}
          onClick={() => setOpen(!isOpen)}
          className="flex min-h-7 items-center gap-1.5"
        >
          <Icon size={16} aria-hidden /> Connect an AI client
        </button>
      }
      actions={
        isOpen ? null : (
          <Button small look="quiet" onClick={() => setOpen(true)}>
            Claude Code, Cursor, VS Code …
          </Button>
        )
      }
    >
      <div id={bodyId}>{isOpen ? <Clients made={made} /> : null}</div>
    </Card>
  );
}

function Clients({ made }: { readonly made: ReturnType<typeof useMadeKeys> }) {
  const query = useData(["connections"], (signal) =>
    api.account.getConnections.query({}, { signal }),
  );
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-96" />}>
      {(connections) => (
        <Tabs
          label="AI clients"
          value={chosen ?? made.lastClient ?? connections.clients[0]?.id ?? ""}
          onChange={setChosen}
          tabs={connections.clients.map((client) => ({
            id: client.id,
            label: client.title,
            content: <ClientSteps client={client} connections={connections} made={made} />,
          }))}
        />
      )}
    </Loaded>
  );
}
