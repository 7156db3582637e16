import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

/** Spoken characters in a second, roughly; what the provider does not tell is estimated. */
const CHARS_PER_SECOND = 15;

export default defineTool({
  name: "ai/speak",
  description:
    "Read a text aloud into a sound file (mp3, wav or ogg) with a model's voice. The file is kept at the path you give, or in a " +
    "folder of this execution.",
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
    mime: z.string().describe("Its type."),
    durationSeconds: z.number().describe("Length; estimated where the format does not tell."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["model", "files"],
  timeoutMs: 60_000,
  aliases: ["speak"],
  tags: ["ai"],
  touches: [{ argument: "/path", kind: "path", access: "write" }],
  meters: [{ metric: "voice_minutes", estimate: 1 }],
  examples: [{ text: "Good morning.", format: "wav" }],
  async run({ text, voice, speed, format, path }, { model, files }, context) {
    const { audio, mime } = await model.speak({
      text,
      speed,
      format,
      ...(voice === undefined ? {} : { voice }),
    });
    const at =
      path === undefined
        ? await files.keep(`speech.${format}`, audio)
        : (await files.write(path, audio, { mode: "overwrite", createDirectories: true })).path;
    const durationSeconds =
      (format === "wav" ? lengthOfWav(audio) : null) ??
      Math.round((text.length / CHARS_PER_SECOND / speed) * 10) / 10;
    context.note({
      usage: { voice_minutes: Math.ceil(durationSeconds / 60) },
      untrusted: true,
      filesTouched: [at],
    });
    return { path: at, mime, durationSeconds };
  },
});

/** Seconds by the header: bytes of sound over bytes per second. */
function lengthOfWav(bytes: Uint8Array): number | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (data.length < 44 || data.toString("latin1", 0, 4) !== "RIFF") return null;
  const rate = data.readUInt32LE(28);
  return rate > 0 ? Math.round(((data.length - 44) / rate) * 1_000) / 1_000 : null;
}
