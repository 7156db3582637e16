// The sink port: where events are sent on to, besides the log that has them. Nothing, or Kafka; one suite proves both.
import { z } from "zod";
import { parseKafkaAddress } from "./address.ts";

export const sinkConfig = z
  .string()
  .regex(/^(none|kafka:\/\/.+)$/, "expected none, or kafka://host:port/topic")
  .superRefine((address, context) => {
    if (!address.startsWith("kafka://")) return;
    const parsed = parseKafkaAddress(address);
    if ("expected" in parsed)
      context.addIssue({
        code: "invalid_format",
        format: "kafka",
        input: address,
        message: parsed.expected,
      });
  })
  .describe(
    "Where audit events are sent on to: none, or kafka://[user:password@]host:port[,host:port…]/topic (docs/kafka.md).",
  );

export interface SinkEvent {
  /** Stable: an event that is sent again has the same, and the same line. */
  readonly id: string;
  readonly tenantId: string;
  readonly action: string;
  /** Of the call it belongs to, where the event names one. */
  readonly trace: { readonly traceId: string; readonly spanId: string | null } | null;
  /** The event as the ledger exports it. */
  readonly line: string;
}

export interface Sink {
  readonly kind: "none" | "kafka";
  /**
   * Resolves when all of them are durable at the destination; events of one tenant arrive in this order. Called again
   * only after it has settled. When it rejects, some may have arrived: sending the same again is right.
   */
  deliver(events: readonly SinkEvent[]): Promise<void>;
  /** Rejects with the reason when nothing could be delivered now. */
  ping(): Promise<void>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

/** Opens the sink the address names, without connecting: a destination that is down is no reason not to start. */
export async function openSink(address: string): Promise<Sink> {
  if (address === "none") {
    const done = (): Promise<void> => Promise.resolve();
    return { kind: "none", deliver: done, ping: done, close: done };
  }
  const parsed = parseKafkaAddress(address);
  if ("expected" in parsed) throw new Error(`the sink needs ${parsed.expected}`);
  const { openKafka } = await import("./kafka.ts");
  return openKafka(parsed);
}
