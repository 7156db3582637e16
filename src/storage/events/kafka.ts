// Events to a Kafka topic: keyed by tenant, acknowledged by all replicas in sync, one request under way at a time.
import {
  Admin,
  compatibilityPartitioner,
  Producer,
  type BaseOptions,
  type MessageToProduce,
} from "@platformatic/kafka";
import { AppError } from "../../contract/errors.ts";
import type { KafkaAddress } from "./address.ts";
import { isAbout, kafkaFault } from "./kafka-fault.ts";
import type { Sink, SinkEvent } from "./sink.ts";

const CONNECT_LIMIT_MS = 5_000;
const REQUEST_LIMIT_MS = 10_000;
/** What the brokers themselves may take to have it on all replicas. */
const REPLICATED_LIMIT_MS = 8_000;
/** Of connections that break within one delivery; the relay tries again later. */
const RETRIES = 2;
const RETRY_DELAY_MS = 200;
/** Whatever the driver waits for. */
const DELIVERY_LIMIT_MS = 30_000;
const CLOSE_LIMIT_MS = 1_000;
/** Above what a call with the usual limits can make one event of. */
const LARGEST_EVENT = 16_777_216;

export function openKafka(address: KafkaAddress): Sink {
  const { brokers, topic, create } = address;
  const options: BaseOptions = {
    clientId: "ostiary",
    bootstrapBrokers: brokers.map(({ host, port }) => ({ host, port })),
    connectTimeout: CONNECT_LIMIT_MS,
    requestTimeout: REQUEST_LIMIT_MS,
    timeout: REPLICATED_LIMIT_MS,
    retries: RETRIES,
    retryDelay: RETRY_DELAY_MS,
    ...(address.tls ? { tls: {} } : {}),
    ...(address.sasl === null ? {} : { sasl: { ...address.sasl } }),
  };
  let live: Producer | null = null;
  let topicKnown = false;
  let closed = false;

  function connected(): Producer {
    if (closed) throw new AppError("UNAVAILABLE", "shutting_down", "the sink is closed");
    // Where Java's producers would put a tenant, so that others can write beside us.
    return (live ??= surviving(
      new Producer({ ...options, partitioner: compatibilityPartitioner }),
    ));
  }

  /** After a failure nothing of the driver's state is used again: connections, metadata, sequence numbers. */
  async function drop(): Promise<void> {
    const last = live;
    live = null;
    topicKnown = false;
    if (last !== null) await end(last);
  }

  async function attempt(work: (producer: Producer) => Promise<void>): Promise<void> {
    try {
      const producer = connected();
      await within(DELIVERY_LIMIT_MS, work(producer));
    } catch (cause) {
      await drop();
      throw kafkaFault(cause, topic);
    }
  }

  async function ensureTopic(producer: Producer): Promise<void> {
    if (topicKnown) return;
    if (!(await exists(producer, topic))) {
      if (create === null)
        throw new AppError("UNAVAILABLE", "engine_unavailable", `Kafka has no topic ${topic}`, {
          remedy: "create it, or leave out create=off in OSTIARY_SINK",
        });
      await make(options, topic, create);
    }
    topicKnown = true;
  }

  return {
    kind: "kafka",
    deliver: (events) =>
      attempt(async (producer) => {
        if (events.length === 0) return;
        await ensureTopic(producer);
        await send(
          producer,
          events.map((event) => messageOf(topic, event)),
        );
      }),
    ping: () =>
      attempt(async (producer) => {
        if (create === null) topicKnown = false;
        await (create === null ? ensureTopic(producer) : exists(producer, topic));
      }),
    async close() {
      closed = true;
      await drop();
    },
  };
}

async function exists(producer: Producer, topic: string): Promise<boolean> {
  try {
    await producer.metadata({ topics: [topic], forceUpdate: true });
    return true;
  } catch (cause) {
    if (isAbout(cause, "UNKNOWN_TOPIC_OR_PARTITION")) return false;
    throw cause;
  }
}

async function make(
  options: BaseOptions,
  topic: string,
  numbers: NonNullable<KafkaAddress["create"]>,
): Promise<void> {
  const admin = surviving(new Admin({ ...options }));
  try {
    await admin.createTopics({
      topics: [{ topic, ...numbers }],
      configs: [
        { name: "max.message.bytes", value: String(LARGEST_EVENT) },
        // By a time of ours, retention could delete at once what is sent, and a clock that is ahead would have it
        // refused.
        { name: "message.timestamp.type", value: "LogAppendTime" },
      ],
    });
  } catch (cause) {
    if (!isAbout(cause, "TOPIC_ALREADY_EXISTS")) throw cause;
  } finally {
    await end(admin);
  }
}

async function send(producer: Producer, messages: MessageToProduce[]): Promise<void> {
  try {
    // What the driver sends again by itself, after a connection broke, the broker recognises and keeps once.
    await producer.send({ messages, idempotent: true });
  } catch (cause) {
    if (messages.length === 1 || !isAbout(cause, "MESSAGE_TOO_LARGE")) throw cause;
    // The topic takes less at once than was gathered.
    const half = Math.ceil(messages.length / 2);
    await send(producer, messages.slice(0, half));
    await send(producer, messages.slice(half));
  }
}

/** The driver reports a broken connection more than once but listens once: the second event would end this process. */
function surviving<Client extends Producer | Admin>(client: Client): Client {
  client.connections.on("connecting", ({ connection }) => {
    connection.on("error", () => undefined);
  });
  return client;
}

async function end(client: Producer | Admin): Promise<void> {
  // A broker that no longer answers would keep them open.
  const open = [...client.connections].map(([, connection]) => connection);
  await within(CLOSE_LIMIT_MS, client.close()).catch(() => undefined);
  for (const { socket } of open) socket?.destroy();
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Kafka took more than ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

const ID = Buffer.from("id");
const ACTION = Buffer.from("action");
const CONTENT_TYPE = Buffer.from("content-type");
const JSON_TYPE = Buffer.from("application/json");
const TRACE_ID = Buffer.from("trace-id");
const TRACEPARENT = Buffer.from("traceparent");

function messageOf(topic: string, event: SinkEvent): MessageToProduce {
  const { id, tenantId, action, trace, line } = event;
  const headers = new Map([
    [ID, Buffer.from(id)],
    [ACTION, Buffer.from(action)],
    [CONTENT_TYPE, JSON_TYPE],
  ]);
  if (trace !== null) {
    headers.set(TRACE_ID, Buffer.from(trace.traceId));
    if (trace.spanId !== null)
      headers.set(TRACEPARENT, Buffer.from(`00-${trace.traceId}-${trace.spanId}-01`));
  }
  return { topic, key: Buffer.from(tenantId), value: Buffer.from(line), headers };
}
