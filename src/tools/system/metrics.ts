import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

const share = {
  total: z.number().describe("Bytes in all."),
  used: z.number().describe("Bytes in use."),
  percent: z.number().describe("Part in use, in percent."),
};

export default defineTool({
  name: "system/metrics",
  description:
    "Measure how busy the machine is right now: load of the processors, memory, the disk that holds the server's data, " +
    "graphics processors where there are any, and the server process itself. Takes a tenth of a second, " +
    "with NVIDIA's graphics up to three.",
  input: z.strictObject({}),
  output: z.strictObject({
    cpu: z.strictObject({
      loadPercent: z.number().describe("How busy all processors were while measuring."),
      cores: z.int().describe("Processors the server may use."),
    }),
    memory: z.strictObject(share).describe("Of the machine."),
    disk: z.strictObject(share).describe("Of the file system with the server's data."),
    gpu: z
      .array(
        z.strictObject({
          name: z.string().describe("Model."),
          loadPercent: z
            .number()
            .nullable()
            .describe("How busy it is; null: the driver does not tell."),
          memory: z
            .strictObject(share)
            .nullable()
            .describe("Its own; null: the driver does not tell."),
          temperatureC: z
            .number()
            .nullable()
            .describe("Degrees Celsius; null: the driver does not tell."),
        }),
      )
      .nullable()
      .describe("Graphics processors; null: none was found."),
    gpuReason: z.string().optional().describe("Why gpu is null."),
    process: z.strictObject({
      rss: z.number().describe("Bytes of memory the server holds."),
      heap: z.number().describe("Bytes of that in JavaScript objects."),
      eventLoopLagMs: z.number().describe("How late a timer fired while measuring."),
    }),
    at: z.string().describe("When, ISO 8601."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  needs: ["host"],
  timeoutMs: 10_000,
  aliases: ["system_metrics_snapshot", "system/resource", "system_resource"],
  tags: ["diagnostics"],
  examples: [{}],
  run: (_input, { host }) => host.metrics(),
});
