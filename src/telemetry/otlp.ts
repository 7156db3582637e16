// Traces and durations over OTLP/HTTP: which spans there are and what they say. They are made and sent by a thread of their
// own (`otlp-thread.ts`); what cannot be delivered is dropped and counted, and no call waits for it.
import type { Call, Trace } from "../call.ts";
import { contextOf, parentOf, traceFrom, type TraceContext } from "../util/trace.ts";
import { CallSpans } from "./call-spans.ts";
import { wallOffset } from "./clock.ts";
import { shownContent } from "./content.ts";
import { ATTR } from "./names.ts";
import { observeNothing } from "./observer.ts";
import { OpenRequestSpan } from "./request-span.ts";
import { createSampling } from "./sampling.ts";
import { openSender, spawnOtlpThread } from "./sender.ts";
import { KIND, type SpanFacts } from "./kinds.ts";
import type { Asked, Attributes, ClientSpan, OtlpSettings, TelemetrySettings, Tracing, TracingPowers } from "./tracing.ts"; // prettier-ignore

type Settings = TelemetrySettings & { readonly otlp: OtlpSettings & { readonly endpoint: string } };

export function openOtlp(settings: Settings, p: TracingPowers): Tracing {
  const { endpoint, headers, delayMs, metricsIntervalMs } = settings.otlp;
  const data = {
    endpoint,
    headers: pairs(headers),
    resourceAttributes: {
      ...pairs(settings.resourceAttributes),
      "service.name": settings.serviceName,
      "service.version": p.version,
      "service.instance.id": p.instanceId,
    },
    version: p.version,
    delayMs,
    metricsIntervalMs,
  };
  const sender = openSender({ start: () => spawnOtlpThread(data), offset: wallOffset(), log: p.log }); // prettier-ignore
  const emit = (facts: SpanFacts): void => sender.add(facts);
  const measureServed = (seconds: number, labels: Attributes): void => sender.add({ side: "server", seconds, labels }); // prettier-ignore
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
      return new OpenRequestSpan(incoming, trace, linked, {
        emit: trace.sampled === false ? null : emit,
        measure: measureServed,
      });
    },
    observe: (call) => (isRecorded(call.trace) ? new CallSpans(call, callPowers) : observeNothing(call)), // prettier-ignore
    client: (call, what) => clientSpan(call, what),
    samples,
    figures: sender.figures,
    close: sender.close,
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
        if (measured) sender.add({ side: "client", seconds: (ended - began) / 1000, labels: { ...measured, ...error } });
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

/** `a=b,c=d`, percent-encoded, as the OTEL_ variables have it. Checked when the configuration was read. */
function pairs(text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of (text ?? "").split(",")) {
    const at = pair.indexOf("=");
    if (at > 0) found[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
  }
  return found;
}
