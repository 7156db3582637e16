// Publishing: shows what changes, needs a green check of the server, and waits for its answer.
import { useState } from "react";
import { failureOf } from "../../api/failure.ts";
import { useChange, useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Failed, Loaded, Skeleton } from "../../ui/states.tsx";
import { notify } from "../../ui/toast.tsx";
import type { Draft } from "./draft.ts";
import { FaultList } from "./faults.tsx";
import { FileDiffs } from "./file-diffs.tsx";
import { type Files, GOVERNED, type Kind, type Version } from "./kinds.ts";
import type { Place } from "./place.ts";
import { policiesRoute } from "./routes.ts";

export function PublishButton({
  kind,
  base,
  draft,
  inForce,
  onGo,
}: {
  readonly kind: Kind;
  readonly base: Version;
  readonly draft: Draft;
  readonly inForce: number | null;
  readonly onGo: (place: Place) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const isSame = draft.changed.length === 0 && base.state === "enforced";
  return (
    <>
      <Button small look="primary" disabled={isSame} onClick={() => setOpen(true)}>
        Publish …
      </Button>
      <Dialog
        size="large"
        open={isOpen}
        onClose={() => setOpen(false)}
        title={
          draft.changed.length > 0 ? "Publish these changes" : `Publish version ${base.version}`
        }
        lead="A version in force decides every call from the moment the server says so."
      >
        <PublishForm
          kind={kind}
          version={draft.changed.length > 0 ? null : base.version}
          files={draft.files}
          inForce={inForce}
          onClose={() => setOpen(false)}
          onPublished={draft.discard}
          onGo={onGo}
        />
      </Dialog>
    </>
  );
}

export function PublishForm({
  kind,
  version,
  files,
  inForce,
  onClose,
  onPublished,
  onGo,
}: {
  readonly kind: Kind;
  /** Null: the texts are kept as a new version first. */
  readonly version: number | null;
  readonly files: Files;
  readonly inForce: number | null;
  readonly onClose: () => void;
  readonly onPublished?: () => void;
  readonly onGo: (place: Place) => void;
}) {
  const texts = GOVERNED[kind];
  const navigate = policiesRoute.useNavigate();
  const [note, setNote] = useState("");
  const [as, setAs] = useState<"enforced" | "shadow">("enforced");
  const former = useData(
    [texts.noun, "version", inForce],
    (signal) => texts.get(inForce ?? 0, signal),
    { enabled: inForce !== null },
  );
  const check = useData([texts.noun, "check", files], () => texts.check(files));
  const publish = useChange(
    async () => {
      const target = version ?? (await texts.draft(files, note)).document.version;
      return texts.publish(target, as);
    },
    {
      quiet: true,
      refreshes: [texts.noun, "tools"],
      onDone: (done) => {
        onPublished?.();
        onClose();
        notify(
          `Version ${done.version} is ${as === "enforced" ? "in force" : "on trial"}`,
          as === "enforced" && inForce !== null
            ? { undo: () => back.mutate(inForce) }
            : { detail: "It is asked beside the one in force and decides nothing." },
        );
        void navigate({
          search: (old) => ({
            ...old,
            version: done.version,
            panel: as === "enforced" ? "versions" : "trial",
          }),
        });
      },
    },
  );
  const back = useChange((to: number) => texts.rollback(to), {
    refreshes: [texts.noun, "tools"],
    onDone: ({ version: now }) => notify(`Version ${now} is in force again`),
  });
  const isValid = check.data?.valid === true;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isValid) publish.mutate(undefined);
      }}
    >
      <section className="flex flex-col gap-2">
        <h3>Changes to what is in force</h3>
        {inForce === null ? (
          <p className="text-muted">Nothing is in force yet.</p>
        ) : (
          <Loaded query={former} skeleton={<Skeleton className="h-32 w-full" />}>
            {(one) => <FileDiffs before={one.files} after={files} />}
          </Loaded>
        )}
      </section>
      <section className="flex flex-col gap-2" aria-live="polite">
        <h3>Check by the server</h3>
        <Loaded query={check} skeleton={<p className="text-muted">Compiles and tests it …</p>}>
          {({ valid, faults }) => (
            <>
              <p className={valid ? "text-ok" : "text-deny"}>
                {valid
                  ? kind === "policy"
                    ? "✓ It compiles, and its tests pass"
                    : "✓ It is valid"
                  : "✕ It cannot be published like this"}
              </p>
              <div className="rounded-md border border-line empty:hidden">
                <FaultList
                  faults={faults}
                  onGo={(place) => {
                    onClose();
                    onGo(place);
                  }}
                />
              </div>
            </>
          )}
        </Loaded>
      </section>
      {texts.hasTrial ? <Manner as={as} onChoose={setAs} /> : null}
      {version === null ? (
        <TextField
          label="Note"
          hint="Why; it stands in the ledger"
          maxLength={500}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      ) : null}
      {publish.isError ? <PublishFailed cause={publish.error} /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Keep it as it is</Button>
        <Button type="submit" look="primary" disabled={!isValid} busy={publish.isPending}>
          {as === "enforced" ? "Put in force" : "Put on trial"}
        </Button>
      </div>
    </form>
  );
}

function Manner({
  as,
  onChoose,
}: {
  readonly as: "enforced" | "shadow";
  readonly onChoose: (as: "enforced" | "shadow") => void;
}) {
  const options = [
    ["enforced", "In force", "It decides every call."],
    ["shadow", "On trial", "It is asked beside the one in force; where they disagree is recorded."],
  ] as const;
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-semibold">How</legend>
      {options.map(([value, label, hint]) => (
        <label key={value} className="flex min-h-6 items-start gap-2">
          <input
            type="radio"
            name="as"
            className="mt-0.5 size-4 accent-(--accent)"
            checked={as === value}
            onChange={() => onChoose(value)}
          />
          <span>
            {label}
            <span className="block text-xs text-muted">{hint}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The places that are named, besides the sentence. */
function PublishFailed({ cause }: { readonly cause: unknown }) {
  const { errors = [] } = failureOf(cause);
  return (
    <>
      <Failed cause={cause} />
      <ul aria-label="Faults of the server" className="list-disc pl-5">
        {errors.map(({ path, message }, at) => (
          <li key={at}>
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    </>
  );
}
