// What a program wrote, as text: cut on a character boundary, the whole of it kept beside.

/** The first bytes as text; a character that the cut would tear apart is left out. What is not UTF-8 becomes U+FFFD. */
export function textOf(bytes: Uint8Array, maxBytes: number): { text: string; cut: boolean } {
  if (bytes.length <= maxBytes) return { text: decode(bytes), cut: false };
  return { text: decode(bytes.subarray(0, boundary(bytes, maxBytes))), cut: true };
}

const decode = (bytes: Uint8Array): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

function boundary(bytes: Uint8Array, at: number): number {
  let start = at;
  // At most three bytes of a character follow its first.
  while (start > Math.max(0, at - 4) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--;
  return ((bytes[start] ?? 0) & 0xc0) === 0x80 ? at : start;
}

/** One file for both streams; stderr only where it was cut too. */
export function whole(stdout: Uint8Array, stderr: Uint8Array, maxBytes: number): Uint8Array {
  if (stderr.length <= maxBytes) return stdout;
  const heading = new TextEncoder().encode("\n----- stderr -----\n");
  return stdout.length === 0 ? stderr : Buffer.concat([stdout, heading, stderr]);
}

/** A line of the server at the end of the program's output. */
export function withNote(stderr: string, note: string): string {
  return `${stderr}${stderr === "" || stderr.endsWith("\n") ? "" : "\n"}[ostiary] ${note}\n`;
}
