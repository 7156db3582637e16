import "@xyflow/react/dist/base.css";
import { Background, Controls, Handle, Position, ReactFlow, type Node } from "@xyflow/react";
import { useMemo } from "react";
import { cx } from "../../../ui/class-names.ts";
import { visibleText } from "../../../ui/code.tsx";
import type { RunStep, Workflow } from "../data.ts";
import { statusLook } from "../status.tsx";
import { Sign, toneText } from "../../../ui/verdict.tsx";
import { actionOf, edgesOf, layoutOf, NODE } from "./layout.ts";
import { progressOf } from "./progress.ts";

export interface GraphProps {
  readonly steps: Workflow["steps"];
  /** Of a run. */
  readonly states?: readonly RunStep[];
}

type StepNode = Node<
  {
    id: string;
    tool: string;
    status: RunStep["status"] | null;
    progress: readonly string[];
    isSideways: boolean;
  },
  "step"
>;

function StepBox({
  data: { id, tool, status, progress, isSideways },
}: {
  readonly data: StepNode["data"];
}) {
  return (
    <div className="flex h-14 w-56 flex-col justify-center rounded-md border border-strong-line/60 bg-surface px-3">
      <Handle
        type="target"
        position={isSideways ? Position.Left : Position.Top}
        className="opacity-0"
      />
      <span className="flex items-center justify-between gap-2">
        <strong className="truncate">{visibleText(id)}</strong>
        {status === null ? null : <NodeStatus status={status} />}
      </span>
      <span className="flex items-center justify-between gap-2 text-muted">
        <code className="truncate">{visibleText(tool)}</code>
        {progress.length === 0 ? null : (
          <span className="shrink-0 text-xs">{progress.join(", ")}</span>
        )}
      </span>
      <Handle
        type="source"
        position={isSideways ? Position.Right : Position.Bottom}
        className="opacity-0"
      />
    </div>
  );
}

function NodeStatus({ status }: { readonly status: RunStep["status"] }) {
  const [tone, sign, word] = statusLook(status);
  return (
    <span className={cx("flex items-center gap-1 text-xs whitespace-nowrap", toneText[tone])}>
      <Sign sign={sign} /> {word}
    </span>
  );
}

const NODE_TYPES = { step: StepBox };

/** The list of steps beside it says the same as text. */
export function Flow({ steps, states = [] }: GraphProps) {
  const { nodes, edges } = useMemo(() => {
    const joins = edgesOf(steps);
    const { places, isSideways } = layoutOf(steps, joins);
    return {
      nodes: steps.map((step): StepNode => {
        const state = states.find(({ id }) => id === step.id);
        return {
          id: step.id,
          type: "step",
          position: places.get(step.id) ?? { x: 0, y: 0 },
          data: {
            id: step.id,
            tool: actionOf(step),
            status: state?.status ?? null,
            isSideways,
            progress: state ? progressOf(step, state) : [],
          },
          width: NODE.width,
          height: NODE.height,
          focusable: false,
        };
      }),
      edges: joins.map(({ from, to, kind }) => ({
        id: `${from} ${to}`,
        source: from,
        target: to,
        focusable: false,
        ariaLabel: kind === "data" ? `${to} uses what ${from} answered` : `${to} after ${from}`,
        style: {
          stroke: "var(--strong-line)",
          ...(kind === "order" ? { strokeDasharray: "4 4" } : {}),
        },
      })),
    };
  }, [steps, states]);
  return (
    <figure aria-label="Graph of the steps" className="h-96 w-full">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        fitView
        fitViewOptions={{ maxZoom: 1 }}
        minZoom={0.2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background color="var(--line)" />
        <Controls showInteractive={false} />
      </ReactFlow>
    </figure>
  );
}
