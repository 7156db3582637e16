// A version opened for work: files and editor on one side, what can be learnt about the draft on the other.
import { useCallback, useMemo, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Editor } from "../../ui/editor/editor.tsx";
import { Failed } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Time } from "../../ui/time.tsx";
import { notify } from "../../ui/toast.tsx";
import { Changes } from "./changes.tsx";
import { useDraft } from "./draft.ts";
import { FaultList, isGrave } from "./faults.tsx";
import { FileList } from "./files.tsx";
import { GOVERNED, type Kind, type Version } from "./kinds.ts";
import type { CoverageReport } from "@ostiary/rego/browser";
import type { Place } from "./place.ts";
import { PublishButton } from "./publish.tsx";
import { Replay } from "./replay.tsx";
import { type Panel, policiesRoute } from "./routes.ts";
import { SaveDraft } from "./save-draft.tsx";
import { StateBadge } from "./state-badge.tsx";
import { TestPanel } from "./test-panel.tsx";
import { Trial } from "./trial.tsx";
import { TryPanel } from "./try-panel.tsx";
import { useFaults } from "./use-faults.ts";
import { Versions } from "./versions.tsx";

const LANGUAGES: readonly (readonly [RegExp, "rego" | "yaml" | "json"])[] = [
  [/\.rego$/, "rego"],
  [/\.ya?ml$/, "yaml"],
  [/\.json$/, "json"],
];
const languageOf = (file: string) =>
  LANGUAGES.find(([pattern]) => pattern.test(file))?.[1] ?? "text";

/** What decides comes before its tests. */
const firstOf = (files: readonly string[]): string =>
  files.toSorted().find((file) => !/_test\.rego$/.test(file)) ?? files[0] ?? "";

