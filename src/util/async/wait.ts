/** Resolves when the work has, the time is over or the signal fires; rejects only with the work. */
export async function waitAtMost(
  work: Promise<unknown>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake, { once: true });
  if (signal.aborted) resolve();
  const timer = setTimeout(wake, Math.max(0, ms));
  try {
    await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
  }
}
