// How long speech lasts: by the header of a WAV file, else by how much text it is.

/** Spoken characters in a second, roughly. */
const CHARS_PER_SECOND = 15;
const WAV_HEADER = 44;

export function secondsOf(audio: Uint8Array, text: string, speed: number): number {
  return lengthOfWav(audio) ?? Math.round((text.length / CHARS_PER_SECOND / speed) * 10) / 10;
}

/** Bytes of sound over bytes per second; null: no such file. */
function lengthOfWav(bytes: Uint8Array): number | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (data.length < WAV_HEADER || data.toString("latin1", 0, 4) !== "RIFF") return null;
  const rate = data.readUInt32LE(28);
  return rate > 0 ? Math.round(((data.length - WAV_HEADER) / rate) * 1_000) / 1_000 : null;
}
