import { z } from "zod";
import { sizeOfPng } from "./shared/png.ts";
import { spent } from "./shared/spent.ts";
import { defineTool } from "../../contract/tool.ts";

const SIZES = ["1024x1024", "1792x1024", "1024x1792"] as const;

export default defineTool({
  name: "ai/generate_image",
  description:
    "Let a model draw one to four pictures from a description. They are kept as files: at the path you give (numbered from the " +
    "second on), or in a folder of this execution; the person sees them at url.",
  input: z.strictObject({
    prompt: z.string().min(1).max(4_000).describe("What the picture shows."),
    size: z.enum(SIZES).default("1024x1024").describe("Width x height."),
    quality: z.enum(["standard", "hd"]).default("standard").describe("hd costs more."),
    count: z.int().min(1).max(4).default(1).describe("How many."),
    path: z
      .string()
      .min(1)
      .max(4_096)
      .optional()
      .describe("Where to put it in the workspace, e.g. images/cat.png."),
  }),
  output: z.strictObject({
    images: z.array(
      z.strictObject({
        path: z.string(),
        assetId: z.string().describe("For other tools and chats."),
        url: z.string().describe("Where the person sees it."),
        mime: z.string(),
        width: z.int(),
        height: z.int(),
      }),
    ),
    revisedPrompt: z.string().optional().describe("The description the provider made of yours."),
    model: z.string().describe("The model that drew."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["model", "files", "assets"],
  timeoutMs: 60_000,
  aliases: ["GenerateImage", "generate_image"],
  tags: ["ai"],
  touches: [{ argument: "/path", kind: "path", access: "write" }],
  meters: [{ metric: "images", estimate: { argument: "/count", otherwise: 1 } }],
  examples: [{ prompt: "A lighthouse at dusk, watercolour." }],
  async run({ prompt, size, quality, count, path }, { model, files, assets }, context) {
    await assets.requireRoom();
    context.progress({ progress: 0, total: 2, message: "drawing" });
    const drawn = await model.image({ prompt, size, quality, count });
    context.note({ usage: { images: drawn.images.length }, untrusted: true, ...spent(drawn) });
    const [width = 0, height = 0] = size.split("x").map(Number);
    const images = [];
    for (const [index, { bytes, mime }] of drawn.images.entries()) {
      const at =
        path === undefined
          ? await files.keep(`image-${index + 1}.png`, bytes)
          : (
              await files.write(numbered(path, index), bytes, {
                mode: "overwrite",
                createDirectories: true,
              })
            ).path;
      context.note({ filesTouched: [...images.map((image) => image.path), at] });
      const kept = await assets.keep({ name: at, mime, bytes });
      images.push({ path: at, ...kept, mime, ...(sizeOfPng(bytes) ?? { width, height }) });
      context.note({ assets: images.map(({ assetId }) => assetId) });
    }
    return {
      images,
      model: drawn.model,
      ...(drawn.revisedPrompt === undefined ? {} : { revisedPrompt: drawn.revisedPrompt }),
    };
  },
});

function numbered(path: string, index: number): string {
  if (index === 0) return path;
  const dot = path.lastIndexOf(".");
  const cut = dot > path.lastIndexOf("/") + 1 ? dot : path.length;
  return `${path.slice(0, cut)}-${index + 1}${path.slice(cut)}`;
}
