// The bytes of a body as they come. Memory outside the heap that is new each time makes the runtime stop everything
// to look for more of it, however soon it is given back; so a large body is collected in blocks that are reused.

const BLOCK_BYTES = 65_536;
/** Blocks that nobody uses now: so many are kept, and not for long. */
const [MAX_FREE, KEEP_MS] = [256, 10_000];
const NOTHING = Buffer.alloc(0);

/** The blocks of one server, for all that it sends. */
export class BlockPool {
  readonly #free: Buffer[] = [];
  #forget: NodeJS.Timeout | null = null;

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  giveBack(blocks: readonly Buffer[]): void {
    this.#free.push(...blocks.slice(0, MAX_FREE - this.#free.length));
    if (this.#forget) return;
    this.#forget = setTimeout(() => {
      this.#forget = null;
      this.#free.length = 0;
    }, KEEP_MS).unref();
  }
}

export class BodyBuffer {
  readonly #from: BlockPool;
  /** A small body comes in one piece. */
  #first: Buffer = NOTHING;
  #blocks: Buffer[] = [];
  #length = 0;
  /** The whole body, once it was read. */
  #whole: Buffer | null = null;
  /** How often something was added. */
  pieces = 0;

  constructor(from: BlockPool) {
    this.#from = from;
  }

  add(piece: Uint8Array): void {
    this.#whole = null;
    if (this.pieces++ === 0) {
      this.#first = Buffer.from(piece);
      this.#length = piece.length;
      return;
    }
    if (this.#blocks.length === 0) {
      this.#length = 0;
      this.#append(this.#first);
      this.#first = NOTHING;
    }
    this.#append(piece);
  }

  /** Until `release`. */
  get bytes(): Buffer {
    if (this.#blocks.length === 0) return this.#first;
    return (this.#whole ??= Buffer.concat(this.#blocks, this.#length));
  }

  release(): void {
    if (this.#blocks.length > 0) this.#from.giveBack(this.#blocks);
    this.#blocks = [];
    this.#first = NOTHING;
    this.#whole = null;
    this.#length = 0;
  }

  #append(piece: Uint8Array): void {
    for (let at = 0; at < piece.length;) {
      const used = this.#length % BLOCK_BYTES;
      if (used === 0) this.#blocks.push(this.#from.take());
      const part = piece.subarray(at, at + BLOCK_BYTES - used);
      this.#blocks.at(-1)?.set(part, used);
      this.#length += part.length;
      at += part.length;
    }
  }
}
