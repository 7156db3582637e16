/**
 * Goes on with a value that may still be on its way. One that is there is used at once, so that a decision in process
 * costs neither a promise nor a closure: what `next` needs is passed as `a` and `b`.
 */
export function whenReady<T, A, B, R>(
  value: T | Promise<T>,
  next: (value: T, a: A, b: B) => R | Promise<R>,
  a: A,
  b: B,
): R | Promise<R> {
  return value instanceof Promise ? value.then((late) => next(late, a, b)) : next(value, a, b);
}
