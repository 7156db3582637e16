// One server: its tools, how it is reached, its credentials and its last lines.
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { AdminOnly } from "../../app/admin-only.tsx";
import { Page } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { ServerActions } from "./actions.tsx";
import { Connection } from "./connection.tsx";
import { Credentials } from "./credentials.tsx";
import { eraOf, HealthBadge, KINDS, toReview } from "./health.tsx";
import { Logs } from "./logs.tsx";
import { LoginNeeded } from "./login.tsx";
import type { ServerTab } from "./routes.ts";
import { ServerTools } from "./tools/tools.tsx";
import type { Server } from "./types.ts";
import { visibleText } from "../../ui/code.tsx";

const route = getRouteApi("/servers/$name");

export function ServerPage() {
  const { name } = route.useParams();
  const query = useData(
    ["servers", "one", name],
    (signal) => api.servers.getServer.query({ name }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <AdminOnly title={name}>
      <Page
        title={name}
        wide
        lead={<Lead server={query.data} />}
        actions={query.data ? <ServerActions server={query.data} /> : null}
      >
        <Loaded query={query} skeleton={<Skeleton className="h-96 w-full" />}>
          {(server) => <Views server={server} />}
        </Loaded>
      </Page>
    </AdminOnly>
  );
}

function Lead({ server }: { readonly server: Server | undefined }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Link to="/servers">All servers</Link>
      {server ? (
        <>
          <HealthBadge server={server} />
          <span>
            {[KINDS[server.transport.kind], eraOf(server)].filter((part) => part).join(" · ")}
          </span>
          {server.description === "" ? null : <span>{visibleText(server.description)}</span>}
        </>
      ) : null}
    </span>
  );
}

function Views({ server }: { readonly server: Server }) {
  const { tab = "tools" } = route.useSearch();
  const navigate = useNavigate();
  const { name, health, transport } = server;
  const waiting = toReview(server);
  return (
    <>
      {health?.reason && health.status !== "login_needed" ? (
        <p
          role="status"
          className="rounded-md border border-hold/50 bg-hold-soft px-3 py-2 text-hold"
        >
          {visibleText(health.reason)}
        </p>
      ) : null}
      {transport.kind !== "stdio" && transport.kind !== "api" && transport.auth === "oauth" ? (
        <LoginNeeded name={name} isNeeded={health?.status === "login_needed"} />
      ) : null}
      <Tabs
        label="About this server"
        value={tab}
        onChange={(id) =>
          void navigate({
            to: "/servers/$name",
            params: { name },
            search: id === "tools" ? {} : { tab: id as ServerTab },
            replace: true,
          })
        }
        tabs={[
          {
            id: "tools",
            label: waiting > 0 ? `Tools · ${waiting} to review` : "Tools",
            content: <ServerTools server={server} />,
          },
          { id: "connection", label: "Connection", content: <Connection server={server} /> },
          { id: "credentials", label: "Credentials", content: <Credentials name={name} /> },
          { id: "logs", label: "Logs", content: <Logs name={name} /> },
        ]}
      />
    </>
  );
}
