const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** Waits for the first signal, then drains; a second one ends the process at once. */
export async function untilSignal(
  drain: () => Promise<void>,
  say: (text: string) => void,
): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
  const atOnce = () => process.exit(1);
  for (const signal of SIGNALS) process.removeAllListeners(signal).once(signal, atOnce);
  say("stopping; what runs may finish (again: stop at once)");
  await drain();
  for (const signal of SIGNALS) process.removeListener(signal, atOnce);
}
