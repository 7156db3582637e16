// OpenAI's Agents SDK: Ostiary is one of the agent's MCP servers.
import {
  Agent,
  MCPServerStreamableHttp,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
} from "@openai/agents";
import { startModel } from "./model.ts";
import { apiKey, url } from "./settings.ts";

setTracingDisabled(true); // else it sends traces to OpenAI
const model = await startModel();
const ostiary = new MCPServerStreamableHttp({
  name: "ostiary",
  url: `${url}/mcp`,
  requestInit: { headers: { authorization: `Bearer ${apiKey}` } },
});
await ostiary.connect();
const agent = new Agent({ name: "example", model: "scripted", mcpServers: [ostiary] });
const runner = new Runner({
  modelProvider: new OpenAIProvider({ baseURL: model.url, apiKey: "none", useResponses: false }),
});
const { finalOutput } = await runner.run(agent, "Say hello, then read /etc/passwd.");
console.log(finalOutput);
await ostiary.close();
model.close();
