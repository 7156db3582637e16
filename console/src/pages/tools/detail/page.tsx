// One tool: try it, what it is, what governs it, its versions.
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { api, type Outputs } from "../../../api/client.ts";
import { failureOf } from "../../../api/failure.ts";
import { useData } from "../../../api/query.ts";
import { useIsAdmin } from "../../../app/session.tsx";
import { useShortcut } from "../../../app/shortcuts.tsx";
import { ButtonLink } from "../../../ui/button.tsx";
import { visibleText } from "../../../ui/code.tsx";
import { copyText } from "../../../ui/copy.tsx";
import { Page } from "../../../ui/page.tsx";
import { Failed, Skeleton } from "../../../ui/states.tsx";
import { Tabs } from "../../../ui/tabs.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import type { ToolTab } from "../routes.ts";
import { type CatalogueTool, sourceOf } from "../search.ts";
import { RiskBadge, StateBadge } from "../state.tsx";
import { useCatalogue } from "../use-catalogue.ts";
import { About } from "./about.tsx";
import { Barred, HiddenTool } from "./barred.tsx";
import { Governance } from "./governance.tsx";
import { SwitchTool } from "./switch.tsx";
import { TryIt } from "./try-it.tsx";
import { Versions } from "./versions.tsx";

type Detail = Outputs["tools"]["getToolDetails"];

export function ToolPage() {
  const { category, tool } = useParams({ from: "/tools/$category/$tool" });
  const name = `${category}/${tool}`;
  const isAdmin = useIsAdmin();
  const detail = useData(["tools", "detail", name], (signal) =>
    api.tools.getToolDetails.query({ name }, { signal }),
  );
  const catalogue = useCatalogue({});
  const entry = catalogue.data?.tools.find((one) => one.name === name);
  useShortcut("y", "Copy the tool's name", () => {
    void copyText(name).then((done) => done && notify(`${name} copied`));
  });
  // What was read before may have been switched off since.
  const isGone = detail.isError && failureOf(detail.error).code === "NOT_FOUND";
  if (detail.data && !isGone) return <Shown detail={detail.data} entry={entry} />;
  const isHidden = isGone && isAdmin && entry;
  return (
    <Page title={name} lead={<Back />}>
      {isHidden ? (
        <HiddenTool entry={entry} />
      ) : detail.isError ? (
        <Failed cause={detail.error} retry={() => void detail.refetch()} />
      ) : (
        <Skeleton className="h-96 w-full" />
      )}
    </Page>
  );
}

const Back = () => (
  <ButtonLink to="/tools" look="quiet" small className="-ml-2">
    ← All tools
  </ButtonLink>
);

function Shown({
  detail,
  entry,
}: {
  readonly detail: Detail;
  readonly entry: CatalogueTool | undefined;
}) {
  const { tool, capability } = detail;
  const { tab = "try" } = useSearch({ from: "/tools/$category/$tool" });
  const navigate = useNavigate({ from: "/tools/$category/$tool" });
  return (
    <Page
      title={tool.name}
      wide
      lead={
        <span className="flex flex-col gap-2">
          <span className="flex flex-wrap items-center gap-1.5">
            <Back />
            <strong className="text-text">{visibleText(tool.displayName)}</strong>
            {entry ? <StateBadge state={entry.state} /> : null}
            <RiskBadge risk={tool.risk} />
            <Badge>{tool.governanceClass}</Badge>
            <Badge>{entry ? sourceOf(entry) : tool.provider}</Badge>
            {capability?.linkState === "pending_link" ? (
              <Badge tone="hold">pending link</Badge>
            ) : null}
            {tool.deprecated ? <Badge tone="hold">deprecated</Badge> : null}
          </span>
          <span className="max-w-prose">{visibleText(tool.description)}</span>
        </span>
      }
      actions={capability ? <SwitchTool name={tool.name} isOn={capability.enabled} /> : undefined}
    >
      {entry?.state === "barred" ? <Barred entry={entry} /> : null}
      <Tabs
        label={`About ${tool.name}`}
        value={tab}
        onChange={(next) =>
          void navigate({ search: (now) => ({ ...now, tab: next as ToolTab }), replace: true })
        }
        tabs={[
          { id: "try", label: "Try it", content: <TryIt key={tool.name} tool={tool} /> },
          { id: "about", label: "What it is", content: <About detail={detail} /> },
          {
            id: "governance",
            label: "Governance",
            content: <Governance detail={detail} entry={entry} />,
          },
          {
            id: "versions",
            label: "Versions",
            content: <Versions detail={detail} entry={entry} />,
          },
        ]}
      />
    </Page>
  );
}
