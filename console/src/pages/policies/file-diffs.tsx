import { Diff } from "../../ui/diff.tsx";
import { changedFiles } from "./draft.ts";
import type { Files } from "./kinds.ts";

/** Every file that differs, with its lines. */
export function FileDiffs({ before, after }: { readonly before: Files; readonly after: Files }) {
  const names = changedFiles(before, after);
  if (names.length === 0) return <p className="text-muted">The texts are the same.</p>;
  return (
    <div className="flex flex-col gap-3">
      {names.map((name) => (
        <section key={name} className="flex flex-col gap-1">
          <h3>
            <code>{name}</code>
            <span className="ml-2 font-normal text-muted">{wordOf(before[name], after[name])}</span>
          </h3>
          <Diff
            label={`Changes of ${name}`}
            before={before[name] ?? ""}
            after={after[name] ?? ""}
          />
        </section>
      ))}
    </div>
  );
}

const wordOf = (before: string | undefined, after: string | undefined): string =>
  before === undefined ? "added" : after === undefined ? "removed" : "changed";
