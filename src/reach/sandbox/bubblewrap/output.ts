// What a program writes, collected in one growing buffer.
import { release } from "../../../util/release.ts";

const FIRST_BYTES = 65_536;

export class Output {
  #held: Uint8Array<ArrayBuffer> = new Uint8Array();
  #length = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#held.length) this.#grow(length);
    this.#held.set(piece, this.#length);
    this.#length = length;
  }

  get bytes(): Uint8Array {
    return this.#held.subarray(0, this.#length);
  }

  #grow(needed: number): void {
    const size = Math.max(
      needed,
      Math.min(this.#maxBytes, Math.max(FIRST_BYTES, this.#held.length * 2)),
    );
    const larger = new Uint8Array(size);
    larger.set(this.bytes);
    release(this.#held);
    this.#held = larger;
  }
}
