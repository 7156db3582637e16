import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/schedule",
  description:
    "Run a workflow by the clock, as you and with the rights of the key this call was made with: five cron fields (minute hour day month weekday), at most once a minute. " +
    "The same workflow, cron and timezone again changes the schedule; enabled:false switches it off. Answers the next three times.",
  input: z.strictObject({
    workflowId: z
      .string()
      .min(1)
      .max(255)
      .describe(
        "Id or name of the workflow; its newest version is scheduled, and when there is a newer one the schedule stops.",
      ),
    cron: z.string().min(9).max(200).describe("Five fields, e.g. 0 9 * * 1-5."),
    timezone: z
      .string()
      .min(1)
      .max(64)
      .default("UTC")
      .describe("Name of a timezone, e.g. Europe/Berlin."),
    enabled: z.boolean().default(true).describe("False: keep the schedule, but do not run it."),
    input: z
      .record(z.string().max(200), z.unknown())
      .default({})
      .meta({ maxProperties: 100 })
      .describe("Input of each run."),
    catchUp: z
      .enum(["skip", "once", "all"])
      .default("once")
      .describe("What becomes of times that were missed while nothing ran."),
    overlap: z
      .enum(["skip", "queue", "allow"])
      .default("skip")
      .describe("What becomes of a time at which an earlier run is still under way."),
  }),
  output: z.strictObject({
    scheduleId: z.string(),
    next: z.array(z.string()).describe("The next times, ISO 8601."),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["workflows"],
  timeoutMs: 10_000,
  tags: ["workflow"],
  examples: [
    {
      workflowId: "Greeting",
      cron: "0 9 * * 1-5",
      timezone: "Europe/Berlin",
      input: { name: "Ada" },
    },
  ],
  async run({ input, ...request }, { workflows }) {
    const { scheduleId, next } = await workflows.schedule({
      ...request,
      input: input as JsonObject,
    });
    return { scheduleId, next: next.map((at) => new Date(at).toISOString()) };
  },
});
