// PEM blocks as Go's encoding/pem finds them.
import { CorruptInput, decodeBase64 } from "./base64.ts";
import { encodeUtf8 } from "./utf8.ts";

export interface PemBlock {
  readonly type: string;
  readonly bytes: Uint8Array;
}

const BLOCK =
  /(?:^|\n)-----BEGIN ([^\n]*?)-----[ \t\r]*\n([\s\S]*?)\n?-----END \1-----[ \t\r]*(?:\n|$)/;

/** The first block and the text after it. */
export function decodePem(text: string): { block: PemBlock; rest: string } | undefined {
  let open = text;
  for (;;) {
    const match = BLOCK.exec(open);
    if (match === null) return undefined;
    const rest = open.slice(match.index + match[0].length);
    const [, type = "", body = ""] = match;
    const bytes = decodeBody(body);
    if (bytes !== undefined) return { block: { type, bytes }, rest };
    open = rest;
  }
}

function decodeBody(body: string): Uint8Array | undefined {
  // Headers such as "Proc-Type: 4,ENCRYPTED" come before an empty line.
  const lines = body.split("\n");
  let start = 0;
  while (start < lines.length && (lines[start] ?? "").includes(":")) start++;
  const data = lines
    .slice(start)
    .join("")
    .replace(/[ \t\r]/g, "");
  try {
    return decodeBase64(encodeUtf8(data), "standard");
  } catch (error) {
    if (error instanceof CorruptInput) return undefined;
    throw error;
  }
}

export function allPem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  let rest = text;
  for (let next = decodePem(rest); next !== undefined; next = decodePem(rest)) {
    blocks.push(next.block);
    rest = next.rest;
  }
  return blocks;
}
