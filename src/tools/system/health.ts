import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "system/health",
  description:
    "Say whether this server can do its work: the store, the engines that decide, and the operating mode. " +
    "A part that fails is a result (status degraded or down), not an error. Use verbose to see every part with its time.",
  input: z.strictObject({
    verbose: z.boolean().default(false).describe("Also list the parts that are well."),
  }),
  output: z.strictObject({
    status: z
      .enum(["ok", "degraded", "down"])
      .describe("down: calls are refused; degraded: the mode is not NORMAL."),
    mode: z.string().describe("Operating mode, e.g. NORMAL."),
    checks: z
      .array(
        z.strictObject({
          name: z.string().describe("The part."),
          ok: z.boolean().describe("Whether it answers."),
          ms: z.number().describe("How long it took."),
          reason: z.string().optional().describe("What is wrong, or worth knowing."),
        }),
      )
      .describe("The failing parts; with verbose all."),
  }),
  risk: "safe",
  effects: "essential_health_check",
  needs: ["host"],
  timeoutMs: 5_000,
  aliases: ["infra_health"],
  tags: ["diagnostics"],
  examples: [{}, { verbose: true }],
  async run({ verbose }, { host }) {
    const { ready, mode, checks } = await host.health();
    // A server that answers has read its configuration: one that is not valid does not start.
    const all = [...checks, { name: "configuration", ok: true, ms: 0 }];
    const shown = verbose ? all : all.filter((check) => !check.ok || "reason" in check);
    return { status: statusOf(ready, mode), mode, checks: shown };
  },
});

function statusOf(ready: boolean, mode: string): "ok" | "degraded" | "down" {
  if (!ready) return "down";
  return mode === "NORMAL" ? "ok" : "degraded";
}