export function Workbench({
  kind,
  base,
  inForce,
}: {
  readonly kind: Kind;
  readonly base: Version;
  readonly inForce: number | null;
}) {
  const texts = GOVERNED[kind];
  const search = policiesRoute.useSearch();
  const navigate = policiesRoute.useNavigate();
  const draft = useDraft(kind, base.version, base.files);
  const found = useFaults(kind, draft.files);
  const [coverage, setCoverage] = useState<CoverageReport | null>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const names = Object.keys(draft.files);
  const file =
    search.file !== undefined && search.file in draft.files ? search.file : firstOf(names);
  const panel: Panel = search.panel ?? (kind === "policy" ? "try" : "changes");

  const show = useCallback(
    (change: { file?: string; panel?: Panel; call?: string; against?: number }) =>
      void navigate({ search: (old) => ({ ...old, ...change }), replace: true }),
    [navigate],
  );
  const go = useCallback(
    (to: Place) => {
      show({ file: to.file });
      setPlace({ ...to });
    },
    [show],
  );
  const faultsHere = useMemo(
    () => found.faults.filter((fault) => fault.file === file),
    [found.faults, file],
  );
  const { lab } = found;
  const lines = coverage?.files[file];
  const extensions = useMemo(
    () => (lab && lines ? lab.coverageExtension(lines.covered, lines.notCovered) : undefined),
    [lab, lines],
  );
  const format = (): void => {
    const result = lab?.formatted(file, draft.files[file] ?? "");
    if (!result) return;
    if ("text" in result) draft.change(file, result.text);
    else if (result.faults[0]) go(result.faults[0]);
  };

  const panels = [
    ...(kind === "policy"
      ? [
          {
            id: "try",
            label: "Try",
            content: (
              <TryPanel found={found} call={search.call} onCoverage={setCoverage} onGo={go} />
            ),
          },
          {
            id: "tests",
            label: "Tests",
            content: <TestPanel found={found} onCoverage={setCoverage} onGo={go} />,
          },
        ]
      : []),
    {
      id: "changes",
      label: "Changes",
      content: (
        <Changes
          texts={texts}
          files={draft.files}
          against={search.against ?? inForce}
          onAgainst={(against) => show({ against })}
        />
      ),
    },
    {
      id: "replay",
      label: "Replay",
      content: (
        <Replay kind={kind} files={draft.files} onTry={(call) => show({ panel: "try", call })} />
      ),
    },
    {
      id: "versions",
      label: "Versions",
      content: <Versions kind={kind} opened={base.version} inForce={inForce} onGo={go} />,
    },
    ...(texts.hasTrial ? [{ id: "trial", label: "Trial", content: <Trial texts={texts} /> }] : []),
  ];

  return (
    <div className="grid gap-4 xl:grid-cols-[minmax(0,1.1fr)_minmax(0,1fr)]">
      <section
        aria-label="Editor"
        className="flex min-w-0 flex-col self-start rounded-lg border border-line bg-surface"
      >
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
          <h2>Version {base.version}</h2>
          <StateBadge state={base.state} />
          <span className="text-muted">
            {base.createdBy}, <Time at={base.createdAt} />
          </span>
          <span className="ml-auto flex flex-wrap gap-2">
            {kind === "policy" && /\.rego$/.test(file) ? (
              <Button small onClick={format} disabled={!lab}>
                Format
              </Button>
            ) : null}
            <Button small onClick={found.check} busy={found.isChecking}>
              Check
            </Button>
            <SaveDraft kind={kind} draft={draft} />
            <PublishButton kind={kind} base={base} draft={draft} inForce={inForce} onGo={go} />
          </span>
        </div>
        <FileList
          draft={draft}
          open={file}
          faulty={new Set(found.faults.filter(isGrave).map((fault) => fault.file))}
          extension={texts.extension}
          onOpen={(name) => show({ file: name })}
        />
        <Editor
          key={file}
          label={`Text of ${file}`}
          language={languageOf(file)}
          value={draft.files[file] ?? ""}
          onChange={(text) => draft.change(file, text)}
          faults={faultsHere}
          goTo={place?.file === file ? place : null}
          onSubmit={found.check}
          {...(extensions ? { extensions } : {})}
          className="h-[56vh] min-h-72 rounded-none border-0"
        />
        <FaultList faults={found.faults} onGo={go} />
        {found.failure ? <Failed cause={found.failure} retry={found.check} /> : null}
        <div
          role="status"
          className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-1.5 text-muted"
        >
          <Standing found={found} />
          {draft.changed.length > 0 ? (
            <span className="ml-auto flex items-center gap-2">
              {draft.changed.length === 1 ? "1 file" : `${draft.changed.length} files`} changed, not
              kept yet
              <Button
                small
                look="quiet"
                onClick={() => {
                  const { files } = draft;
                  draft.discard();
                  notify("The changes are discarded", {
                    undo: () =>
                      Object.entries(files).forEach(([name, text]) => draft.change(name, text)),
                  });
                }}
              >
                Discard
              </Button>
            </span>
          ) : null}
        </div>
      </section>
      <section aria-label="About this draft" className="min-w-0">
        <Tabs
          label="About this draft"
          value={panels.some(({ id }) => id === panel) ? panel : "changes"}
          onChange={(id) => show({ panel: id as Panel })}
          tabs={panels}
        />
      </section>
    </div>
  );
}

function Standing({ found }: { readonly found: ReturnType<typeof useFaults> }) {
  const grave = found.faults.filter(isGrave).length;
  if (grave > 0)
    return (
      <span className="text-deny">
        ✕ {grave === 1 ? "1 fault" : `${grave} faults`}: it cannot be published like this
      </span>
    );
  if (found.isChecking) return <span>The server checks these texts …</span>;
  if (found.server?.valid)
    return <span className="text-ok">✓ Checked by the server: it can be published</span>;
  if (found.compiled?.policy) return <span className="text-ok">✓ Compiles</span>;
  return <span>Not checked yet</span>;
}
