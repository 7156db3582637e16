// The expression behind a permission. Sets of subjects open on demand.
import { useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { cx } from "../../ui/class-names.ts";
import { Failed } from "../../ui/states.tsx";
import { type Reference, textOfReference } from "./relationships.ts";

type Root = Outputs["relationships"]["expandRelationship"];
interface Node extends Omit<Root, "children"> {
  readonly children: readonly Node[];
}

const WORDS: Record<Node["operation"], string> = {
  union: "any of",
  intersection: "all of",
  exclusion: "the first without the others",
  leaf: "",
};
const MAX_SHOWN = 100;

export function Tree({ root, who }: { readonly root: Root; readonly who: string }) {
  return (
    <ul aria-label="Tree of the permission" className="flex flex-col gap-1">
      {/* Children are nodes of the same form. */}
      <Branch node={root as unknown as Node} above={null} who={who} depth={0} />
    </ul>
  );
}

function Branch({
  node,
  above,
  who,
  depth,
}: {
  readonly node: Node;
  readonly above: Node | null;
  readonly who: string;
  readonly depth: number;
}) {
  const { resource, name, operation, children, subjects } = node;
  const isSame = above?.resource.type === resource.type && above.resource.id === resource.id;
  return (
    <li>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-semibold">
          {isSame ? name : `${resource.type}:${resource.id}#${name}`}
        </code>
        <span className="text-muted">{WORDS[operation]}</span>
        {operation === "leaf" && subjects.length === 0 ? (
          <span className="text-muted">nobody is written down</span>
        ) : null}
      </div>
      {subjects.length > 0 || children.length > 0 ? (
        <ul className="ml-2 flex flex-col gap-1 border-l border-line pl-3">
          {subjects.slice(0, MAX_SHOWN).map((one) => (
            <Subject key={textOfReference(one)} one={one} who={who} depth={depth} />
          ))}
          {subjects.length > MAX_SHOWN ? (
            <li className="text-muted">and {subjects.length - MAX_SHOWN} more</li>
          ) : null}
          {children.map((child, at) => (
            <Branch key={at} node={child} above={node} who={who} depth={depth} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}

const DEEPEST = 8;

function Subject({
  one,
  who,
  depth,
}: {
  readonly one: Reference;
  readonly who: string;
  readonly depth: number;
}) {
  const [isOpen, setOpen] = useState(false);
  const text = textOfReference(one);
  const isAsked = text === who || (one.id === "*" && who.startsWith(`${one.type}:`));
  const canOpen = one.relation !== undefined && depth < DEEPEST;
  return (
    <li>
      <span className="flex flex-wrap items-baseline gap-2">
        <code className={cx(isAsked && "rounded bg-ok-soft px-1 text-ok")}>
          {isAsked ? "✓ " : ""}
          {text}
        </code>
        {canOpen ? (
          <button
            type="button"
            aria-expanded={isOpen}
            className="min-h-6 text-accent underline"
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "close" : "who is that?"}
          </button>
        ) : null}
      </span>
      {isOpen && one.relation !== undefined ? (
        <Members type={one.type} id={one.id} relation={one.relation} who={who} depth={depth + 1} />
      ) : null}
    </li>
  );
}

function Members({
  type,
  id,
  relation,
  who,
  depth,
}: {
  readonly type: string;
  readonly id: string;
  readonly relation: string;
  readonly who: string;
  readonly depth: number;
}) {
  const resource = `${type}:${id}`;
  const { data, isError, error } = useData(
    ["relationships", "expand", resource, relation],
    (signal) =>
      api.relationships.expandRelationship.query({ resource, permission: relation }, { signal }),
  );
  if (isError) return <Failed cause={error} />;
  if (!data) return <span className="text-muted">…</span>;
  return (
    <ul className="ml-2 border-l border-line pl-3">
      <Branch node={data as unknown as Node} above={null} who={who} depth={depth} />
    </ul>
  );
}
