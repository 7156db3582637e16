import { expect, test } from "vitest";
import type { WorkflowStep } from "../../storage/store/store.ts";
import { mermaidOf } from "./mermaid.ts";

const call = (id: string, more: Partial<WorkflowStep> = {}): WorkflowStep =>
  ({ id, tool: "system/echo", input: {}, continueOnError: false, ...more }) as WorkflowStep;

const bare = { id: "x", input: {}, continueOnError: false };

test("steps in order, with a dotted line where a step uses an earlier output", () => {
  const steps = [
    call("end"),
    call("b"),
    call("c", { input: { text: "{{steps.end.output.text}} {{steps.b.output.text}}" } }),
  ];
  expect(mermaidOf(steps)).toBe(`flowchart TD
  s1["end<br/>system/echo"]
  s2["b<br/>system/echo"]
  s3["c<br/>system/echo"]
  s1 --> s2
  s2 --> s3
  s1 -.-> s3
`);
});

test("needs and references as edges; waits and other workflows with shapes of their own", () => {
  const steps: WorkflowStep[] = [
    { ...bare, id: "pause", wait: { kind: "time", seconds: 5 } },
    { ...bare, id: "other", workflow: "Greeting" },
    call("last", { needs: ["pause"], if: "{{steps.other.output.n}} > 1" }),
  ];
  expect(mermaidOf(steps)).toBe(`flowchart TD
  s1{{"pause<br/>wait 5 s"}}
  s2[["other<br/>workflow Greeting"]]
  s3["last<br/>system/echo<br/>if #123;#123;steps.other.output.n#125;#125; #62; 1"]
  s1 --> s3
  s2 -.-> s3
`);
});

test("no text can leave its label", () => {
  const question = 'a"] --> b["c<script>#quot;\n`x`;%%';
  const picture = mermaidOf([
    { ...bare, wait: { kind: "person", question, expiresSeconds: 60 } },
    { ...bare, id: "y", wait: { kind: "time", until: "\u202e{{input.at}}" } },
  ]);
  for (const line of picture.split("\n").slice(1, 3)) {
    const label = /^ {2}s\d\{\{"(.*)"\}\}$/.exec(line)?.[1] ?? "no label";
    expect(
      label.split("<br/>").every((text) => /^(?:[\p{L}\p{N} _./:,=!?-]|#\d+;)+$/u.test(text)),
    ).toBe(true);
  }
});
