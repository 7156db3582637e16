// The body of an answer: decompressed as it comes, counted on the wire and after, ended at its limit.
import type { IncomingMessage } from "node:http";
import { Duplex, pipeline, Readable, Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";
import { bodyTooLarge, connectFailed } from "./faults.ts";

const LENIENT_END = { finishFlush: constants.Z_SYNC_FLUSH };
const MAX_ENCODINGS = 3;
/** More on the wire than this beyond the limit holds nothing but padding. */
const WIRE_SLACK = 1_048_576;

export interface LimitedBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  truncated(): boolean;
}

/** `release` is called once, when the body has ended, failed or been left. */
export function limitedBody(
  answer: IncomingMessage,
  where: string,
  maxBytes: number,
  translate: (cause: unknown) => unknown,
  release: () => void,
): LimitedBody {
  let truncated = false;
  async function* read(): AsyncGenerator<Uint8Array> {
    let left = maxBytes;
    try {
      for await (const chunk of decoded(answer, where, maxBytes * 2 + WIRE_SLACK)) {
        const bytes = chunk as Uint8Array;
        if (bytes.length > left) {
          truncated = true;
          if (left > 0) yield bytes.subarray(0, left);
          return;
        }
        left -= bytes.length;
        yield bytes;
      }
    } catch (cause) {
      throw translate(cause);
    } finally {
      release();
    }
  }
  return { chunks: releasing(read(), release), truncated: () => truncated };
}

/** A generator that never started runs no `finally`: an unread body must not hold its connection. */
function releasing(
  chunks: AsyncGenerator<Uint8Array>,
  release: () => void,
): AsyncIterableIterator<Uint8Array> {
  return {
    next: () => chunks.next(),
    return() {
      release();
      return chunks.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function decoded(answer: IncomingMessage, where: string, wireLimit: number): Readable {
  const header = answer.headers["content-encoding"] ?? "";
  const encodings = header
    .toLowerCase()
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "" && word !== "identity");
  if (encodings.length > MAX_ENCODINGS)
    throw connectFailed(where, `the body is compressed ${encodings.length} times`);
  const stages: Duplex[] = [counted(where, wireLimit)];
  for (const encoding of encodings.toReversed()) {
    const decoder = decoderOf(encoding);
    if (!decoder)
      throw connectFailed(
        where,
        `the body is compressed in a way nobody asked for (${JSON.stringify(encoding.slice(0, 20))})`,
      );
    stages.push(decoder);
  }
  // Errors reach the reader through the last stage.
  return pipeline([answer, ...stages], () => undefined) as unknown as Readable;
}

function decoderOf(encoding: string): Duplex | null {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip(LENIENT_END);
    case "br":
      return createBrotliDecompress();
    case "zstd":
      return createZstdDecompress();
    case "deflate":
      return inflater();
    default:
      return null;
  }
}

function counted(where: string, limit: number): Transform {
  let left = limit;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(bodyTooLarge(where, limit));
      else done(null, chunk);
    },
  });
}

/** Servers disagree on what `deflate` is; the first byte shows which one it is. */
function inflater(): Duplex {
  return Duplex.from(async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
    const source = chunks[Symbol.asyncIterator]();
    const first = await source.next();
    if (first.done === true) return;
    const whole = async function* (): AsyncGenerator<Buffer> {
      yield first.value;
      yield* { [Symbol.asyncIterator]: () => source };
    };
    const isZlib = ((first.value[0] ?? 0) & 0x0f) === 8;
    const decoder = isZlib ? createInflate(LENIENT_END) : createInflateRaw(LENIENT_END);
    yield* pipeline(Readable.from(whole()), decoder, () => undefined) as AsyncIterable<Uint8Array>;
  });
}
