// Traces and durations over OTLP/HTTP. Loaded only when there is an endpoint. What cannot be delivered is dropped and
// counted; no call waits for it.
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace";
import type { Call, Trace } from "../call.ts";
import { contextOf, parentOf, traceFrom, type TraceContext } from "../util/trace.ts";
import { CallSpans } from "./call-spans.ts";
import { createSpanClock } from "./clock.ts";
import { shownContent } from "./content.ts";
import { CountingExporter } from "./counting-exporter.ts";
import { ATTR, DURATION_BUCKETS, METRIC, SCOPE } from "./names.ts";
import { observeNothing } from "./observer.ts";
import { OpenRequestSpan } from "./request-span.ts";
import { createSampling } from "./sampling.ts";
import { KIND, RecordedSpan, type SpanFacts } from "./span.ts";
import type { Asked, ClientSpan, OtlpSettings, TelemetrySettings, Tracing, TracingPowers } from "./tracing.ts"; // prettier-ignore

type Settings = TelemetrySettings & { readonly otlp: OtlpSettings & { readonly endpoint: string } };

const MAX_QUEUED = 8_192;
const MAX_BATCH = 512;
/** The last words of a server that stops; whoever does not take them by then goes without. */
const FLUSH_MS = 3_000;

export function openOtlp(settings: Settings, p: TracingPowers): Tracing {
  const { otlp } = settings;
  const headers = pairs(otlp.headers);
  const resource = resourceFromAttributes({
    ...pairs(settings.resourceAttributes),
    "service.name": settings.serviceName,
    "service.version": p.version,
    "service.instance.id": p.instanceId,
  });
  const clock = createSpanClock();
  const exporter = new CountingExporter(
    new OTLPTraceExporter({ url: signalUrl(otlp.endpoint, "traces"), headers }),
    { maxQueued: MAX_QUEUED, log: p.log, beforeExport: () => clock.sync() },
  );
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: MAX_QUEUED,
    maxExportBatchSize: MAX_BATCH,
    scheduledDelayMillis: otlp.delayMs,
  });
  const meters = new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: signalUrl(otlp.endpoint, "metrics"), headers }),
        exportIntervalMillis: otlp.metricsIntervalMs,
        exportTimeoutMillis: Math.min(otlp.metricsIntervalMs, 10_000),
      }),
    ],
  });
  const meter = meters.getMeter(SCOPE, p.version);
  const histogram = (name: string, description: string) =>
    meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: DURATION_BUCKETS } }); // prettier-ignore
  const served = histogram(METRIC.server, "Duration of MCP requests as the server saw them.");
  const asked = histogram(METRIC.client, "Duration of MCP requests as the client saw them.");

  const origin = { resource, instrumentationScope: { name: SCOPE, version: p.version }, clock };
  const emit = (facts: SpanFacts): void => {
    if (exporter.takes()) processor.onEnd(new RecordedSpan(facts, origin));
  };
  const sampling = createSampling(settings.sampler, settings.samplerArg);
  const samples = (traceId: string): boolean => sampling(traceId, null);
  const isRecorded = (trace: Trace): boolean =>
    sampling(trace.traceId, trace.parentSpanId === undefined && trace.sampled === undefined ? null : trace); // prettier-ignore
  const newSpanId = (): string => p.ids.hex(8);
  const { mode, policyVersion, sandboxKind } = p;
  const callPowers = { emit, newSpanId, mode, policyVersion, sandboxKind, content: settings.content ? shownContent(p.masked) : null }; // prettier-ignore

  return {
    on: true,
    request(incoming) {
      const trace = withDecision(traceFrom(incoming.context, p.ids, samples), isRecorded);
      const linked = incoming.linked ? linkOf(incoming.linked) : null;
      const measure = (seconds: number, labels: object): void => served.record(seconds, { ...labels }); // prettier-ignore
      return new OpenRequestSpan(incoming, trace, linked, {
        emit: trace.sampled === false ? null : emit,
        measure,
      });
    },
    observe: (call) => (isRecorded(call.trace) ? new CallSpans(call, callPowers) : observeNothing(call)), // prettier-ignore
    client: (call, what) => clientSpan(call, what),
    samples,
    figures: () => exporter.figures(),
    close: () => within(FLUSH_MS, [processor.shutdown(), meters.shutdown()]),
  };

  function clientSpan({ trace: parent }: Pick<Call, "trace">, { name, attributes, measured }: Asked): ClientSpan {
    const began = performance.now();
    const { spanId: parentSpanId, ...rest } = parent;
    const trace: Trace = { ...rest, spanId: newSpanId(), parentSpanId };
    return {
      context: contextOf(trace),
      end(told = {}, errorType) {
        const ended = performance.now();
        const error = errorType === undefined ? {} : { [ATTR.errorType]: errorType };
        if (measured) asked.record((ended - began) / 1000, { ...measured, ...error });
        if (isRecorded(trace)) emit({ name, kind: KIND.client, trace, began, ended, attributes: { ...attributes, ...told, ...error }, error: errorType });
      },
    };
  } // prettier-ignore
}

/** What was decided travels with the trace: below the door nobody asks again. */
function withDecision(trace: Trace, isRecorded: (trace: Trace) => boolean): Trace {
  const { sampled: _, ...rest } = trace;
  return isRecorded(trace) ? rest : { ...rest, sampled: false };
}

const linkOf = ({ traceparent, tracestate }: TraceContext): Trace | null =>
  parentOf(traceparent, tracestate);

const signalUrl = (endpoint: string, signal: string): string =>
  `${endpoint.replace(/\/+$/, "")}/v1/${signal}`;

/** `a=b,c=d`, percent-encoded, as the OTEL_ variables have it. Checked when the configuration was read. */
function pairs(text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of (text ?? "").split(",")) {
    const at = pair.indexOf("=");
    if (at > 0) found[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
  }
  return found;
}

async function within(ms: number, work: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([Promise.allSettled(work), late]);
  clearTimeout(timer);
}
