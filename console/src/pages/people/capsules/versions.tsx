// Versions of a capsule: what differs from the one that acts, and which one acts.
import { useState } from "react";
import { api, type Outputs } from "../../../api/client.ts";
import { useChange, useData } from "../../../api/query.ts";
import { Button } from "../../../ui/button.tsx";
import { jsonText, visibleText } from "../../../ui/code.tsx";
import { ConfirmButton } from "../../../ui/dialog.tsx";
import { Diff } from "../../../ui/diff.tsx";
import { Loaded, Skeleton } from "../../../ui/states.tsx";
import { Time } from "../../../ui/time.tsx";
import { notify } from "../../../ui/toast.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import type { Capsule } from "./capsules.tsx";

type Version = Outputs["capsules"]["listCapsuleVersions"]["items"][number];

export function Versions({ capsule }: { readonly capsule: Capsule }) {
  const { id } = capsule;
  const query = useData(["capsules", "versions", id], (signal) =>
    api.capsules.listCapsuleVersions.query({ id, limit: 100 }, { signal }),
  );
  return (
    <Loaded query={query} skeleton={<Skeleton className="h-40 w-full" />}>
      {({ items }) => (
        <ul>
          {items.map((version) => (
            <VersionRow key={version.version} capsule={capsule} version={version} />
          ))}
        </ul>
      )}
    </Loaded>
  );
}

function VersionRow({
  capsule,
  version: { version, status, author, createdAt, body },
}: {
  readonly capsule: Capsule;
  readonly version: Version;
}) {
  const [isOpen, setOpen] = useState(false);
  const acts = version === capsule.version;
  const activate = useChange(
    () => api.capsules.activateCapsuleVersion.mutate({ id: capsule.id, version }),
    {
      refreshes: ["capsules", "tools"],
      onDone: (now) => notify(`${now.name} is at version ${now.version} now`),
    },
  );
  return (
    <li className="flex flex-col gap-2 border-b border-line/60 py-2 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="flex flex-wrap items-center gap-2">
          <strong>Version {version}</strong>
          {acts ? (
            <Badge tone="ok" sign="✓">
              acts now
            </Badge>
          ) : (
            <Badge>{status}</Badge>
          )}
          <span className="text-muted">
            <Time at={createdAt} /> {author === null ? null : <>by {author}</>} ·{" "}
            {body.capabilities.length} {body.capabilities.length === 1 ? "entry" : "entries"}
          </span>
        </span>
        {acts ? null : (
          <span className="flex gap-2">
            <Button small aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              {isOpen ? "Hide the changes" : "Compare with the acting one"}
            </Button>
            <ConfirmButton
              small
              danger={false}
              label="Activate"
              question={`Let version ${version} act?`}
              explain={
                status === "draft"
                  ? "The draft acts as it is, for every key of this capsule, from the next call on."
                  : "What it says becomes a new version that acts from the next call on."
              }
              confirm={`Activate version ${version}`}
              busy={activate.isPending}
              onConfirm={() => activate.mutate(undefined)}
            />
          </span>
        )}
      </div>
      {isOpen ? <Changes id={capsule.id} from={capsule.version} to={version} /> : null}
    </li>
  );
}

function Changes({
  id,
  from,
  to,
}: {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}) {
  const query = useData(["capsules", "changes", id, from, to], (signal) =>
    api.capsules.compareCapsuleVersions.query({ id, from, to }, { signal }),
  );
  return (
    <Loaded query={query}>
      {({ differences }) =>
        differences.length === 0 ? (
          <p className="text-muted">Both say the same.</p>
        ) : (
          <ul className="flex flex-col gap-2">
            {differences.map((one) => (
              <li key={one.path}>
                <code>{visibleText(one.path)}</code>
                <Diff
                  label={`change of ${one.path}`}
                  before={one.from === null ? "" : jsonText(one.from)}
                  after={one.to === null ? "" : jsonText(one.to)}
                />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
