// Server-sent events, read from bytes as they come: the data of each, and never more of it than the limit.
import { invalid, tooLarge } from "./connection-faults.ts";

const LF = 10;
const CR = 13;

/** Feed it chunks; it calls back with the data of each event, the names of which do not matter here. */
export function eventReader(
  maxBytes: number,
  onEvent: (data: Uint8Array) => void,
): (chunk: Uint8Array) => void {
  let rest: Buffer = Buffer.alloc(0);
  let data: Buffer[] = [];
  let size = 0;

  const line = (bytes: Buffer): void => {
    if (bytes.length === 0) {
      if (data.length > 0) onEvent(data.length === 1 ? (data[0] as Buffer) : Buffer.concat(withBreaks(data))); // prettier-ignore
      data = [];
      size = 0;
      return;
    }
    if (!isData(bytes)) return;
    const value = bytes.subarray(bytes[5] === 32 ? 6 : 5);
    // Servers announce where to resume with events that say nothing.
    if (value.length === 0) return;
    size += value.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    data.push(value);
  };

  return (chunk) => {
    const bytes = rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.concat([rest, chunk]); // prettier-ignore
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      line(bytes.subarray(start, end > start && bytes[end - 1] === CR ? end - 1 : end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > maxBytes) throw tooLarge(maxBytes);
    if (rest.includes(CR) && rest.indexOf(CR) < rest.length - 1) throw invalid("its events end lines in a way nobody uses"); // prettier-ignore
  };
}

/** `data:` */
const isData = (line: Buffer): boolean =>
  line.length >= 5 && line.toString("latin1", 0, 5) === "data:";

function withBreaks(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, at) => (at === 0 ? [part] : [Buffer.of(LF), part]));
}
