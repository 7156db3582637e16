// The sink against real brokers: those of scripts/services, and one of its own that is killed, frozen and closed to
// strangers.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { firstsOf, numbered, sinkSuite } from "../../src/storage/events/sink.suite.ts";
import { openSink, type Sink } from "../../src/storage/events/sink.ts";
import { certificateFor } from "../fixtures/certificate.ts";
import { makeTopic, ownKafka, readAll, type OwnKafka } from "../fixtures/kafka.ts";

const server = process.env["OSTIARY_TEST_KAFKA"];
const lib = process.env["OSTIARY_TEST_KAFKA_LIB"];
const start = "OSTIARY_TEST_KAFKA is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`kafka: ${start}`, () => expect.unreachable(start));

const fresh = (): string => `t-${randomUUID()}`;

if (server) {
  sinkSuite("kafka", async () => {
    const topic = fresh();
    const sink = await openSink(`${server}/${topic}`);
    return { sink, received: () => readAll(server, topic) };
  });
}

describe.skipIf(!server || !lib)("the sink on Kafka", () => {
  const certificate = certificateFor(["localhost"]);
  let kafka: OwnKafka;
  const sinks: Sink[] = [];
  beforeAll(async () => {
    kafka = await ownKafka(lib ?? "", certificate);
    await kafka.start();
  }, 120_000);
  afterAll(() => kafka.remove());
  afterEach(async () => {
    for (const sink of sinks.splice(0)) await sink.close();
  });
  const open = async (address: string): Promise<Sink> => {
    const sink = await openSink(address);
    sinks.push(sink);
    return sink;
  };

  test("headers tell id, action, content type and trace; the key is the tenant", async () => {
    const topic = fresh();
    const sink = await open(`${kafka.address}/${topic}`);
    const [event] = numbered(1);
    if (!event) throw new Error("no event");
    const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
    await sink.deliver([
      { ...event, trace },
      { ...event, id: "two" },
    ]);
    const [first, second] = await readAll(kafka.address, topic);
    expect(first).toMatchObject({ key: "local", line: event.line });
    expect(first?.headers).toEqual({
      id: event.id,
      action: "config.changed",
      "content-type": "application/json",
      "trace-id": trace.traceId,
      traceparent: `00-${trace.traceId}-${trace.spanId}-01`,
    });
    expect(Object.keys(second?.headers ?? {})).toEqual(["id", "action", "content-type"]);
  });

  test("a topic that is missing is an error where it may not be made, and works once it is there", async () => {
    const topic = fresh();
    const sink = await open(`${kafka.address}/${topic}?create=off`);
    const refused = {
      fault: {
        reason: "engine_unavailable",
        message: `Kafka has no topic ${topic}`,
        remedy: expect.stringContaining("create it") as string,
      },
    };
    await expect(sink.deliver(numbered(1))).rejects.toMatchObject(refused);
    await expect(sink.ping()).rejects.toMatchObject(refused);
    await makeTopic(kafka.address, topic);
    await sink.ping();
    await sink.deliver(numbered(3));
    expect(await readAll(kafka.address, topic)).toHaveLength(3);
  });

  test("a topic that takes little at once gets smaller batches; one event too large is told, and nothing passes it", async () => {
    const topic = fresh();
    await makeTopic(kafka.address, topic, [{ name: "max.message.bytes", value: "4000" }]);
    const sink = await open(`${kafka.address}/${topic}`);
    const events = numbered(100);
    await sink.deliver(events);
    const wanted = firstsOf(events.map(({ id, tenantId: key, line }) => ({ id, key, line })));
    expect(firstsOf(await readAll(kafka.address, topic))).toEqual(wanted);
    const large = events.slice(0, 1).map((event) => ({ ...event, line: "x".repeat(9_000) }));
    await expect(sink.deliver(large)).rejects.toMatchObject({
      fault: {
        message: expect.stringContaining("too large") as string,
        remedy: expect.stringContaining("max.message.bytes") as string,
      },
    });
    await sink.deliver(events.slice(1));
  });

  test("TLS, user and password: what is wrong is said, and what is right works", async () => {
    const at = kafka.secure ?? "";
    const topic = fresh();
    const deliver = async (address: string) => (await open(address)).deliver(numbered(1));
    const told = (message: string) => ({
      fault: { message: expect.stringContaining(message) as string },
    });
    await expect(
      deliver(`kafka://ada:right@${at}/${topic}?sasl=plain&tls=on`),
    ).rejects.toMatchObject(told("not trusted"));
    await expect(deliver(`kafka://${at}/${topic}`)).rejects.toMatchObject(told("speaks TLS"));
    await expect(deliver(`${kafka.address}/${topic}?tls=on`)).rejects.toMatchObject(
      told("does not speak TLS"),
    );
    const trusted = tls.getCACertificates();
    tls.setDefaultCACertificates([...trusted, certificate.cert]);
    try {
      await expect(
        deliver(`kafka://ada:wrong@${at}/${topic}?sasl=plain&tls=on`),
      ).rejects.toMatchObject(told("refuses the user"));
      await expect(
        deliver(`kafka://ada:right@${at}/${topic}?sasl=scram-sha-512&tls=on`),
      ).rejects.toMatchObject(told("refuses the user"));
      await deliver(`kafka://ada:right@${at}/${topic}?sasl=plain&tls=on`);
    } finally {
      tls.setDefaultCACertificates(trusted);
    }
    expect(await readAll(kafka.address, topic)).toHaveLength(1);
  });

  test("no broker, one that hangs up and one that talks nonsense are errors that say so", async () => {
    const nonsense = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\nwhat do you want?"));
    }).listen(0, "127.0.0.1");
    const rude = createServer((socket) => socket.resetAndDestroy()).listen(0, "127.0.0.1");
    await Promise.all([once(nonsense, "listening"), once(rude, "listening")]);
    const ports = [
      1,
      (rude.address() as AddressInfo).port,
      (nonsense.address() as AddressInfo).port,
    ];
    try {
      for (const port of ports) {
        const sink = await open(`kafka://127.0.0.1:${port}/t`);
        await expect(sink.deliver(numbered(1))).rejects.toMatchObject({
          fault: {
            code: "UNAVAILABLE",
            message: expect.stringContaining("no Kafka broker answers") as string,
          },
        });
      }
    } finally {
      rude.close();
      nonsense.close();
    }
  }, 180_000);

  test("a broker that is killed, or frozen, and comes back is used again", async () => {
    const topic = fresh();
    const sink = await open(`${kafka.address}/${topic}`);
    const events = numbered(30);
    await sink.deliver(events.slice(0, 10));
    await kafka.kill();
    await expect(sink.deliver(events.slice(10, 20))).rejects.toMatchObject({
      fault: { reason: "engine_unavailable" },
    });
    await kafka.start();
    await expect
      .poll(() => sink.deliver(events.slice(10, 20)).then(() => "sent", String), {
        timeout: 60_000,
      })
      .toBe("sent");
    kafka.freeze();
    const stuck = sink.deliver(events.slice(20));
    setTimeout(() => kafka.thaw(), 2_000);
    await stuck;
    const received = await readAll(kafka.address, topic);
    expect(new Set(received.map(({ id }) => id)).size).toBe(30);
  }, 180_000);

  test("a close ends what is under way", async () => {
    const sink = await open(`${kafka.address}/${fresh()}`);
    await sink.deliver(numbered(1));
    kafka.freeze();
    try {
      const stuck = sink.deliver(numbered(1)).then(
        () => "sent",
        () => "given up",
      );
      await new Promise((resolve) => setTimeout(resolve, 100));
      await sink.close();
      expect(await stuck).toBe("given up");
      await expect(sink.deliver(numbered(1))).rejects.toMatchObject({
        fault: { reason: "shutting_down" },
      });
    } finally {
      kafka.thaw();
    }
  });
});
