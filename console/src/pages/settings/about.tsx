// Which server this is, and where to read on.
import { api } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Copy } from "../../ui/copy.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { Loaded, Skeleton } from "../../ui/states.tsx";

const LINKS: readonly (readonly [href: string, label: string, text: string])[] = [
  ["/docs", "API reference", "every endpoint, with examples, of this very server"],
  ["/openapi.json", "OpenAPI document", "for generators and other tools"],
];

const COMMANDS = [
  ["ostiary doctor", "checks this installation"],
  ["ostiary connect", "tells an AI client of this server"],
  ["ostiary explain <execution>", "says why a call was decided as it was"],
  ["ostiary --help", "all commands"],
] as const;

export function About() {
  const query = useData(["health"], (signal) => api.health.getHealth.query(undefined, { signal }));
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="This server">
        <Loaded query={query} skeleton={<Skeleton className="h-28 w-full" />}>
          {({ version, mode, time }) => (
            <Facts
              rows={[
                ["Ostiary", <strong key="version">{version}</strong>],
                ["Address", <code key="address">{window.location.origin}</code>],
                ["MCP", <code key="mcp">{`${window.location.origin}/mcp`}</code>],
                ["Mode", mode],
                ["Its clock", new Date(time).toLocaleString()],
                ["License", "Apache-2.0"],
              ]}
            />
          )}
        </Loaded>
      </Card>
      <Card title="Read on">
        <ul className="flex flex-col gap-2">
          {LINKS.map(([href, label, text]) => (
            <li key={href}>
              <a href={href} className="underline">
                {label}
              </a>{" "}
              <span className="text-muted">{text}</span>
            </li>
          ))}
          {COMMANDS.map(([command, text]) => (
            <li key={command} className="flex flex-wrap items-center gap-1">
              <code className="rounded bg-raised px-1.5 py-0.5">{command}</code>
              <Copy text={command} label={`Copy ${command}`} />
              <span className="text-muted">{text}</span>
            </li>
          ))}
        </ul>
      </Card>
    </div>
  );
}
