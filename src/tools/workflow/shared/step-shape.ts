// A workflow and its steps as people and agents write them: the same fields in the tool and in a YAML file.
import { z } from "zod";

const MONTH_SECONDS = 2_678_400;

const wait = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("time"),
      seconds: z.int().min(0).max(MONTH_SECONDS).optional().describe("From when the step begins."),
      until: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe("Instead of seconds: an ISO time, or a reference to one."),
    }),
    z.strictObject({
      kind: z.literal("person"),
      question: z.string().min(1).max(2_000).describe("What the owner of the run is asked."),
      options: z.array(z.string().min(1).max(200)).min(1).max(20).optional(),
      expiresSeconds: z.int().min(10).max(MONTH_SECONDS).default(86_400),
    }),
    z.strictObject({
      kind: z.literal("event"),
      name: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/)
        .max(100)
        .describe("POST /api/v1/events/{name} brings it."),
      timeoutSeconds: z.int().min(1).max(MONTH_SECONDS).default(86_400),
    }),
  ])
  .describe("Wait instead of calling a tool: for a time, a person's answer, or an event.");

const stepDraft = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
    .max(64)
    .optional()
    .describe("Name of the step, for references. Default: step1, step2, …"),
  tool: z
    .string()
    .min(3)
    .max(100)
    .optional()
    .describe("The tool to call, e.g. file/read. Give exactly one of tool, workflow and wait."),
  workflow: z.string().min(1).max(255).optional().describe("Name of another workflow to run."),
  wait: wait.optional(),
  input: z
    .record(z.string().max(200), z.unknown())
    .default({})
    .meta({ maxProperties: 100 })
    .describe("Arguments of the tool; texts may hold {{input.x}} and {{steps.<id>.output.path}}."),
  if: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'Run the step only when this holds, e.g. {{steps.a.output.total}} > 0 and {{input.mode}} == "full".',
    ),
  continueOnError: z
    .boolean()
    .default(false)
    .describe("Go on with the next step when this one fails."),
  timeoutSeconds: z.int().min(1).max(300).optional().describe("Shorter time for this step."),
  needs: z
    .array(z.string().min(1).max(64))
    .max(50)
    .optional()
    .describe(
      "Ids of steps that must have ended before. As soon as one step says it, all steps begin as early as their needs and references allow, at the same time.",
    ),
  retry: z
    .strictObject({
      attempts: z.int().min(1).max(10).describe("In all."),
      delaySeconds: z.int().min(0).max(3_600).default(5).describe("Pause in between."),
    })
    .optional()
    .describe("Try the step again when it fails; only where its tool is idempotent."),
  forEach: z
    .strictObject({
      items: z.string().min(5).max(300).describe("One reference to a list, e.g. {{input.files}}."),
      maxItems: z.int().min(1).max(500).default(100).describe("A longer list fails the step."),
      concurrency: z.int().min(1).max(10).default(1).describe("How many at the same time."),
    })
    .optional()
    .describe(
      "Call the tool once for each item: {{item}}, {{item.path}} and {{index}} in its input.",
    ),
});

export const workflowDraft = z.strictObject({
  name: z.string().min(1).max(255).describe("Name of the workflow, unique among yours."),
  description: z.string().max(1_000).default("").describe("What it is for."),
  trigger: z
    .enum(["manual", "scheduled", "webhook", "event"])
    .default("manual")
    .describe(
      "How it is meant to be started; scheduled ones need workflow/schedule, event: POST /api/v1/events/{name of the workflow}, its body is the input. webhook is refused.",
    ),
  steps: z.array(stepDraft).min(1).max(50).describe("What to do, in order."),
  inputSchema: z
    .record(z.string().max(200), z.unknown())
    .optional()
    .meta({ maxProperties: 50 })
    .describe(
      "JSON Schema of the input a run takes; type object, without references and patterns.",
    ),
});
