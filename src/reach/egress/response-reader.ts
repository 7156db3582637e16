// Parses the responses on a connection, one after the other. Buffers only an incomplete head, chunk size or trailer.
import { parseHead, InvalidResponse, type ResponseHead } from "./response-head.ts";

export interface ResponseEvents {
  head(head: ResponseHead): void;
  /** The buffer is reused after the call. */
  data(bytes: Buffer): void;
  /** isClean: nothing came after it. */
  end(isClean: boolean): void;
}

const END_OF_HEAD = Buffer.from("\r\n\r\n", "latin1");
const NOTHING = Buffer.alloc(0);
const LF = 10;
/** A position behind all bytes: reading stops. */
const DONE = Infinity;
/** Including chunk extensions. */
const MAX_SIZE_LINE = 256;
const WORD = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = '"[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"';
const SIZE = new RegExp(`^([0-9A-Fa-f]{1,8})(?:;${WORD}(?:=(?:${WORD}|${QUOTED}))?)*\\r$`);
/** Trailers must not change the length of the response. */
const TRAILER = new RegExp(
  `^(?!(?:content-length|transfer-encoding):)${WORD}:[\\t\\x20-\\x7e\\x80-\\xff]*\\r$`,
  "i",
);
/** Limit of 1xx responses before the final one. */
const MAX_INTERIM = 16;

type State =
  "idle" | "head" | "fixed" | "chunk" | "chunk end" | "size" | "trailers" | "close" | "over";

export class ResponseReader {
  readonly #events: ResponseEvents;
  readonly #maxHead: number;
  #state: State = "idle";
  #method = "";
  /** The beginning of something whose end has not come yet. */
  #held: Buffer = NOTHING;
  /** Of the body, or of the chunk. */
  #left = 0;
  #trailerBytes = 0;
  #interim = 0;
  /** While true, bytes are buffered. */
  isPaused = false;

  constructor(maxHeadBytes: number, events: ResponseEvents) {
    this.#maxHead = maxHeadBytes;
    this.#events = events;
  }

  /** A request was sent: its response comes next. */
  expect(method: string): void {
    this.#method = method;
    this.#interim = 0;
    this.#trailerBytes = 0;
    this.#state = "head";
  }

  /** Nothing more is read, whatever is still there. */
  stop(): void {
    this.#state = "over";
  }

  /** The server closed the connection. False: an answer is missing, or part of it. */
  closed(): boolean {
    const isEnd = this.#state === "close";
    this.stop();
    if (isEnd) this.#events.end(false);
    return isEnd;
  }

  read(given: Buffer): void {
    const isLent = this.#held.length === 0;
    const bytes = isLent
      ? given
      : given.length === 0
        ? this.#held
        : Buffer.concat([this.#held, given]);
    this.#held = NOTHING;
    let at = 0;
    while (at < bytes.length) {
      const next = this.isPaused ? null : this.#step(bytes, at);
      if (next === null)
        return void (this.#held = isLent ? Buffer.from(bytes.subarray(at)) : bytes.subarray(at));
      at = next;
    }
  }

  /** Where to go on; null: more is needed. */
  #step(bytes: Buffer, at: number): number | null {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes, at);
      case "fixed":
      case "chunk":
        return this.#readBody(bytes, at);
      case "chunk end":
        return this.#readChunkEnd(bytes, at);
      case "size":
        return this.#readSize(bytes, at);
      case "trailers":
        return this.#readTrailer(bytes, at);
      case "close":
        this.#events.data(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
      case "idle":
        throw new InvalidResponse("it says more than it was asked");
      case "over":
        return DONE;
    }
  }

  #readHead(bytes: Buffer, at: number): number | null {
    const end = bytes.indexOf(END_OF_HEAD, at);
    // What is there of the empty line that ends it does not count.
    if ((end === -1 ? bytes.length - END_OF_HEAD.length + 1 : end) - at > this.#maxHead)
      throw new InvalidResponse(`its head is larger than ${this.#maxHead} bytes`);
    if (end === -1) return null;
    const head = parseHead(bytes.toString("latin1", at, end), this.#method);
    const next = end + END_OF_HEAD.length;
    if (head.status === 101) throw new InvalidResponse("it switches to another protocol");
    if (head.status < 200) {
      if (++this.#interim > MAX_INTERIM)
        throw new InvalidResponse("it only ever says that it is at work");
      return next;
    }
    this.#left = typeof head.body === "number" ? head.body : 0;
    this.#state = head.body === "chunked" ? "size" : head.body === "close" ? "close" : "fixed";
    this.#events.head(head);
    if (head.body === 0) return this.#end(bytes, next);
    return next;
  }

  #readBody(bytes: Buffer, at: number): number | null {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#events.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#left > 0) return end;
    if (this.#state === "fixed") return this.#end(bytes, end);
    if (this.#state === "chunk") this.#state = "chunk end";
    return end;
  }

  #readChunkEnd(bytes: Buffer, at: number): number | null {
    if (bytes.length - at < 2) return null;
    if (bytes[at] !== 13 || bytes[at + 1] !== LF)
      throw new InvalidResponse("a chunk is longer than it says");
    this.#state = "size";
    return at + 2;
  }

  #readSize(bytes: Buffer, at: number): number | null {
    const line = this.#lineAt(bytes, at, MAX_SIZE_LINE);
    if (line === null) return null;
    const [, digits] = SIZE.exec(line) ?? [];
    if (digits === undefined) throw new InvalidResponse("the size of a chunk is no number");
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk";
    return at + line.length + 1;
  }

  /** Trailers are validated and dropped. */
  #readTrailer(bytes: Buffer, at: number): number | null {
    const line = this.#lineAt(bytes, at, this.#maxHead - this.#trailerBytes);
    if (line === null) return null;
    this.#trailerBytes += line.length;
    const next = at + line.length + 1;
    if (line === "\r") return this.#end(bytes, next);
    if (!TRAILER.test(line)) throw new InvalidResponse("a line after its last chunk is no header");
    return next;
  }

  /** Without the line feed; null: it is not there yet. */
  #lineAt(bytes: Buffer, at: number, max: number): string | null {
    const end = bytes.indexOf(LF, at);
    if ((end === -1 ? bytes.length : end) - at > max)
      throw new InvalidResponse("a line between its chunks is too long");
    return end === -1 ? null : bytes.toString("latin1", at, end);
  }

  /** The listener may send the next request at once. */
  #end(bytes: Buffer, at: number): number {
    if (this.#state === "over") return DONE;
    this.#state = "idle";
    this.#events.end(at === bytes.length);
    return DONE;
  }
}
