import { useChange, useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Failed, Loaded, Skeleton } from "../../ui/states.tsx";
import { notify } from "../../ui/toast.tsx";
import { FileDiffs } from "./file-diffs.tsx";
import { type Files, GOVERNED, type Kind } from "./kinds.ts";
import { policiesRoute } from "./routes.ts";

/** Puts a version that was in force before in force again, after showing what that changes. */
export function RollbackForm({
  kind,
  version,
  files,
  inForce,
  onClose,
}: {
  readonly kind: Kind;
  readonly version: number;
  readonly files: Files;
  readonly inForce: number | null;
  readonly onClose: () => void;
}) {
  const texts = GOVERNED[kind];
  const navigate = policiesRoute.useNavigate();
  const now = useData(
    [texts.noun, "version", inForce],
    (signal) => texts.get(inForce ?? 0, signal),
    { enabled: inForce !== null },
  );
  const undo = useChange((to: number) => texts.rollback(to), {
    refreshes: [texts.noun, "tools"],
    onDone: (done) => notify(`Version ${done.version} is in force again`),
  });
  const rollback = useChange(() => texts.rollback(version), {
    quiet: true,
    refreshes: [texts.noun, "tools"],
    onDone: (done) => {
      onClose();
      notify(
        `Version ${done.version} is in force again`,
        inForce === null ? {} : { undo: () => undo.mutate(inForce) },
      );
      void navigate({ search: { kind, version: done.version, panel: "versions" } });
    },
  });
  return (
    <div className="flex flex-col gap-4">
      {inForce === null ? null : (
        <section className="flex flex-col gap-2">
          <h3>What that changes</h3>
          <Loaded query={now} skeleton={<Skeleton className="h-32 w-full" />}>
            {(one) => <FileDiffs before={one.files} after={files} />}
          </Loaded>
        </section>
      )}
      {rollback.isError ? <Failed cause={rollback.error} /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it as it is</Button>
        <Button look="primary" busy={rollback.isPending} onClick={() => rollback.mutate(undefined)}>
          Roll back to version {version}
        </Button>
      </div>
    </div>
  );
}
