// Who has the permission to execute a tool, and through which relations.
import { useState } from "react";
import { api, type Outputs } from "../../api/client.ts";
import { useData } from "../../api/query.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Badge } from "../../ui/verdict.tsx";

type Tree = Outputs["relationships"]["expandRelationship"];

const WORDS: Record<Tree["operation"], string> = {
  union: "any of",
  intersection: "all of",
  exclusion: "the first, without the others",
  leaf: "written down",
};

export function RelationTree({ tool, userId }: { readonly tool: string; readonly userId: string }) {
  const [isOpen, setOpen] = useState(false);
  const tree = useData(
    ["relationships", "tree", tool],
    (signal) =>
      api.relationships.expandRelationship.query(
        { resource: `tool:${tool}`, permission: "execute" },
        { signal },
      ),
    { enabled: isOpen },
  );
  return (
    <Card
      title="Relations behind the permission"
      actions={
        <Button small aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Hide the tree" : "Show the tree"}
        </Button>
      }
    >
      {isOpen ? (
        <Loaded query={tree}>
          {(root) => (
            <ul className="flex flex-col gap-1">
              <Node node={root} userId={userId} />
            </ul>
          )}
        </Loaded>
      ) : (
        <p className="text-muted">
          Who may execute <code>{tool}</code>, and through which relation.
        </p>
      )}
    </Card>
  );
}

function Node({ node, userId }: { readonly node: Tree; readonly userId: string }) {
  const { resource, name, operation, subjects } = node;
  const children = node.children as unknown as readonly Tree[];
  return (
    <li className="min-w-0">
      <p className="flex flex-wrap items-center gap-2">
        <code>
          {resource.type}:{resource.id}#{name}
        </code>
        <span className="text-xs text-muted">{WORDS[operation]}</span>
      </p>
      {subjects.length === 0 && children.length === 0 ? (
        <p className="ml-5 text-muted">nobody</p>
      ) : null}
      {subjects.length > 0 ? (
        <p className="ml-5 flex flex-wrap gap-1">
          {subjects.map((subject) => {
            const isAsked =
              subject.type === "user" && (subject.id === userId || subject.id === "*");
            return (
              <Badge
                key={JSON.stringify(subject)}
                {...(isAsked ? { tone: "ok" as const, sign: "✓" } : {})}
              >
                {subject.type}:{subject.id}
                {subject.relation === undefined ? "" : `#${subject.relation}`}
              </Badge>
            );
          })}
        </p>
      ) : null}
      {children.length > 0 ? (
        <ul className="mt-1 ml-2 flex flex-col gap-1 border-l border-line pl-3">
          {children.map((child, at) => (
            <Node key={at} node={child} userId={userId} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}
