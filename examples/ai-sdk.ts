// The AI SDK: its MCP client gives the tools of Ostiary to generateText.
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";
import { startModel } from "./model.ts";
import { apiKey, url } from "./settings.ts";

const model = await startModel();
const ostiary = await createMCPClient({
  transport: {
    type: "http",
    url: `${url}/mcp`,
    headers: { authorization: `Bearer ${apiKey}` },
  },
});
const { text } = await generateText({
  model: createOpenAICompatible({ name: "scripted", baseURL: model.url }).chatModel("scripted"),
  tools: await ostiary.tools(),
  stopWhen: stepCountIs(5),
  prompt: "Say hello, then read /etc/passwd.",
});
console.log(text);
await ostiary.close();
model.close();
