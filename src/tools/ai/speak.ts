import { z } from "zod";
import { spent } from "./shared/spent.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "ai/speak",
  description:
    "Read a text aloud into a sound file (mp3, wav or ogg) with a model's voice. The file is kept at the path you give, or in a " +
    "folder of this execution; the person hears it at url.",
  input: z.strictObject({
    text: z.string().min(1).max(10_000).describe("What to say."),
    voice: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("Name of the provider's voice; default: the configured one."),
    speed: z.number().min(0.25).max(4).default(1).describe("1 is normal."),
    format: z.enum(["mp3", "wav", "ogg"]).default("mp3").describe("Kind of file."),
    path: z.string().min(1).max(4_096).optional().describe("Where to put it in the workspace."),
  }),
  output: z.strictObject({
    path: z.string().describe("The file."),
    assetId: z.string().describe("For other tools."),
    url: z.string().describe("Where the person hears it."),
    mime: z.string().describe("Its type."),
    durationSeconds: z.number().describe("Length; estimated where the format does not tell."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["model", "files", "assets"],
  timeoutMs: 60_000,
  aliases: ["speak"],
  tags: ["ai"],
  touches: [{ argument: "/path", kind: "path", access: "write" }],
  meters: [{ metric: "voice_minutes", estimate: 1 }],
  examples: [{ text: "Good morning.", format: "wav" }],
  async run({ text, voice, speed, format, path }, { model, files, assets }, context) {
    await assets.requireRoom();
    const {
      audio,
      mime,
      seconds: durationSeconds,
      ...answer
    } = await model.speak({
      text,
      speed,
      format,
      ...(voice === undefined ? {} : { voice }),
    });
    const at =
      path === undefined
        ? await files.keep(`speech.${format}`, audio)
        : (await files.write(path, audio, { mode: "overwrite", createDirectories: true })).path;
    context.note({
      usage: { voice_minutes: Math.ceil(durationSeconds / 60) },
      untrusted: true,
      filesTouched: [at],
      ...spent(answer),
    });
    const kept = await assets.keep({ name: at, mime, bytes: audio });
    context.note({ assets: [kept.assetId] });
    return { path: at, ...kept, mime, durationSeconds };
  },
});
