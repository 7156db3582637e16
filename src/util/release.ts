// Frees memory outside the heap at once. Left to the garbage collector, every ten megabytes of a program's output cause
// a full collection, during which all calls wait.

/** For bytes that are no longer needed; they are empty afterwards. Slices of Node's shared pool are left alone. */
export function release(bytes: Uint8Array): void {
  const { buffer, length } = bytes;
  if (buffer instanceof ArrayBuffer && (length === buffer.byteLength || length > Buffer.poolSize))
    buffer.transfer(0);
}
