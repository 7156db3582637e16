// The draft beside another version, file by file.
import { useData } from "../../api/query.ts";
import { Select } from "../../ui/field.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { FileDiffs } from "./file-diffs.tsx";
import type { Files, GovernedTexts } from "./kinds.ts";

const WORDS = { enforced: "in force", shadow: "on trial", draft: "draft", retired: "former" };

export function Changes({
  texts,
  files,
  against,
  onAgainst,
}: {
  readonly texts: GovernedTexts;
  readonly files: Files;
  readonly against: number | null;
  readonly onAgainst: (version: number) => void;
}) {
  const versions = useData([texts.noun, "versions"], (signal) =>
    texts.list({ limit: 100 }, signal),
  );
  const other = useData(
    [texts.noun, "version", against],
    (signal) => texts.get(against ?? 0, signal),
    { enabled: against !== null },
  );
  if (against === null)
    return <Empty title="There is nothing to compare with" text="No version is in force yet." />;
  return (
    <div className="flex flex-col gap-3">
      <Select
        label="Compared with"
        className="max-w-72"
        value={String(against)}
        onChange={(event) => onAgainst(Number(event.target.value))}
        options={(versions.data?.items ?? []).map(({ version, state, note }) => [
          String(version),
          `Version ${version} · ${WORDS[state]}${note === "" ? "" : ` · ${note.slice(0, 40)}`}`,
        ])}
      />
      <Loaded query={other}>
        {(version) => <FileDiffs before={version.files} after={files} />}
      </Loaded>
    </div>
  );
}
