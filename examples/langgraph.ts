// LangGraph: a pipeline of seven steps whose fourth, the tools of the plan, runs in Ostiary.
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { createPlanStep, type PlanState, type ToolResult } from "ostiary/plan";
import { apiKey, url } from "./settings.ts";

const State = Annotation.Root({
  question: Annotation<string>,
  intent: Annotation<string>,
  documents: Annotation<string[]>,
  plan: Annotation<NonNullable<PlanState["plan"]>>,
  // Without a reducer: the step gives back the whole list, with the new results at its end.
  tool_results: Annotation<ToolResult[]>,
  answer: Annotation<string>,
  sources: Annotation<string[]>,
  response: Annotation<string>,
});

const graph = new StateGraph(State)
  .addNode("1_intent", () => ({ intent: "explain" }))
  .addNode("2_retrieve", () => ({ documents: ["doorkeepers.md"] }))
  .addNode("3_plan", ({ question }) => ({
    plan: {
      tools: [
        { name: "system/echo", input: { text: question } },
        { name: "file/read", input: { path: "/etc/passwd" } },
      ],
    },
  }))
  .addNode("4_tools", createPlanStep({ url, apiKey }))
  .addNode("5_compose", ({ tool_results }) => ({
    answer: tool_results
      .map(
        ({ tool, success, result, error }) =>
          `${tool}: ${success ? JSON.stringify(result) : error}`,
      )
      .join("\n---\n"),
  }))
  .addNode("6_cite", ({ documents }) => ({ sources: documents }))
  .addNode("7_respond", ({ answer, sources }) => ({
    response: `${answer}\n(${sources.join(", ")})`,
  }))
  .addEdge(START, "1_intent")
  .addEdge("1_intent", "2_retrieve")
  .addEdge("2_retrieve", "3_plan")
  .addEdge("3_plan", "4_tools")
  .addEdge("4_tools", "5_compose")
  .addEdge("5_compose", "6_cite")
  .addEdge("6_cite", "7_respond")
  .addEdge("7_respond", END)
  .compile();

const { response } = await graph.invoke({ question: "hello from a framework" });
console.log(response);
