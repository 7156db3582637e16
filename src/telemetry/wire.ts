// What goes to the thread: lines of JSON, as few objects in them as will do. One is made for every span of every call.
import type { Verdict } from "../call.ts";
import { ATTR, SPAN } from "./names.ts";
import type { SpanEvent, SpanFacts } from "./kinds.ts";
import type { Attributes } from "./tracing.ts";

export interface Duration {
  readonly side: "server" | "client";
  readonly seconds: number;
  readonly labels: Attributes;
}

export type Line = SpanFacts | Duration;

export const writeLine = (line: Line): string => JSON.stringify(line);
export const joinLines = (lines: readonly string[]): string => `[${lines.join(",")}]`;
export const readLines = (text: string): readonly Line[] => JSON.parse(text) as readonly Line[];

/** Verdicts of stages that did not wait: `registry allow 0.003`, `input deny 0.1 BAD_REQUEST`, with commas between them. */
export function writeVerdict({ stage, verdict, code }: Verdict, ended: number): string {
  const text = `${stage} ${verdict} ${ended}`;
  return code === undefined ? text : `${text} ${code}`;
}

export function readVerdicts(text: string): SpanEvent[] {
  return text.split(",").map((one) => {
    const [stage = "", verdict = "", at = "0", code] = one.split(" ");
    const attributes = { [ATTR.stage]: stage, [ATTR.verdict]: verdict };
    return { name: SPAN.gate(stage), at: Number(at), attributes: code === undefined ? attributes : { ...attributes, [ATTR.stageCode]: code } }; // prettier-ignore
  });
}
