import { describe, expect, test } from "vitest";
import { parseKafkaAddress } from "./address.ts";
import { sinkEvent } from "./event.ts";
import { kafkaFault } from "./kafka-fault.ts";
import { sinkSuite } from "./sink.suite.ts";
import { openSink, sinkConfig } from "./sink.ts";
import type { LedgerRow } from "../store/store.ts";
import { ledgerHash, ledgerText, NO_HASH } from "../../util/record/ledger-line.ts";

sinkSuite("none", async () => ({ sink: await openSink("none"), received: null }));

describe("the address", () => {
  test("says brokers, topic and how to get in", () => {
    expect(parseKafkaAddress("kafka://localhost")).toEqual({
      brokers: [{ host: "localhost", port: 9092 }],
      topic: "audit.events",
      tls: false,
      sasl: null,
      create: {},
    });
    const whole =
      "kafka://ada:p%40ss@a.example:9093,[2001:db8::1]:9094/my_topic-1?tls=on&sasl=scram-sha-512&partitions=6&replicas=3";
    expect(parseKafkaAddress(whole)).toEqual({
      brokers: [
        { host: "a.example", port: 9093 },
        { host: "2001:db8::1", port: 9094 },
      ],
      topic: "my_topic-1",
      tls: true,
      sasl: { mechanism: "SCRAM-SHA-512", username: "ada", password: "p@ss" },
      create: { partitions: 6, replicas: 3 },
    });
    expect(parseKafkaAddress("kafka://h/t?create=off")).toMatchObject({ create: null });
    expect(parseKafkaAddress("kafka://a:b@127.0.0.1/t?sasl=plain")).toMatchObject({ tls: false });
  });

  test.each([
    ["kafka://", "kafka://["],
    ["kafka://a b/t", "brokers as"],
    ["kafka://a:0/t", "brokers as"],
    ["kafka://a:70000/t", "brokers as"],
    ["kafka://a,,b/t", "brokers as"],
    ["kafka://a/t/u", "kafka://["],
    ["kafka://a/..", "a topic of"],
    ["kafka://a/t%20", "a topic of"],
    ["kafka://a/t?ssl=on", "no option but tls"],
    ["kafka://a/t?tls=on&tls=off", "tls once"],
    ["kafka://a/t?tls=yes", "on or off"],
    ["kafka://a/t?partitions=0", "whole numbers"],
    ["kafka://u:p@a/t", "the option sasl"],
    ["kafka://a/t?sasl=plain", "a user and a password"],
    ["kafka://u:p@a/t?sasl=kerberos&tls=on", "one of plain"],
    ["kafka://u:p@a/t?sasl=plain", "tls=on with sasl=plain"],
    ["kafka://u:p@127.0.0.1,a/t?sasl=plain", "tls=on with sasl=plain"],
  ])("%s is refused", (address, expected) => {
    expect(parseKafkaAddress(address)).toEqual({
      expected: expect.stringContaining(expected) as string,
    });
    expect(sinkConfig.safeParse(address).success).toBe(false);
  });

  test("another kind of sink is refused", async () => {
    expect(sinkConfig.safeParse("redis://x").success).toBe(false);
    expect(sinkConfig.parse("none")).toBe("none");
    await expect(openSink("kafka://a/..")).rejects.toThrow("a topic of");
  });
});

describe("the event", () => {
  const row = (body: string, chained = true): LedgerRow => {
    const plain = {
      seq: 7,
      tenantId: "local",
      at: 5,
      action: "tool.execution.start",
      actor: "ada",
      executionId: "exe_1",
      body,
    } as const;
    const link = { instanceId: "srv", n: 3, prevHash: NO_HASH };
    if (!chained) return { ...plain, instanceId: null, n: null, prevHash: null, hash: null };
    return { ...plain, ...link, hash: ledgerHash(ledgerText({ ...plain, ...link })) };
  };

  test("is the line of the ledger, whose hash anybody can check", () => {
    const { id, line } = sinkEvent(row('{"a":1}'));
    expect(id).toBe("srv:local:3");
    const [text, digest] = [
      line.replace(/,"hash":"[0-9a-f]{64}"\}$/, "}"),
      /"hash":"(\w+)"\}$/.exec(line)?.[1],
    ];
    expect(ledgerHash(text)).toBe(digest);
    expect(JSON.parse(line)).toMatchObject({ v: 1, seq: 7, tenantId: "local", body: { a: 1 } });
  });

  test("that is older than the chain has its number for an id", () => {
    const { id, line } = sinkEvent(row('{"a":1}', false));
    expect(id).toBe("log:7");
    expect(JSON.parse(line)).toEqual({
      v: 0,
      seq: 7,
      tenantId: "local",
      at: 5,
      action: "tool.execution.start",
      actor: "ada",
      executionId: "exe_1",
      body: { a: 1 },
    });
  });

  test("R205: tells its own trace, never one out of its arguments", () => {
    const [traceId, spanId] = ["a".repeat(32), "b".repeat(16)];
    const traceOf = (body: object) => sinkEvent(row(JSON.stringify(body))).trace;
    expect(traceOf({ arguments: { traceId: "c".repeat(32) }, traceId, spanId })).toEqual({
      traceId,
      spanId,
    });
    expect(traceOf({ arguments: { traceId } })).toBeNull();
    expect(traceOf({ traceId: "no\nid" })).toBeNull();
    expect(traceOf({ traceId })).toEqual({ traceId, spanId: null });
    expect(traceOf({})).toBeNull();
  });
});

describe("what is told of Kafka's errors", () => {
  const nested = (inner: object): Error =>
    Object.assign(new Error("outer"), { errors: [{ errors: [inner] }] });
  test.each([
    [{ apiId: "MESSAGE_TOO_LARGE" }, "too large", "max.message.bytes"],
    [{ apiId: "TOPIC_AUTHORIZATION_FAILED" }, "does not let this user", "allow"],
    [{ code: "PLT_KFK_AUTHENTICATION" }, "refuses the user", "OSTIARY_SINK"],
    [{ message: "Unknown topic x." }, "no such topic", "create it"],
    [{ cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } }, "not trusted", "NODE_EXTRA_CA_CERTS"],
    [{ cause: { code: "ECONNREFUSED" } }, "ECONNREFUSED", "start Kafka"],
    [{}, "outer", "start Kafka"],
  ])("%j", (inner, message, remedy) => {
    const { fault } = kafkaFault(nested(inner), "audit.events");
    expect(fault).toMatchObject({ code: "UNAVAILABLE", reason: "engine_unavailable" });
    expect(fault.message).toContain(message);
    expect(fault.remedy).toContain(remedy);
  });

  test("errors that hold each other end", () => {
    const loop: { cause?: unknown } = {};
    loop.cause = loop;
    expect(kafkaFault(loop, "t").message).toContain("no Kafka broker answers");
  });
});
