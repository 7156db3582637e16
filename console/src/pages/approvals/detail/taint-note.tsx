import { visibleText } from "../../../ui/code.tsx";
import type { Approval } from "../approval.ts";

/** Content from outside that whoever asks has read: it may be what asks. */
export function TaintNote({ row }: { readonly row: Approval }) {
  if (row.taint === undefined && row.taintSources.length === 0) return null;
  return (
    <div className="rounded-lg border border-hold/50 bg-hold-soft p-4">
      <p className="font-medium text-hold">
        ⚠ The caller has read content from outside, which may have asked for this
      </p>
      {row.taintSources.length === 0 ? (
        <p>{visibleText(row.taint ?? "")}</p>
      ) : (
        <ul className="mt-1 flex flex-col gap-0.5">
          {row.taintSources.map(({ from, tool, reader }) => (
            <li key={`${from} ${tool} ${reader}`}>
              <code>{visibleText(from)}</code> by <code>{tool}</code>, read by the {reader}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
