// A model provider that costs next to nothing: the OpenAI wire format, streamed, the first word at once.
// GET /last answers the body of the newest request, so that the same can be asked without us.
import { createServer } from "node:http";
import { announce } from "./line.ts";

const WORDS = ["Hello", ", ", "how ", "can ", "I ", "help ", "you", "?"];
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const piece = (delta: object, finish: string | null): string =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "bench",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
const ANSWER = [
  ...WORDS.map((content) => piece({ role: "assistant", content }, null)),
  piece({}, "stop"),
  event({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 8 } }),
  "data: [DONE]\n\n",
];

let last = "{}";
announce(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      if (req.method === "GET") return void res.end(last);
      last = Buffer.concat(chunks).toString();
      // As a provider does: nothing is answered before the request is understood.
      JSON.parse(last);
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const part of ANSWER) res.write(part);
      res.end();
    });
  }),
);
