import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "system/process",
  description:
    "Say whether programs run on the server's machine, by name or by process number, with processor time and memory. " +
    "Arguments and environment of processes are never shown. Names that are not running are listed under missing.",
  input: z.strictObject({
    names: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(20)
      .optional()
      .describe("Names of programs, exactly as the system lists them, e.g. postgres."),
    pid: z.int().min(1).max(4_194_304).optional().describe("One process by its number instead."),
  }),
  output: z.strictObject({
    processes: z.array(
      z.strictObject({
        name: z.string().describe("Name of the program."),
        pid: z.int().describe("Number of the process."),
        running: z.boolean().describe("False: it has ended and waits for its parent."),
        cpuPercent: z.number().describe("Of one processor, over its whole life."),
        rss: z.number().describe("Bytes of memory it holds."),
        startedAt: z.string().describe("When it started, ISO 8601."),
      }),
    ),
    missing: z.array(z.string()).describe("What was asked for and does not run."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  needs: ["host"],
  timeoutMs: 10_000,
  aliases: ["check_process_health"],
  tags: ["diagnostics"],
  examples: [{ names: ["node", "postgres"] }, { pid: 1 }],
  async run({ names, pid }, { host }) {
    if ((names === undefined) === (pid === undefined)) {
      throw toolError("invalid_arguments", "expected names or pid, and only one of them", {
        code: "BAD_REQUEST",
        remedy: 'for example {"names": ["node"]}',
      });
    }
    const processes = await host.processes(pid === undefined ? { names: names ?? [] } : { pid });
    const found = new Set(processes.flatMap(({ name, pid: number }) => [name, String(number)]));
    const wanted = names ?? [String(pid)];
    return { processes, missing: wanted.filter((name) => !found.has(name)) };
  },
});
