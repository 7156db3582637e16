import { z } from "zod";
import { isSecretName, MASK } from "../../util/secrets/mask.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "system/env",
  description:
    "Read environment variables of the server that the administrator lists (by default language, time zone and the like). " +
    "A listed variable that is not set is null; one that is not listed comes back under refused. Secrets are never shown.",
  input: z.strictObject({
    names: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(50)
      .describe("Names of variables, e.g. TZ."),
  }),
  output: z.strictObject({
    values: z
      .record(z.string().max(128), z.string().nullable())
      .meta({ maxProperties: 50 })
      .describe("By name; null: not set."),
    refused: z.array(z.string()).describe("Names that may not be read."),
  }),
  risk: "moderate",
  effects: "read_only",
  needs: ["host"],
  timeoutMs: 5_000,
  tags: ["diagnostics"],
  examples: [{ names: ["TZ", "LANG"] }],
  run({ names }, { host }) {
    const found = host.environment(names);
    const values = Object.entries(found).map(([name, value]) => [
      name,
      value !== null && isSecretName(name) ? MASK : value,
    ]);
    return {
      values: Object.fromEntries(values) as Record<string, string | null>,
      refused: names.filter((name) => !Object.hasOwn(found, name)),
    };
  },
});
