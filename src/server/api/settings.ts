// The settings of the server, for its administrators: what is in effect, and where each value came from.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";

const setting = z.object({
  key: z.string().describe("server.port"),
  value: z
    .unknown()
    .describe("In effect; null: not set. Secrets are masked, references shown as written"),
  source: z.enum(["default", "file", "environment", "flag"]),
  where: z.string().describe("File with line and column, variable or flag"),
  default: z.unknown().describe("null: it has none"),
  secret: z.boolean(),
  description: z.string(),
  expected: z.string(),
  env: z.string().describe("The variable that sets it"),
  flag: z.string().nullable().describe("The flag of `ostiary serve` that sets it"),
});

export const getSettings = endpoint({
  name: "settings.getSettings",
  method: "GET",
  path: "/settings",
  access: "admin",
  summary: "Every setting as it is in effect on this server, with where it came from; no secrets",
  input: z.strictObject({}),
  output: z.object({ items: z.array(setting).describe("In the order of the documentation") }),
  run: (_input, { doors }) => ({
    items: doors.shownSettings().map(({ fallback, ...shown }) => ({ ...shown, default: fallback })),
  }),
});
