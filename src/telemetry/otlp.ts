// Traces and durations over OTLP/HTTP: which spans there are and what they say. They are sent by a thread of their own
// (`otlp-thread.ts`); what cannot be delivered is dropped and counted, and no call waits for it.
import type { Call, Trace } from "../contract/call.ts";
import { contextOf, parentOf, traceFrom } from "../util/trace.ts";
import { CallSpans } from "./call-spans.ts";
import { wallOffset } from "./clock.ts";
import { shownContent } from "./content.ts";
import { Durations } from "./durations.ts";
import { Trails } from "./events.ts";
import { KIND } from "./kinds.ts";
import { ATTR, SCOPE } from "./names.ts";
import { observeNothing } from "./observer.ts";
import { Operations } from "./operations.ts";
import { originOf } from "./protobuf.ts";
import { OpenRequestSpan } from "./request-span.ts";
import { createSampling } from "./sampling.ts";
import { openSender, spawnOtlpThread } from "./sender.ts";
import { ToolParts } from "./tool-parts.ts";
import type {
  OutgoingOperation,
  ClientSpan,
  OtlpSettings,
  TelemetrySettings,
  Tracing,
  TracingPowers,
} from "./tracing.ts";

type Settings = TelemetrySettings & { readonly otlp: OtlpSettings & { readonly endpoint: string } };

export function openOtlp(settings: Settings, p: TracingPowers): Tracing {
  const { endpoint, headers, delayMs, metricsIntervalMs } = settings.otlp;
  const origin = originOf(
    {
      ...pairs(settings.resourceAttributes),
      "service.name": settings.serviceName,
      "service.version": p.version,
      "service.instance.id": p.instanceId,
    },
    { name: SCOPE, version: p.version },
  );
  const sender = openSender({
    start: () => spawnOtlpThread({ endpoint, headers: pairs(headers) }),
    origin,
    delayMs,
    offset: wallOffset(),
    log: p.log,
  });
  const durations = new Durations(Date.now());
  const operations = new Operations(durations);
  const sendDurations = (): void => {
    const message = durations.message(origin, Date.now());
    if (message) sender.metrics(message);
  };
  const timer = setInterval(sendDurations, metricsIntervalMs).unref();
  const sampling = createSampling(settings.sampler, settings.samplerArg);
  const samples = (traceId: string): boolean => sampling(traceId, null);
  const isRecorded = (trace: Trace): boolean =>
    sampling(
      trace.traceId,
      trace.parentSpanId === undefined && trace.sampled === undefined ? null : trace,
    );
  const newSpanId = (): string => p.ids.hex(8);
  const { mode, policyVersion, sandboxKind } = p;
  const callPowers = {
    sender,
    trails: new Trails(),
    parts: new ToolParts(),
    newSpanId,
    mode,
    policyVersion,
    sandboxKind,
    content: settings.content ? shownContent(p.masked) : null,
  };

  return {
    on: true,
    request(incoming) {
      const trace = withDecision(traceFrom(incoming.context, p.ids, samples), isRecorded);
      const linked = incoming.linked
        ? parentOf(incoming.linked.traceparent, incoming.linked.tracestate)
        : null;
      const operation = incoming.mcp ? operations.of(incoming.mcp) : null;
      return new OpenRequestSpan({ incoming, trace, linked, operation }, sender);
    },
    observe: (call) =>
      isRecorded(call.trace) ? new CallSpans(call, callPowers) : observeNothing(call),
    client: (call, what) => clientSpan(call, what),
    samples,
    figures: sender.figures,
    close() {
      clearInterval(timer);
      sendDurations();
      return sender.close();
    },
  };

  function clientSpan(
    { trace: parent }: Pick<Call, "trace">,
    { name, attributes, measured }: OutgoingOperation,
  ): ClientSpan {
    const began = performance.now();
    const { spanId: parentSpanId, ...rest } = parent;
    const trace: Trace = { ...rest, spanId: newSpanId(), parentSpanId };
    return {
      context: contextOf(trace),
      end(added = {}, errorType) {
        const ended = performance.now();
        const error = errorType === undefined ? {} : { [ATTR.errorType]: errorType };
        if (measured)
          durations.count(
            durations.series("client", { ...measured, ...error }),
            (ended - began) / 1000,
          );
        const writer = isRecorded(trace) ? sender.room() : null;
        if (!writer) return;
        writer.begin({ name, kind: KIND.client, trace, remote: false, began, ended });
        writer.attributes({ ...attributes, ...added, ...error });
        writer.end(errorType);
        sender.wrote();
      },
    };
  }
}

/** The sampling decision travels with the trace: it is made at the door only. */
function withDecision(trace: Trace, isRecorded: (trace: Trace) => boolean): Trace {
  const isKept = isRecorded(trace);
  if (isKept === (trace.sampled !== false)) return trace;
  const { sampled: _, ...rest } = trace;
  return isKept ? rest : { ...rest, sampled: false };
}

/** `a=b,c=d`, percent-encoded, as the OTEL_ variables have it. Checked when the configuration was read. */
function pairs(text: string | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  for (const pair of (text ?? "").split(",")) {
    const at = pair.indexOf("=");
    if (at > 0) found[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
  }
  return found;
}
