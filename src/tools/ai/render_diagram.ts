import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

const MAX_INLINE = 262_144;

export default defineTool({
  name: "ai/render_diagram",
  description:
    "Draw a diagram from mermaid source (flowchart, sequence, class, state, er, gantt, pie, mindmap and more) as svg or png. " +
    "A small svg comes back as text; a png or a large svg is kept as a file whose path is returned. " +
    "A fault in the source is answered with its line.",
  input: z.strictObject({
    source: z
      .string()
      .min(1)
      .max(65_536)
      .describe("The diagram in mermaid's language, e.g. flowchart TD; A-->B"),
    format: z
      .enum(["svg", "png"])
      .default("svg")
      .describe("svg scales, png can be shown anywhere."),
    theme: z
      .enum(["default", "neutral", "dark", "forest", "base"])
      .default("default")
      .describe("Colours."),
  }),
  output: z.strictObject({
    svg: z.string().optional().describe("The drawing, when it is a small svg."),
    path: z.string().optional().describe("Where it is kept otherwise."),
    mime: z.string(),
    width: z.int(),
    height: z.int(),
  }),
  risk: "safe",
  effects: "read_only",
  sandbox: "ro",
  needs: ["browser", "files"],
  cacheable: true,
  timeoutMs: 30_000,
  aliases: ["render_diagram"],
  tags: ["diagram"],
  examples: [
    {
      source: "flowchart TD\n  A[Ask] --> B{Allowed?}\n  B -->|yes| C[Run]\n  B -->|no| D[Refuse]",
      format: "png",
    },
  ],
  async run({ source, format, theme }, { browser, files }, context) {
    context.progress({ progress: 0, message: "drawing" });
    const { svg, png, width, height } = await browser.diagram(source, { format, theme });
    if (svg !== undefined && svg.length <= MAX_INLINE)
      return { svg, mime: "image/svg+xml", width, height };
    const bytes = png ?? new TextEncoder().encode(svg);
    const path = await files.keep(`diagram.${format}`, bytes);
    context.note({ filesTouched: [path], bytes: bytes.length });
    return { path, mime: png ? "image/png" : "image/svg+xml", width, height };
  },
});
