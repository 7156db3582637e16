// Where steps stand in the graph, and what leads from one to the next.
import { graphlib, layout } from "@dagrejs/dagre";
import type { Workflow } from "../data.ts";

type Step = Workflow["steps"][number];

export const NODE = { width: 224, height: 56 };

export interface StepEdge {
  readonly from: string;
  readonly to: string;
  /** order: it comes next; data: it uses what the other answered. */
  readonly kind: "order" | "data";
}

const REFERENCE = /\bsteps\.([A-Za-z][A-Za-z0-9_-]*)/g;

/** A list runs in order. Once one step names its `needs`, only those and the answers it uses join a step to others. */
export function edgesOf(steps: readonly Step[]): readonly StepEdge[] {
  const known = new Set(steps.map(({ id }) => id));
  const isGraph = steps.some(({ needs }) => needs !== undefined);
  return steps.flatMap((step, at): StepEdge[] => {
    const text = JSON.stringify([step.if, step.input, step.forEach, step.wait]);
    const used = new Set([...text.matchAll(REFERENCE)].map(([, id = ""]) => id));
    const previous = isGraph ? [] : steps.slice(Math.max(0, at - 1), at).map(({ id }) => id);
    const before = new Set([...(step.needs ?? []), ...previous, ...used]);
    return [...before]
      .filter((id) => known.has(id))
      .map((from) => ({ from, to: step.id, kind: used.has(from) ? "data" : "order" }));
  });
}

/** What a step does: its tool, its workflow, or what it waits for. */
export function actionOf({ tool, workflow, wait }: Step): string {
  if (tool !== undefined) return tool;
  return workflow === undefined ? `wait for ${String(wait?.["kind"])}` : `workflow ${workflow}`;
}

export interface Layout {
  /** The upper left corner of each step. */
  readonly places: ReadonlyMap<string, { x: number; y: number }>;
  /** From left to right instead of downwards. */
  readonly isSideways: boolean;
}

/** About the shape in which a graph is shown. */
const FRAME = { width: 480, height: 384 };

/** Downwards or sideways, whichever shows the steps larger: many branches stand better below one another. */
export function layoutOf(steps: readonly Step[], edges: readonly StepEdge[]): Layout {
  const down = placed(steps, edges, "TB");
  const sideways = placed(steps, edges, "LR");
  const isSideways = sideways.scale > down.scale;
  return { places: (isSideways ? sideways : down).places, isSideways };
}

function placed(steps: readonly Step[], edges: readonly StepEdge[], rankdir: "TB" | "LR") {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir, nodesep: rankdir === "TB" ? 40 : 20, ranksep: 36 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of steps) graph.setNode(id, { ...NODE });
  for (const { from, to } of edges) graph.setEdge(from, to);
  layout(graph);
  const places = new Map(
    steps.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE.width / 2, y: y - NODE.height / 2 }] as const;
    }),
  );
  const all = [...places.values()];
  const width = Math.max(...all.map(({ x }) => x), 0) + NODE.width;
  const height = Math.max(...all.map(({ y }) => y), 0) + NODE.height;
  return { places, scale: Math.min(FRAME.width / width, FRAME.height / height, 1) };
}
