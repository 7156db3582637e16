import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

export default defineTool({
  name: "system/logs",
  description:
    "Read recent log lines of the Ostiary server, or of the system (journald, else /var/log/syslog), filtered by time, " +
    "severity and text. Newest last. Secrets are masked. The server's own log is kept in memory since its start.",
  input: z.strictObject({
    source: z.enum(["ostiary", "system"]).default("ostiary").describe("Whose log."),
    since: z
      .string()
      .min(2)
      .max(40)
      .default("15m")
      .describe("From when: an age such as 30s, 15m, 2h, 1d, or a time in ISO 8601."),
    until: z
      .string()
      .min(2)
      .max(40)
      .optional()
      .describe("Up to when, in the same forms; default: now."),
    level: z.enum(["debug", "info", "warn", "error"]).optional().describe("Least severity."),
    contains: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe("Text that the line must hold, case ignored."),
    limit: z.int().min(1).max(1_000).default(200).describe("At most so many, the newest."),
  }),
  output: z.strictObject({
    entries: z.array(
      z.strictObject({
        time: z.string().describe("ISO 8601."),
        source: z.string(),
        level: z.string(),
        message: z.string(),
      }),
    ),
    truncated: z.boolean().describe("Older lines that fit were left out."),
  }),
  risk: "moderate",
  effects: "read_only",
  idempotent: false,
  needs: ["host", "clock"],
  timeoutMs: 15_000,
  aliases: ["read_system_logs"],
  tags: ["diagnostics"],
  examples: [{}, { since: "2h", level: "warn" }],
  async run({ since, until, ...query }, { host, clock }) {
    const now = clock.now();
    return host.logs({
      source: query.source,
      limit: query.limit,
      since: momentOf("since", since, now),
      until: until === undefined ? now : momentOf("until", until, now),
      ...(query.level === undefined ? {} : { level: query.level }),
      ...(query.contains === undefined ? {} : { contains: query.contains }),
    });
  },
});

function momentOf(field: string, text: string, now: number): number {
  const age = /^(\d{1,6})([smhd])$/.exec(text);
  const at = age ? now - Number(age[1]) * (UNITS[age[2] ?? ""] ?? 0) : Date.parse(text);
  if (!Number.isNaN(at)) return at;
  const message = `${field}: expected an age such as 15m or a time in ISO 8601, got ${JSON.stringify(text)}`;
  throw toolError("invalid_arguments", message, {
    code: "BAD_REQUEST",
    errors: [{ path: `/${field}`, message }],
  });
}
