import { z } from "zod";
import { isAssetId } from "./shared/asset-id.ts";
import { spent } from "./shared/spent.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const MAX_BYTES = 104_857_600;
const SPOKEN = /\.(mp3|mp4|mpeg|mpga|m4a|wav|webm|ogg|oga|opus|flac)$/i;

export default defineTool({
  name: "ai/transcribe",
  description:
    "Write down what is said in a sound file of the workspace (mp3, m4a, wav, ogg, webm, flac; at most 100 MiB), on request with " +
    "the time of each segment.",
  input: z.strictObject({
    audio: z
      .string()
      .min(1)
      .max(4_096)
      .describe("Path of the sound file in the workspace, or id of an asset (ast_…)."),
    language: z
      .string()
      .regex(/^[a-z]{2,3}(-[A-Za-z]{2,4})?$/)
      .max(8)
      .optional()
      .describe("Language spoken, e.g. en; default: found out."),
    timestamps: z.boolean().default(false).describe("Also return the segments with their times."),
  }),
  output: z.strictObject({
    text: z.string().describe("What is said."),
    language: z.string().nullable().describe("Language, where the provider tells it."),
    durationSeconds: z
      .number()
      .nullable()
      .describe("Length of the recording, where the provider tells it."),
    segments: z
      .array(z.strictObject({ start: z.number(), end: z.number(), text: z.string() }))
      .optional()
      .describe("Times in seconds."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["model", "files", "assets"],
  timeoutMs: 120_000,
  aliases: ["transcribe"],
  tags: ["ai"],
  touches: [{ argument: "/audio", kind: "path", access: "read" }],
  meters: [{ metric: "voice_minutes", estimate: 1 }],
  examples: [{ audio: "memo.wav", timestamps: true }],
  async run({ audio, language, timestamps }, { model, files, assets }, context) {
    const sound = isAssetId(audio) ? await assets.read(audio, { maxBytes: MAX_BYTES }) : null;
    if (!SPOKEN.test(sound?.name ?? audio))
      throw toolError(
        "unsupported_type",
        `expected a sound file (mp3, m4a, wav, ogg, webm, flac), got ${JSON.stringify(sound?.name ?? audio)}`,
        { remedy: "convert it, or give it its usual ending" },
      );
    const { bytes, name } = sound ?? (await fromFile());
    context.progress({ progress: 1, total: 2, message: "listening" });
    const heard = await model.transcribe({
      audio: bytes,
      name,
      timestamps,
      ...(language === undefined ? {} : { language }),
    });
    const { text, segments, durationSeconds, language: spoken } = heard;
    const minutes = Math.ceil((durationSeconds ?? 60) / 60);
    context.note({
      usage: { voice_minutes: minutes },
      untrusted: true,
      ...spent(heard),
    });
    return { text, language: spoken, durationSeconds, ...(segments && { segments }) };

    async function fromFile() {
      const read = await files.read(audio, { maxBytes: MAX_BYTES });
      context.note({ filesTouched: [read.path] });
      return { bytes: read.bytes, name: read.path.split("/").at(-1) ?? "audio" };
    }
  },
});
