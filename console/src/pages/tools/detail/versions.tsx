// The definition that is pinned; of tools of upstream servers also what was offered before and what changed.
import { api, type Outputs } from "../../../api/client.ts";
import { useData } from "../../../api/query.ts";
import { useIsAdmin } from "../../../app/session.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { Copy } from "../../../ui/copy.tsx";
import { DiffLines, unifiedLines } from "../../../ui/diff.tsx";
import { Card, Facts } from "../../../ui/page.tsx";
import { RecordLink } from "../../../ui/record-link.tsx";
import { Loaded } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { CatalogueTool } from "../search.ts";

type Detail = Outputs["tools"]["getToolDetails"];
type Offered = Outputs["servers"]["getServerTool"];

export function Versions({
  detail,
  entry,
}: {
  readonly detail: Detail;
  readonly entry: CatalogueTool | undefined;
}) {
  const { tool, capability } = detail;
  const isAdmin = useIsAdmin();
  return (
    <div className="flex flex-col gap-4">
      <Card title="In force">
        <Facts
          rows={[
            ["Version", tool.version],
            [
              "Pin",
              <span key="pin" className="flex items-center gap-1">
                <code className="truncate">{tool.pin}</code>
                <Copy text={tool.pin} label="Copy the pin" />
              </span>,
            ],
            ["Known since", capability ? <Time key="made" at={capability.createdAt} /> : undefined],
            [
              "Pin changed",
              capability ? <Time key="changed" at={capability.updatedAt} /> : undefined,
            ],
            ["Deprecated since", tool.deprecated?.since],
          ]}
        />
      </Card>
      {isAdmin && entry?.server ? <Upstream server={entry.server} name={tool.name} /> : null}
    </div>
  );
}

const FINDINGS: Record<Offered["findings"][number]["severity"], Tone> = {
  info: "info",
  warning: "hold",
  danger: "deny",
};

function Upstream({ server, name }: { readonly server: string; readonly name: string }) {
  const offered = useData(["servers", server, "tools", name], (signal) =>
    api.servers.getServerTool.query({ name: server, tool: name }, { signal }),
  );
  return (
    <Card
      title={`Offered by ${server}`}
      actions={<RecordLink kind="server" id={server} copy={false} />}
    >
      <Loaded query={offered}>
        {(tool) => (
          <div className="flex flex-col gap-3">
            <p>
              <Badge tone={tool.state === "approved" ? "ok" : "hold"}>{tool.state}</Badge>{" "}
              {tool.reason === null ? "" : visibleText(tool.reason)}
            </p>
            {tool.findings.map((finding, at) => (
              <p key={at}>
                <Badge tone={FINDINGS[finding.severity]}>{finding.severity}</Badge>{" "}
                {visibleText(finding.message)} <code>{visibleText(finding.excerpt)}</code>
              </p>
            ))}
            {tool.diff.length === 0 ? null : (
              <DiffLines label="Difference to what was approved" lines={unifiedLines(tool.diff)} />
            )}
            <table className="w-full text-left">
              <thead className="text-[13px] text-muted">
                <tr>
                  <th className="py-1 font-medium">Pin</th>
                  <th className="py-1 font-medium">First seen</th>
                  <th className="py-1 font-medium">Approved</th>
                  <th className="py-1 font-medium">State</th>
                </tr>
              </thead>
              <tbody>
                {tool.versions.map((version) => (
                  <tr key={version.pin} className="border-t border-line">
                    <td className="py-1.5">
                      <code>{version.pin.slice(0, 12)}</code>
                      <Copy text={version.pin} label="Copy the pin" />
                    </td>
                    <td>
                      <Time at={version.firstSeenAt} />
                    </td>
                    <td>{version.approvedBy ?? "–"}</td>
                    <td className="space-x-1">
                      {version.isApproved ? <Badge tone="ok">approved</Badge> : null}
                      {version.isOffered ? <Badge tone="info">offered now</Badge> : null}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </Card>
  );
}
