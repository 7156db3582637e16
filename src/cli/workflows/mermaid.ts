// A workflow as a Mermaid flowchart: what begins when, by order, needs and references.
import { isGraph, needsOf, referencesOfStep } from "../../agents/workflows/run/graph.ts";
import type { WorkflowStep } from "../../storage/store/store.ts";
import { short } from "../output/render.ts";

const MAX_LABEL = 80;

/**
 * Boxes are calls, double boxes other workflows, hexagons waits; dotted lines say that a step uses the output of one
 * that need not have come right before it.
 */
export function mermaidOf(steps: readonly WorkflowStep[]): string {
  // Never the ids themselves: `end` is a word of the language.
  const nodes = new Map(steps.map(({ id }, at) => [id, `s${at + 1}`]));
  const needs = needsOf(steps);
  const lines = ["flowchart TD"];
  for (const step of steps) lines.push(`  ${nodes.get(step.id) ?? ""}${shapeOf(step)}`);
  for (const step of steps) {
    const to = nodes.get(step.id) ?? "";
    const used = new Set(
      referencesOfStep(step).flatMap((one) => (one.from === "step" ? [one.step] : [])),
    );
    const before = isGraph(steps) ? (step.needs ?? []) : (needs.get(step.id) ?? []);
    for (const id of before) lines.push(`  ${nodes.get(id) ?? ""} --> ${to}`);
    for (const id of used)
      if (!before.includes(id)) lines.push(`  ${nodes.get(id) ?? ""} -.-> ${to}`);
  }
  return `${lines.join("\n")}\n`;
}

function shapeOf(step: WorkflowStep): string {
  const { id, tool, workflow, wait, forEach } = step;
  const more = [
    ...(forEach ? [`for each ${forEach.items}`] : []),
    ...(step.if === undefined ? [] : [`if ${step.if}`]),
  ];
  const label = (what: string): string => [id, what, ...more].map(escaped).join("<br/>");
  if (wait) return `{{"${label(waitsFor(wait))}"}}`;
  if (workflow !== undefined) return `[["${label(`workflow ${workflow}`)}"]]`;
  return `["${label(tool ?? "")}"]`;
}

function waitsFor(wait: NonNullable<WorkflowStep["wait"]>): string {
  switch (wait.kind) {
    case "time":
      return wait.seconds === undefined
        ? `wait until ${wait.until ?? ""}`
        : `wait ${wait.seconds} s`;
    case "person":
      return `ask: ${wait.question}`;
    case "event":
      return `wait for event ${wait.name}`;
  }
}

/** Only letters, digits and plain marks stay; everything else is a number that stands for its character. */
const escaped = (text: string): string =>
  short(text, MAX_LABEL).replace(
    /[^\p{L}\p{N} _./:,=!?-]/gu,
    (char) => `#${char.codePointAt(0) ?? 0};`,
  );
