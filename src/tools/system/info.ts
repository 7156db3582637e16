import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "system/info",
  description:
    "Say which Ostiary server this is: its version, the platform it runs on, how long it has been up and the mode it is in. " +
    "Host name and user names are not told.",
  input: z.strictObject({}),
  output: z.strictObject({
    name: z.string().describe("Name of the program."),
    version: z.string().describe("Version of the program."),
    node: z.string().describe("Version of Node.js it runs on."),
    platform: z.string().describe("Operating system, e.g. linux."),
    arch: z.string().describe("Processor architecture, e.g. x64."),
    cpus: z.int().describe("Processors the program may use."),
    uptimeSeconds: z.number().describe("Seconds since the program was started."),
    mode: z.string().describe("Operating mode, e.g. NORMAL."),
    timezone: z.string().describe("Time zone of the machine, e.g. Europe/Berlin."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  needs: ["host"],
  timeoutMs: 5_000,
  tags: ["diagnostics"],
  examples: [{}],
  run: (_input, { host }) => host.info(),
});
