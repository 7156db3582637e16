import { answerOutput } from "./shared/request-shapes.ts";
import { bodyRequestInput, sendBody } from "./shared/send-body.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "web/put",
  description:
    "Make an HTTP PUT request: create or replace what lives at the address. Returns status, headers and body. " +
    "A 4xx or 5xx answer is a result with ok:false. The body may have 1 MiB.",
  input: bodyRequestInput,
  output: answerOutput,
  risk: "moderate",
  effects: "network",
  needs: ["fetch", "secrets"],
  touches: [{ argument: "/url", kind: "url" }],
  timeoutMs: 30_000,
  tags: ["web", "http"],
  examples: [{ url: "https://api.example.org/items/7.json", body: { name: "table" } }],
  run: (input, powers, context) => sendBody("PUT", input, powers, context),
});
