// A model of our own instead of a real one, so that the examples run without a provider and always alike. It speaks
// OpenAI's chat completions and follows a script: one call of a tool per turn, and at the end it says what it was told.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** The calls that the model asks for, one after the other. */
const SCRIPT = [
  { name: "system_echo", arguments: { text: "hello from a framework" } },
  // Refused by the shipped rules for paths.
  { name: "file_read", arguments: { path: "/etc/passwd" } },
];

interface Message {
  readonly role: string;
  readonly content: unknown;
}

export interface Model {
  readonly url: string;
  close(): void;
}

export async function startModel(): Promise<Model> {
  const server = createServer((request, response) => {
    void bodyOf(request).then(({ messages, model }) => {
      const told = messages.filter(({ role }) => role === "tool");
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(completion(model, told)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<{ messages: Message[]; model: string }> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text) as { messages: Message[]; model: string };
}

function completion(model: string, told: readonly Message[]): object {
  const next = SCRIPT[told.length];
  const message = next
    ? {
        content: null,
        tool_calls: [
          {
            id: `call_${told.length}`,
            type: "function",
            function: { name: next.name, arguments: JSON.stringify(next.arguments) },
          },
        ],
      }
    : { content: told.map(({ content }) => textOf(content)).join("\n---\n") };
  return {
    id: `chatcmpl_${told.length}`,
    object: "chat.completion",
    created: 0,
    model,
    choices: [
      {
        index: 0,
        finish_reason: next ? "tool_calls" : "stop",
        message: { role: "assistant", ...message },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

/** Frameworks send what a tool said as a text, or as a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as { text?: string }[]).map(({ text = "" }) => text).join("");
}
