// Memory outside the heap, given back by hand. Left to the garbage collector, every ten megabytes of a program's output set
// off a full collection, and everybody else who uses the server waits for it.

/** For bytes that nobody reads any more: they are gone afterwards. Part of a smaller piece of memory is left alone: Node
 * hands out such parts to several users. */
export function release(bytes: Uint8Array): void {
  const { buffer, length } = bytes;
  if (buffer instanceof ArrayBuffer && (length === buffer.byteLength || length > Buffer.poolSize))
    buffer.transfer(0);
}
