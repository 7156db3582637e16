// The server of the secrets corpus, in a process of its own so that all it logs can be read. Its tools hand on what
// they get by every way there is: a result, an error, progress, and an exception nobody foresaw, which is logged.
import { once } from "node:events";
import { z } from "zod";
import { defineTool, toolError, type Tool } from "../../src/contract/tool.ts";
import { openCorpusApp } from "./open-app.ts";

const common = {
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 30_000,
  examples: [{ text: "hello" }],
} as const;
const input = z.strictObject({ text: z.string().describe("What is handed on.") });
const output = z.strictObject({ text: z.string().describe("What was given.") });

const tools: readonly Tool[] = [
  defineTool({
    ...common,
    name: "system/mirror",
    description: "Give back what was given. For tests only.",
    input,
    output,
    run: ({ text }) => ({ text }),
  }),
  defineTool({
    ...common,
    name: "system/complain",
    description: "Fail with what was given. For tests only.",
    input,
    output,
    run({ text }) {
      throw toolError("unexpected", `cannot work with ${text}`, { remedy: `do not send ${text}` });
    },
  }),
  defineTool({
    ...common,
    name: "system/stumble",
    description: "Break with what was given. For tests only.",
    input,
    output,
    run({ text }) {
      throw new Error(`stumbled over ${text}`);
    },
  }),
  defineTool({
    ...common,
    name: "system/progress",
    description: "Report what was given. For tests only.",
    input,
    output,
    run({ text }, _powers, { progress }) {
      progress({ progress: 1, total: 1, message: `working on ${text}` });
      return { text: "done" };
    },
  }),
];

const [collector = ""] = process.argv.slice(2);
const opened = await openCorpusApp({
  nativeTools: tools,
  listen: true,
  flags: {
    "log.level": "debug",
    "telemetry.otlp.endpoint": collector,
    "telemetry.otlp.delayMs": "10",
    "telemetry.content": "true",
  },
});
const ended = once(process.stdin, "end");
const { url, adminKey, dataDir } = opened.app;
process.stdout.write(`${JSON.stringify({ url, adminKey, dataDir })}\n`);
// Stopped first, so that what it leaves can be read; removed when nobody needs it any more.
await Promise.race([once(process.stdin, "data"), ended]);
await opened.app.stop();
process.stdout.write("stopped\n");
await ended;
await opened.close();
