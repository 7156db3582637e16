// The beginning of an error response, for administrators. Secrets are masked before it is cut.

const MAX_CHARACTERS = 200;

export async function excerptOf(
  body: AsyncIterable<Uint8Array>,
  masked: (text: string) => string,
): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch {
    // The status counts; a body that breaks off is as good as a short one.
  }
  const text = Buffer.concat(chunks)
    .toString("utf8")
    .replace(/[\s\p{Cc}\p{Cf}\ufffd]+/gu, " ")
    .trim();
  return text === "" ? null : masked(text).slice(0, MAX_CHARACTERS).toWellFormed();
}
