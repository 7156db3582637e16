import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/connections",
  description:
    "List the databases that can be used: name, kind, whether writing is refused, and which one is meant when a call names none. " +
    "Start here; then database/tables and database/schema show what is inside.",
  input: z.strictObject({}),
  output: z.strictObject({
    connections: z.array(
      z.strictObject({
        name: z.string(),
        kind: z.enum(["postgres", "sqlite"]),
        readOnly: z.boolean(),
        default: z.boolean(),
      }),
    ),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["database"],
  timeoutMs: 5_000,
  tags: ["sql"],
  examples: [{}],
  async run(_input, { database }) {
    return { connections: [...(await database.connections())] };
  },
});
