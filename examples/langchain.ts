// LangChain: its MCP adapters give the tools of Ostiary to an agent.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { startModel } from "./model.ts";
import { apiKey, url } from "./settings.ts";

const model = await startModel();
const ostiary = new MultiServerMCPClient({
  ostiary: {
    transport: "http",
    url: `${url}/mcp`,
    headers: { authorization: `Bearer ${apiKey}` },
  },
});
const agent = createAgent({
  model: new ChatOpenAI({
    model: "scripted",
    apiKey: "none",
    configuration: { baseURL: model.url },
  }),
  tools: await ostiary.getTools(),
});
const { messages } = await agent.invoke({
  messages: [{ role: "user", content: "Say hello, then read /etc/passwd." }],
});
console.log(messages.at(-1)?.text);
await ostiary.close();
model.close();
