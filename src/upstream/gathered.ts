// The bytes of a body as they come, in one piece that grows. They are given back at once: the runtime stops everything to look
// for memory outside its heap once there is much of it, and would find only what nobody has needed for a while.

const FIRST_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

export class Gathered {
  #bytes: Buffer = NOTHING;
  /** Ours alone: a small first piece shares its memory with others. */
  #own: ArrayBuffer | null = null;
  #length = 0;
  /** How often something was added. */
  pieces = 0;

  add(piece: Uint8Array): void {
    this.pieces++;
    if (this.#length === 0) this.#bytes = Buffer.from(piece);
    else this.#append(piece);
    this.#length += piece.length;
  }

  /** Until `release`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  release(): void {
    this.#own?.transfer(0);
    this.#own = null;
    this.#bytes = NOTHING;
    this.#length = 0;
  }

  #append(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (this.#own === null || needed > this.#own.byteLength) {
      const size = Math.max(FIRST_BYTES, 2 ** Math.ceil(Math.log2(needed)));
      const before = this.#own === null ? this.#bytes : null;
      // What it was before is given back with it.
      this.#own = this.#own === null ? new ArrayBuffer(size) : this.#own.transfer(size);
      this.#bytes = Buffer.from(this.#own);
      if (before) this.#bytes.set(before);
    }
    this.#bytes.set(piece, this.#length);
  }
}
