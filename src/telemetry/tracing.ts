// The port to tracing. Off, it is a constant without state, and nothing of OpenTelemetry is loaded.
import type { Call, Caller, Entry, Outcome } from "../contract/call.ts";
import type { Ids } from "../util/ids.ts";
import { contextOf, type TraceContext } from "../util/trace.ts";
import type { Masked } from "./content.ts";
import { observeNothing, type Observe } from "./observer.ts";
import type { Sampler } from "./samplers.ts";

export interface Tracing {
  /** False: nothing is sent, and work for a span may be skipped. */
  readonly on: boolean;
  /** A request at a door: a SERVER span. */
  request(incoming: Incoming): RequestSpan;
  /** The spans of one call in the engine. */
  readonly observe: Observe;
  /** A request to another server on behalf of a call: a CLIENT span. */
  client(call: Pick<Call, "trace">, asked: OutgoingOperation): ClientSpan;
  /** Is a trace that begins here recorded? */
  samples(traceId: string): boolean;
  figures(): SpanFigures;
  /** Sends what is left, for a bounded time. */
  close(): Promise<void>;
}

/** Spans since the start. */
export interface SpanFigures {
  readonly sent: number;
  /** Lost: the receiver was away, too slow, or refused them. */
  readonly dropped: number;
}

export interface Incoming {
  /** Absent for MCP, where the operation has one. */
  readonly name?: string;
  readonly entry: Entry;
  /** In the time of `performance.now`. */
  readonly at: number;
  /** The parent. */
  readonly context: TraceContext;
  /** Where the request came with a second context, that of its transport. */
  readonly linked?: TraceContext | undefined;
  readonly requestId?: string | undefined;
  readonly attributes: Attributes;
  /**
   * Those that most requests have in common, name and value in turn: cheaper to make than an object. A value that is
   * not there is skipped.
   */
  readonly pairs?: Pairs | undefined;
  /** A request of MCP: its method and tool become attributes, and labels in `mcp.server.operation.duration`. */
  readonly mcp?: McpOperation & { readonly id: string };
}

export type Pairs = readonly (string | number | boolean | undefined)[];

export interface McpOperation {
  readonly method: string;
  /** The tool as models call it. */
  readonly target: string | null;
  readonly transport: "tcp" | "pipe";
}

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface RequestSpan {
  /** Pass this on instead of the incoming context; null while tracing is off. */
  readonly context: TraceContext | null;
  caller(caller: Caller): void;
  /** How the call went that the request was for. */
  outcome(outcome: Outcome): void;
  /** The protocol's error code, e.g. -32602, or a code such as UNAVAILABLE. */
  failed(code: string | number): void;
  /** Only the first counts. */
  end(httpStatus?: number): void;
}

export interface OutgoingOperation {
  readonly name: string;
  readonly attributes: Attributes;
  /** Counted in `mcp.client.operation.duration` under these labels. */
  readonly measured?: Attributes;
}

export interface ClientSpan {
  /** What to send along, so that the other side works for this span: `_meta.traceparent` of an upstream MCP server. */
  readonly context: TraceContext;
  end(added?: Attributes, errorType?: string): void;
}

const nothing = (): void => undefined;

export const NO_REQUEST_SPAN: RequestSpan = Object.freeze({
  context: null,
  caller: nothing,
  outcome: nothing,
  failed: nothing,
  end: nothing,
});

export const NO_TRACING: Tracing = Object.freeze({
  on: false,
  request: () => NO_REQUEST_SPAN,
  observe: observeNothing,
  // The other side may still continue the incoming trace.
  client: ({ trace }) => ({ context: contextOf(trace), end: nothing }),
  samples: () => true,
  figures: () => ({ sent: 0, dropped: 0 }),
  close: () => Promise.resolve(),
} satisfies Tracing);

export interface TelemetrySettings {
  readonly disabled: boolean;
  readonly serviceName: string;
  readonly resourceAttributes?: string | undefined;
  readonly sampler: Sampler;
  readonly samplerArg?: string | undefined;
  readonly content: boolean;
  readonly otlp: OtlpSettings;
}

export interface OtlpSettings {
  readonly endpoint?: string | undefined;
  readonly headers?: string | undefined;
  readonly delayMs: number;
  readonly metricsIntervalMs: number;
}

export interface TracingPowers {
  readonly version: string;
  readonly instanceId: string;
  readonly ids: Pick<Ids, "hex" | "trace">;
  readonly mode: () => string;
  readonly policyVersion: () => string;
  readonly sandboxKind: () => string;
  /** For arguments and results, where they are sent. */
  readonly masked: Masked;
  readonly log: { warn(fields: object, message: string): void };
}

export async function openTracing(settings: TelemetrySettings, p: TracingPowers): Promise<Tracing> {
  const { endpoint } = settings.otlp;
  if (endpoint === undefined || settings.disabled) return NO_TRACING;
  const { openOtlp } = await import("./otlp.ts");
  return openOtlp({ ...settings, otlp: { ...settings.otlp, endpoint } }, p);
}
