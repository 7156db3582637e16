// All versions: who made them, when and why; opened, published, put on trial, put back.
import { useState } from "react";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { cx } from "../../ui/class-names.ts";
import { Copy } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";
import { GOVERNED, type Kind, type VersionSummary } from "./kinds.ts";
import type { Place } from "./place.ts";
import { PublishForm } from "./publish.tsx";
import { RollbackForm } from "./rollback.tsx";
import { policiesRoute } from "./routes.ts";
import { StateBadge } from "./state-badge.tsx";

export function Versions({
  kind,
  opened,
  inForce,
  onGo,
}: {
  readonly kind: Kind;
  readonly opened: number;
  readonly inForce: number | null;
  readonly onGo: (place: Place) => void;
}) {
  const texts = GOVERNED[kind];
  const versions = useData([texts.noun, "versions"], (signal) =>
    texts.list({ limit: 100 }, signal),
  );
  const [asked, setAsked] = useState<VersionSummary | null>(null);
  return (
    <Loaded query={versions}>
      {({ items, next }) => (
        <div className="flex flex-col gap-2">
          <ol
            aria-label="Versions, newest first"
            className="rounded-md border border-line bg-surface"
          >
            {items.map((one) => (
              <li
                key={one.version}
                className={cx(
                  "flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line/60 px-3 py-2 last:border-b-0",
                  one.version === opened && "bg-accent-soft",
                )}
              >
                <Row one={one} kind={kind} opened={opened} onAsk={() => setAsked(one)} />
              </li>
            ))}
          </ol>
          {next === null ? null : (
            <p className="text-muted">
              Older ones: <code>{texts.command} list</code>
            </p>
          )}
          <Dialog
            size="large"
            open={asked !== null}
            onClose={() => setAsked(null)}
            title={
              asked?.state === "retired"
                ? `Put version ${asked.version} in force again`
                : `Publish version ${asked?.version ?? ""}`
            }
          >
            {asked === null ? null : (
              <Asked
                kind={kind}
                version={asked}
                inForce={inForce}
                onClose={() => setAsked(null)}
                onGo={onGo}
              />
            )}
          </Dialog>
        </div>
      )}
    </Loaded>
  );
}

function Row({
  one,
  kind,
  opened,
  onAsk,
}: {
  readonly one: VersionSummary;
  readonly kind: Kind;
  readonly opened: number;
  readonly onAsk: () => void;
}) {
  const navigate = policiesRoute.useNavigate();
  const { version, state, note, createdBy, createdAt, hash } = one;
  return (
    <>
      <strong className="tabular-nums">{version}</strong>
      <StateBadge state={state} />
      <span className="min-w-0 flex-1 basis-40">
        {note === "" ? <span className="text-muted">no note</span> : note}
        <span className="block text-xs text-muted">
          {createdBy}, <Time at={createdAt} /> · <code title={hash}>{hash.slice(0, 8)}</code>
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-1.5">
        <Copy text={hash} label={`Copy the hash of version ${version}`} />
        {version === opened ? (
          <span className="px-2 text-muted">open</span>
        ) : (
          <>
            <Button
              small
              onClick={() =>
                void navigate({
                  search: (old) => ({ ...old, panel: "changes", against: version }),
                })
              }
            >
              Compare
            </Button>
            <Button small onClick={() => void navigate({ search: { kind, version } })}>
              Open
            </Button>
          </>
        )}
        {state === "enforced" ? null : (
          <Button small onClick={onAsk}>
            {state === "retired" ? "Roll back …" : "Publish …"}
          </Button>
        )}
      </span>
    </>
  );
}

function Asked({
  kind,
  version: { version, state },
  inForce,
  onClose,
  onGo,
}: {
  readonly kind: Kind;
  readonly version: VersionSummary;
  readonly inForce: number | null;
  readonly onClose: () => void;
  readonly onGo: (place: Place) => void;
}) {
  const texts = GOVERNED[kind];
  const whole = useData([texts.noun, "version", version], (signal) => texts.get(version, signal));
  return (
    <Loaded query={whole}>
      {({ files }) =>
        state === "retired" ? (
          <RollbackForm
            kind={kind}
            version={version}
            files={files}
            inForce={inForce}
            onClose={onClose}
          />
        ) : (
          <PublishForm
            kind={kind}
            version={version}
            files={files}
            inForce={inForce}
            onClose={onClose}
            onGo={onGo}
          />
        )
      }
    </Loaded>
  );
}
