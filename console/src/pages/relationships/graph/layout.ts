// Things and subjects as nodes, relationships as edges, laid out from subjects to things.
import dagre from "@dagrejs/dagre";
import type { Edge, Node } from "@xyflow/react";
import { type Relationship, textOfReference } from "../relationships.ts";

const NODE = { width: 190, height: 38 };

export interface ObjectNode extends Node<{ readonly label: string }> {
  readonly type: "object";
}

/** A set such as group:eng#member belongs to its group, so that chains of groups show. */
const nodeOf = (text: string): string => text.split("#", 1)[0] ?? text;

export function layOut(relationships: readonly Relationship[]): {
  nodes: ObjectNode[];
  edges: Edge[];
} {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 170 });
  graph.setDefaultEdgeLabel(() => ({}));
  const labels = new Map<string, { source: string; target: string; names: string[] }>();
  for (const { resource, relation, subject } of relationships) {
    const from = nodeOf(textOfReference(subject));
    const to = textOfReference(resource);
    for (const name of [from, to]) graph.setNode(name, { ...NODE });
    graph.setEdge(from, to);
    // One line between two things, whatever they are to each other: several would cover their names.
    const edge = labels.get(`${from} ${to}`) ?? { source: from, target: to, names: [] };
    edge.names.push(
      subject.relation === undefined ? relation : `${relation} (${subject.relation})`,
    );
    labels.set(`${from} ${to}`, edge);
  }
  dagre.layout(graph);
  const nodes = graph.nodes().map((name): ObjectNode => {
    const { x, y } = graph.node(name) as { x: number; y: number };
    return {
      id: name,
      type: "object",
      position: { x: x - NODE.width / 2, y: y - NODE.height / 2 },
      data: { label: name },
      ariaLabel: name,
    };
  });
  const edges = [...labels].map(([id, { names, ...ends }]): Edge => {
    return { id, ...ends, label: [...new Set(names)].join(", ") };
  });
  return { nodes, edges };
}
