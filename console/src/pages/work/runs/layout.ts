// Where steps stand in the graph, and what leads from one to the next.
import { graphlib, layout } from "@dagrejs/dagre";
import type { Workflow } from "../data.ts";

type Step = Workflow["steps"][number];

export const NODE = { width: 200, height: 56 };

export interface StepEdge {
  readonly from: string;
  readonly to: string;
  /** order: it comes next; data: it uses what the other answered. */
  readonly kind: "order" | "data";
}

const REFERENCE = /\bsteps\.([A-Za-z][A-Za-z0-9_-]*)/g;

/** Steps run in order; those that use an answer of an earlier step are joined to it as well. */
export function edgesOf(steps: readonly Step[]): readonly StepEdge[] {
  const known = new Set(steps.map(({ id }) => id));
  return steps.flatMap((step, at): StepEdge[] => {
    const before = steps[at - 1]?.id;
    const text = `${step.if ?? ""} ${JSON.stringify(step.input)}`;
    const used = new Set([...text.matchAll(REFERENCE)].map(([, id = ""]) => id));
    const data = [...used]
      .filter((id) => known.has(id) && id !== before)
      .map((from): StepEdge => ({ from, to: step.id, kind: "data" }));
    return before === undefined
      ? data
      : [{ from: before, to: step.id, kind: used.has(before) ? "data" : "order" }, ...data];
  });
}

/** The upper left corner of each step. */
export function placesOf(
  steps: readonly Step[],
  edges: readonly StepEdge[],
): ReadonlyMap<string, { x: number; y: number }> {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 40, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of steps) graph.setNode(id, { ...NODE });
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    steps.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE.width / 2, y: y - NODE.height / 2 }];
    }),
  );
}
