/**
 * Opens several parts that close together, in reverse order. If opening fails half-way, what was opened is closed.
 */
export async function openTogether<T extends object>(
  open: (closing: AsyncDisposableStack) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const closing = new AsyncDisposableStack();
  try {
    const opened = await open(closing);
    return { ...opened, close: () => closing.disposeAsync() };
  } catch (cause) {
    await closing.disposeAsync().catch(() => undefined);
    throw cause;
  }
}
