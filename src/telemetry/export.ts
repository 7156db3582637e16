// One kind of messages on its way to the receiver: in order, one at a time, with a bounded queue before it. The
// delegate is OpenTelemetry's own: it retries, and reads the variables for time limits, certificates and compression.
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import { rejectedIn } from "./response.ts";

export interface Parcel {
  readonly spans: number;
  readonly bytes: Uint8Array;
}

export interface SpanExport {
  /** False: the queue is full. */
  add(parcel: Parcel): boolean;
  /** Resolves when everything was tried. */
  drained(): Promise<void>;
}

export interface ExportPowers {
  readonly signal: "traces" | "metrics";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxSpans: number;
  readonly maxBytes: number;
  /** `rejected`: how many items the receiver did not accept. */
  readonly sent: (parcel: Parcel, rejected: number) => void;
  readonly lost: (parcel: Parcel, why: string) => void;
}

const SUCCESS = 0;

export function openExport(p: ExportPowers): SpanExport {
  const queue: Parcel[] = [];
  let [spans, bytes, rejected] = [0, 0, 0];
  let isSending = false;
  let whenIdle: (() => void)[] = [];
  const options = convertLegacyHttpOptions(
    { url: p.url, headers: { ...p.headers } },
    p.signal.toUpperCase(),
    `v1/${p.signal}`,
    { "Content-Type": "application/x-protobuf" },
  );
  const serializer = {
    serializeRequest: (parcel: Parcel) => parcel.bytes,
    deserializeResponse(answer: Uint8Array) {
      rejected = rejectedIn(answer);
      return {};
    },
  };
  const counter = {
    name: p.signal === "traces" ? "span" : "metric_data_point",
    countItems: ({ spans: count }: Parcel) => count,
  } as const;
  const delegate = createOtlpHttpExportDelegate(
    options,
    serializer,
    `otlp_http_${p.signal}_exporter`,
    counter,
    undefined,
  );

  function next(): void {
    const parcel = queue.shift();
    isSending = parcel !== undefined;
    if (!parcel) {
      for (const idle of whenIdle) idle();
      whenIdle = [];
      return;
    }
    rejected = 0;
    delegate.export(parcel, ({ code, error }) => {
      spans -= parcel.spans;
      bytes -= parcel.bytes.length;
      if (Number(code) === SUCCESS) p.sent(parcel, Math.min(rejected, parcel.spans));
      else p.lost(parcel, error?.message ?? "the collector refused them");
      next();
    });
  }

  return {
    add(parcel) {
      if (spans + parcel.spans > p.maxSpans || bytes + parcel.bytes.length > p.maxBytes)
        return false;
      spans += parcel.spans;
      bytes += parcel.bytes.length;
      queue.push(parcel);
      if (!isSending) next();
      return true;
    },
    drained: () =>
      isSending ? new Promise((resolve) => whenIdle.push(resolve)) : Promise.resolve(),
  };
}
