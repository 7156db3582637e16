import { z } from "zod";
import type { Json, JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "browser/extract",
  description:
    "Read the page in the active tab, whole or the elements a selector matches: as text, markdown or html, or as attributes, " +
    "links, images or tables. With a schema the answer is data in that shape, found by the names of its fields (labels, table " +
    "headers, linked data, meta). Long results come in parts: when truncated is true, call again with offset = nextOffset.",
  input: z.strictObject({
    sessionId: z.string().min(1).max(100).describe("From browser/open."),
    type: z
      .enum(["text", "markdown", "html", "attributes", "links", "images", "table"])
      .default("text")
      .describe("What to read; without meaning when a schema is given."),
    selector: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe("Only these elements; all that match."),
    schema: z
      .record(z.string().max(200), z.unknown())
      .refine((value) => Object.keys(value).length <= 50)
      .meta({ maxProperties: 50 })
      .optional()
      .describe(
        "JSON Schema of the data wanted: type, properties, required, items and enum. Name fields as the page does.",
      ),
    instruction: z
      .string()
      .min(1)
      .max(4_000)
      .optional()
      .describe("What to look for, in words. Needs a configured model."),
    offset: z
      .int()
      .min(0)
      .default(0)
      .describe("Where to go on: a character of text, an entry of a list."),
    maxChars: z.int().min(1).max(200_000).default(20_000).describe("Most characters to return."),
  }),
  output: z.strictObject({
    url: z.string(),
    type: z.enum(["text", "markdown", "html", "attributes", "links", "images", "table"]),
    data: z.unknown().describe("A text, a list of entries, or what the schema describes."),
    truncated: z.boolean(),
    nextOffset: z.int().optional().describe("The offset to continue with."),
  }),
  risk: "safe",
  effects: "read_only",
  sandbox: "net",
  needs: ["browser"],
  openWorld: true,
  timeoutMs: 30_000,
  tags: ["browser"],
  examples: [
    { sessionId: "browser_example" },
    { sessionId: "browser_example", type: "links" },
    {
      sessionId: "browser_example",
      schema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    },
  ],
  async run(
    { sessionId, type, selector, schema, instruction, offset, maxChars },
    { browser },
    context,
  ) {
    const session = await browser.session(sessionId);
    const { url, data } = await session.extract({
      type,
      ...(selector !== undefined && { selector }),
      ...(schema !== undefined && { schema: schema as JsonObject }),
      ...(instruction !== undefined && { instruction }),
    });
    context.note({ untrusted: true, hosts: session.takeHosts() });
    // Data in a caller's own shape stays whole: a part of it would not fit the schema.
    if (schema !== undefined) return { url, type, data, truncated: false };
    return { url, type, ...part(data, offset, maxChars) };
  },
});

function part(
  data: Json,
  offset: number,
  maxChars: number,
): { data: Json; truncated: boolean; nextOffset?: number } {
  if (typeof data === "string") {
    const start = isSecondHalf(data, offset) ? offset - 1 : offset;
    let end = Math.min(data.length, start + maxChars);
    if (isSecondHalf(data, end) && end - 1 > start) end -= 1;
    return {
      data: data.slice(start, end),
      truncated: end < data.length,
      ...(end < data.length && { nextOffset: end }),
    };
  }
  const entries = data as readonly Json[];
  const kept: Json[] = [];
  let room = maxChars;
  for (const entry of entries.slice(offset)) {
    room -= JSON.stringify(entry).length + 1;
    if (room < 0 && kept.length > 0) break;
    kept.push(entry);
  }
  const next = offset + kept.length;
  return {
    data: kept,
    truncated: next < entries.length,
    ...(next < entries.length && { nextOffset: next }),
  };
}

/** The second half of a character that takes two. */
const isSecondHalf = (text: string, at: number): boolean =>
  /^[\udc00-\udfff]$/.test(text.charAt(at)) && /^[\ud800-\udbff]$/.test(text.charAt(at - 1));
