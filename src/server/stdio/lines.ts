import type { Readable } from "node:stream";

/** Lines of a byte stream without their end; blank ones are left out. A longer line than allowed ends the reading. */
export async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    let bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10)) {
      const line = Buffer.concat([...rest, bytes.subarray(0, end)]);
      rest = [];
      restBytes = 0;
      bytes = bytes.subarray(end + 1);
      if (line.length > maxBytes) throw tooLong(maxBytes);
      if (!isBlank(line)) yield line;
    }
    if (bytes.length > 0) rest.push(bytes);
    restBytes += bytes.length;
    if (restBytes > maxBytes) throw tooLong(maxBytes);
  }
  const last = Buffer.concat(rest);
  if (!isBlank(last)) yield last;
}

const tooLong = (maxBytes: number): RangeError =>
  new RangeError(`a message is longer than ${maxBytes} bytes`);

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 32 || byte === 9 || byte === 13);
