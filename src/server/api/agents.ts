// What agents are, as one YAML file: taken out, and brought in after all of it was checked. Administrators only.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { chosenId } from "./shapes.ts";

export const exportAgents = endpoint({
  name: "agents.exportAgents",
  method: "GET",
  path: "/agents/export",
  access: "admin",
  summary: "Capsules, personas and models of the tenant as YAML; keys are left out",
  input: z.strictObject({
    capsules: z
      .array(chosenId)
      .min(1)
      .max(100)
      .optional()
      .describe("Only these, and the models they name"),
  }),
  output: z.object({ text: z.string() }),
  run: async ({ capsules }, { caller, doors }) => ({
    text: await doors.agentRecords.export(caller, capsules),
  }),
});

const change = z.object({
  kind: z.enum(["server", "model", "capsule", "persona"]),
  id: z.string(),
  change: z.enum(["created", "changed", "unchanged"]),
  fields: z
    .array(z.object({ path: z.string(), from: z.json(), to: z.json() }))
    .describe("What differs, by JSON pointer"),
});

export const importAgents = endpoint({
  name: "agents.importAgents",
  method: "POST",
  path: "/agents/import",
  access: "admin",
  summary:
    "Create and change capsules, personas and models as a YAML file says; nothing is written unless all of it is valid",
  input: z.strictObject({
    text: z.string().min(1).max(1_048_576),
    file: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .default("agents.yaml")
      .describe("What faults call it: agents.yaml:12:5"),
    dryRun: z.boolean().default(false).describe("Checks and compares, and writes nothing"),
  }),
  output: z.object({ dryRun: z.boolean(), changes: z.array(change) }),
  async run(input, { caller, doors, signal }) {
    const changes = await doors.agentRecords.import(caller, input, signal);
    return { dryRun: input.dryRun, changes: changes as z.input<typeof change>[] };
  },
});
