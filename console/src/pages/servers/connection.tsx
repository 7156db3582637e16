// How a server is reached, and how it is.
import type { ReactNode } from "react";
import { Code, jsonText, visibleText } from "../../ui/code.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { KINDS, ToolCounts } from "./health.tsx";
import type { Server } from "./types.ts";

export function Connection({ server }: { readonly server: Server }) {
  const { health, settings, origin, createdBy, createdAt, updatedAt } = server;
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Reached by">
        <Facts rows={reachRows(server.transport)} />
      </Card>
      <Card title="State">
        <Facts
          rows={[
            ["Since", health ? <Time key="since" at={health.since} /> : "not connected"],
            ["Protocol", health?.protocolVersion ?? "not known yet"],
            ["Era", health?.era ?? "not known yet"],
            ["Breaker", health ? BREAKERS[health.breaker] : null],
            ["Calls", health ? `${health.inFlight} running, ${health.queued} waiting` : null],
            ["Restarts", health?.restarts],
            ["Tools", <ToolCounts key="tools" tools={server.tools} />],
            [
              "Says of itself",
              health?.serverInfo ? (
                <Code key="info" label="server info" text={jsonText(health.serverInfo)} />
              ) : null,
            ],
          ]}
        />
      </Card>
      <Card title="Limits">
        <Facts
          rows={[
            ["Time for a call", `${settings.timeoutMs / 1_000} s`],
            ["At once", `${settings.maxConcurrent} calls, ${settings.maxQueued} more may wait`],
            ["Looks at tools again", `after ${settings.recheckMs / 1_000} s`],
            [
              "Breaker",
              `opens after ${settings.breakerFailures} failures, for ${settings.breakerResetMs / 1_000} s`,
            ],
            [
              "Largest answer",
              `${Math.round(settings.maxResultBytes / 1_024).toLocaleString()} KiB`,
            ],
            [
              "Credentials",
              settings.credentials === "user" ? "everybody brings their own" : "one for all",
            ],
          ]}
        />
      </Card>
      <Card title="Record">
        <Facts
          rows={[
            ["Added", <Time key="at" at={createdAt} />],
            ["By", createdBy],
            ["Changed", <Time key="changed" at={updatedAt} />],
            ["Kept in", origin === "configuration" ? "the settings file" : "the store"],
          ]}
        />
      </Card>
    </div>
  );
}

const BREAKERS = {
  closed: "closed: calls go through",
  half_open: "half open: one call tries whether it is back",
  open: "open: calls are refused for a while",
};

const names = (texts: Readonly<Record<string, string>>): ReactNode =>
  Object.keys(texts).length === 0 ? "none" : <Code label="values" text={linesOf(texts)} />;

const linesOf = (texts: Readonly<Record<string, string>>): string =>
  Object.entries(texts)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");

function reachRows(transport: Server["transport"]): readonly (readonly [string, ReactNode])[] {
  const kind = ["Kind", KINDS[transport.kind]] as const;
  if (transport.kind === "stdio") {
    const { argv, env, isolation, folders, network, localSockets } = transport;
    return [
      kind,
      ["Command", <Code key="argv" label="command" text={argv.join(" ")} />],
      ["Environment", names(env)],
      ["Sandbox", isolation === "sandbox" ? "✓ runs in a sandbox" : "✕ runs without a sandbox"],
      [
        "Folders",
        folders.length === 0
          ? "none"
          : folders.map(({ path, access }) => `${visibleText(path)} (${access})`).join(", "),
      ],
      ["Network", network === "none" ? "none" : network.hosts.join(", ")],
      ["Unix sockets", localSockets ? "its own" : "none"],
    ];
  }
  return [
    kind,
    ["Address", <code key="url">{visibleText(transport.url)}</code>],
    ["Headers", names(transport.headers)],
    ...(transport.kind === "api"
      ? ([["Operations", transport.operations]] as const)
      : ([["Login", transport.auth === "oauth" ? "OAuth" : "by headers"]] as const)),
  ];
}
