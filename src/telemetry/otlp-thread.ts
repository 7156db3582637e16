// The thread that speaks OTLP: makes spans of what the main thread tells, batches, sends, retries. Making a message of a
// few hundred spans takes milliseconds, which no call should wait for.
import { parentPort, workerData } from "node:worker_threads";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace";
import { CountingExporter } from "./counting-exporter.ts";
import { DURATION_BUCKETS, METRIC, SCOPE } from "./names.ts";
import { RecordedSpan } from "./span.ts";
import type { FromThread, ThreadData, ToThread } from "./sender.ts";
import { readLine } from "./wire.ts";

const MAX_QUEUED = 8_192;
const MAX_BATCH = 512;
const METRICS_TIMEOUT_MS = 10_000;

const { endpoint, headers, resourceAttributes, version, delayMs, metricsIntervalMs } = workerData as ThreadData; // prettier-ignore
const tell = (message: FromThread): void => parentPort?.postMessage(message);
const urlOf = (signal: string): string => `${endpoint.replace(/\/+$/, "")}/v1/${signal}`;

const resource = resourceFromAttributes(resourceAttributes);
const instrumentationScope = { name: SCOPE, version };
const exporter = new CountingExporter(
  new OTLPTraceExporter({ url: urlOf("traces"), headers: { ...headers } }),
  { maxQueued: MAX_QUEUED, lost: (why) => tell({ taken: 0, ...exporter.figures(), why }) },
);
const processor = new BatchSpanProcessor({ exporter, maxQueueSize: MAX_QUEUED, maxExportBatchSize: MAX_BATCH, scheduledDelayMillis: delayMs }); // prettier-ignore
const meters = new MeterProvider({
  resource,
  readers: [
    new PeriodicExportingMetricReader({
      exporter: new OTLPMetricExporter({ url: urlOf("metrics"), headers: { ...headers } }),
      exportIntervalMillis: metricsIntervalMs,
      exportTimeoutMillis: Math.min(metricsIntervalMs, METRICS_TIMEOUT_MS),
    }),
  ],
});
const meter = meters.getMeter(SCOPE, version);
const histogram = (name: string, description: string) =>
  meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: DURATION_BUCKETS } }); // prettier-ignore
const durations = {
  server: histogram(METRIC.server, "Duration of MCP requests as the server saw them."),
  client: histogram(METRIC.client, "Duration of MCP requests as the client saw them."),
};

async function close(): Promise<void> {
  await Promise.allSettled([processor.shutdown(), meters.shutdown()]);
  tell({ taken: 0, ...exporter.figures(), closed: true });
  parentPort?.close();
}

parentPort?.on("message", (message: ToThread) => {
  if (message === "close") {
    return void close();
  }
  const { offset, lines } = message;
  for (const text of lines) {
    const line = readLine(text);
    if ("seconds" in line) durations[line.side].record(line.seconds, { ...line.labels });
    else if (exporter.takes()) processor.onEnd(new RecordedSpan(line, { resource, instrumentationScope, offset })); // prettier-ignore
  }
  tell({ taken: lines.length, ...exporter.figures() });
});
