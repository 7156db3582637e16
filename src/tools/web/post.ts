import { answerOutput } from "./shared/request-shapes.ts";
import { bodyRequestInput, sendBody } from "./shared/send-body.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "web/post",
  description:
    "Make an HTTP POST request: create something or call an API. Returns status, headers and body. " +
    "Repeat it only with an idempotencyKey. " +
    "A 4xx or 5xx answer is a result with ok:false. The body may have 1 MiB.",
  input: bodyRequestInput,
  output: answerOutput,
  risk: "moderate",
  effects: "network",
  needs: ["fetch", "secrets"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  tags: ["web", "http"],
  examples: [{ url: "https://api.example.org/items.json", body: { name: "chair" } }],
  run: (input, powers, context) => sendBody("POST", input, powers, context),
});
