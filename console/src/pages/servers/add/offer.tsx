// What a try found: the tools that would be added, or why it did not work.
import { visibleText } from "../../../ui/code.tsx";
import { Badge } from "../../../ui/verdict.tsx";
import { dangersIn } from "../tools/findings.tsx";
import type { Tried } from "../types.ts";

export function Offer({ tried }: { readonly tried: Tried }) {
  const { server, fault, tools, notes } = tried;
  const dangers = dangersIn(tools);
  return (
    <section
      role="status"
      aria-label={`What ${server.name} offers`}
      className="flex flex-col gap-2 rounded-md border border-line p-3"
    >
      {fault ? (
        <div>
          <p className="font-medium text-deny">✕ {visibleText(fault.message)}</p>
          {fault.remedy === undefined ? null : <p>{visibleText(fault.remedy)}</p>}
        </div>
      ) : (
        <p className="flex flex-wrap items-center gap-2 font-medium">
          <span>
            ✓ {server.name} answers and offers {tools.length}{" "}
            {tools.length === 1 ? "tool" : "tools"}
          </span>
          {dangers > 0 ? (
            <Badge tone="deny" sign="!">
              {dangers} dangerous {dangers === 1 ? "finding" : "findings"}
            </Badge>
          ) : null}
        </p>
      )}
      {notes.map((note) => (
        <p key={note} className="text-muted">
          {visibleText(note)}
        </p>
      ))}
      {tools.length > 0 ? (
        <ul className="max-h-56 overflow-y-auto">
          {tools.map(({ name, description, terms, findings }) => (
            <li key={name} className="border-t border-line/60 py-1.5">
              <span className="flex flex-wrap items-center gap-2">
                <code className="font-medium">{visibleText(name)}</code>
                <Badge>{terms.risk}</Badge>
                {findings.length > 0 ? <Badge tone="hold">{findings.length} findings</Badge> : null}
              </span>
              <span className="line-clamp-1 text-muted">{visibleText(description)}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}
