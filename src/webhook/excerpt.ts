// The beginning of a refusal, for whoever looks into it: short, readable, secrets masked before it is cut.
import { MASK } from "../util/mask.ts";
import { findSecrets } from "../util/redact.ts";

const MAX_CHARACTERS = 200;
/** Of what was read only this much is shown at most: a secret that the end cuts in two lies behind it. */
const SHOWN_OF_READ = 512;

export async function excerptOf(body: AsyncIterable<Uint8Array>): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch {
    // The status counts; a body that breaks off is as good as a short one.
  }
  const text = Buffer.concat(chunks).toString("utf8").replace(/[\s\p{Cc}\p{Cf}\ufffd]+/gu, " ").trim(); // prettier-ignore
  return text === "" ? null : masked(text).slice(0, MAX_CHARACTERS).toWellFormed();
}

function masked(text: string): string {
  let shown = "";
  let from = 0;
  for (const { start, end } of findSecrets(text)) {
    if (start >= SHOWN_OF_READ) break;
    shown += text.slice(from, start) + MASK;
    from = end;
  }
  return shown + text.slice(from, Math.max(from, SHOWN_OF_READ));
}
