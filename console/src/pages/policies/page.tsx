// What is governed by texts: edited, tried, published and rolled back here.
import { AdminOnly } from "../../app/admin-only.tsx";
import { useData } from "../../api/query.ts";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { GOVERNED, type Kind, KINDS } from "./kinds.ts";
import { policiesRoute } from "./routes.ts";
import { Workbench } from "./workbench.tsx";

export function PoliciesPage() {
  return (
    <AdminOnly title="Policies">
      <Kinds />
    </AdminOnly>
  );
}

function Kinds() {
  const { kind = "policy" } = policiesRoute.useSearch();
  const navigate = policiesRoute.useNavigate();
  return (
    <Page wide title="Policies" lead={GOVERNED[kind].lead}>
      <Tabs
        label="What is governed"
        value={kind}
        onChange={(id) => void navigate({ search: { kind: id as Kind } })}
        tabs={KINDS.map((id) => ({
          id,
          label: GOVERNED[id].label,
          content: <Governed key={id} kind={id} />,
        }))}
      />
    </Page>
  );
}

/** The version in the address, else the one in force, else the newest. */
function Governed({ kind }: { readonly kind: Kind }) {
  const texts = GOVERNED[kind];
  const { version } = policiesRoute.useSearch();
  const versions = useData([texts.noun, "versions"], (signal) =>
    texts.list({ limit: 100 }, signal),
  );
  return (
    <Loaded query={versions} skeleton={<Skeleton className="h-[70vh] w-full" />}>
      {({ items }) => {
        const inForce = items.find(({ state }) => state === "enforced");
        const shown = version ?? inForce?.version ?? items[0]?.version;
        if (shown === undefined)
          return (
            <Empty
              title="There is no version yet"
              text="The files of the governance folder are imported when the server starts."
              command={`${texts.command} list`}
            />
          );
        return <Opened kind={kind} version={shown} inForce={inForce?.version ?? null} />;
      }}
    </Loaded>
  );
}

function Opened({
  kind,
  version,
  inForce,
}: {
  readonly kind: Kind;
  readonly version: number;
  readonly inForce: number | null;
}) {
  const texts = GOVERNED[kind];
  const base = useData([texts.noun, "version", version], (signal) => texts.get(version, signal));
  return (
    <Loaded query={base} skeleton={<Skeleton className="h-[70vh] w-full" />}>
      {(opened) => (
        <Workbench key={`${kind}:${version}`} kind={kind} base={opened} inForce={inForce} />
      )}
    </Loaded>
  );
}
