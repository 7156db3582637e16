// The relationships that fit the filters, as a picture and as a list of sentences.
import "@xyflow/react/dist/style.css";
import {
  Background,
  Controls,
  Handle,
  MarkerType,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import { type CSSProperties, useMemo } from "react";
import { Empty, Failed, Skeleton } from "../../../ui/states.tsx";
import { RelationshipFilters } from "../filters.tsx";
import {
  filtersOf,
  type Relationship,
  textOfReference,
  useRelationships,
} from "../relationships.ts";
import { relationshipsRoute } from "../routes.ts";
import { layOut, type ObjectNode } from "./layout.ts";

/** More lines than this nobody can follow. */
const MOST = 100;
/** A larger graph is moved about rather than shown too small to read. */
const READABLE_ZOOM = 0.55;

export function GraphTab() {
  const filters = filtersOf(relationshipsRoute.useSearch());
  const query = useRelationships(filters, MOST);
  return (
    <div className="flex flex-col gap-3">
      <RelationshipFilters failure={query.error} />
      {query.isError ? (
        <Failed cause={query.error} retry={() => void query.refetch()} />
      ) : query.data === undefined ? (
        <Skeleton className="h-[60vh] w-full" />
      ) : query.data.length === 0 ? (
        <Empty title="There is nothing to draw" text="No relationship fits these filters." />
      ) : (
        <Drawn relationships={query.data} isCut={query.hasNextPage} />
      )}
    </div>
  );
}

/** The parts of the library that our classes do not reach. */
const COLOURS = {
  "--xy-background-color": "var(--surface)",
  "--xy-edge-stroke": "var(--strong-line)",
  "--xy-edge-label-background-color": "var(--surface)",
  "--xy-edge-label-color": "var(--text)",
  "--xy-handle-background-color": "var(--strong-line)",
  "--xy-controls-button-background-color": "var(--surface)",
  "--xy-controls-button-background-color-hover": "var(--raised)",
  "--xy-controls-button-color": "var(--text)",
  "--xy-controls-button-border-color": "var(--line)",
} as CSSProperties;
const EDGES = {
  markerEnd: { type: MarkerType.ArrowClosed },
  focusable: false,
  selectable: false,
};
const nodeTypes = { object: ObjectBox };

function Drawn({
  relationships,
  isCut,
}: {
  readonly relationships: readonly Relationship[];
  readonly isCut: boolean;
}) {
  const navigate = relationshipsRoute.useNavigate();
  const { nodes, edges } = useMemo(() => layOut(relationships), [relationships]);
  const narrow = (id: string): void =>
    void navigate({
      search: ({ resource: _, relation: __, subject: ___, ...old }) => ({ ...old, resource: id }),
    });
  return (
    <>
      {isCut ? (
        <p role="status" className="text-hold">
          Only the first {MOST} relationships are drawn. Narrow them by resource, relation or
          subject.
        </p>
      ) : null}
      <div
        role="group"
        aria-label="Graph of the relationships; the same as sentences below"
        className="h-[58vh] rounded-lg border border-line bg-surface"
      >
        <ReactFlow
          key={relationships.map(({ text }) => text).join()}
          nodes={nodes}
          edges={edges}
          nodeTypes={nodeTypes}
          defaultEdgeOptions={EDGES}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          fitView
          fitViewOptions={{ maxZoom: 1.1, minZoom: READABLE_ZOOM }}
          minZoom={0.2}
          style={COLOURS}
          onNodeClick={(_event, { id }) => narrow(id)}
          proOptions={{ hideAttribution: true }}
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      <details>
        <summary className="min-h-6 font-medium">The same as sentences</summary>
        <ul aria-label="Relationships as sentences" className="list-disc pt-2 pl-5">
          {relationships.map(({ text, resource, relation, subject }) => (
            <li key={text}>
              <code>{textOfReference(subject)}</code> is {relation} of{" "}
              <code>{textOfReference(resource)}</code>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

function ObjectBox({ data }: NodeProps<ObjectNode>) {
  // What it does on a click, the graph does: a key press on a button is one.
  return (
    <button
      type="button"
      title={`Only ${data.label}`}
      className="flex h-[38px] w-[190px] items-center justify-center truncate rounded-md border border-strong-line bg-raised px-2 font-mono text-xs text-text"
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <span className="truncate">{data.label}</span>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </button>
  );
}
