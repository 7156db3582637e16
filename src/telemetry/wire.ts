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
export const readLine = (text: string): Line => JSON.parse(text) as Line;

/**
 * The stages in order: `registry allow 3,capsule ~ 512,input deny 90 BAD_REQUEST`, the time in µs. They follow each other
 * without a gap; one with `~` had to wait and has a span of its own.
 */
export function writeVerdict({ stage, verdict, code, ms }: Verdict, waited: boolean): string {
  const text = `${stage} ${waited ? "~" : verdict} ${Math.round(ms * 1000)}`;
  return code === undefined ? text : `${text} ${code}`;
}

export function readVerdicts(text: string, began: number): SpanEvent[] {
  const events: SpanEvent[] = [];
  let at = began;
  for (const one of text.split(",")) {
    const [stage = "", verdict = "", us = "0", code] = one.split(" ");
    at += Number(us) / 1000;
    if (verdict === "~") continue;
    const attributes = { [ATTR.stage]: stage, [ATTR.verdict]: verdict };
    events.push({ name: SPAN.gate(stage), at, attributes: code === undefined ? attributes : { ...attributes, [ATTR.stageCode]: code } }); // prettier-ignore
  }
  return events;
}
