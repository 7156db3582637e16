// Server-sent events: written at the pace of the reader, with a heartbeat every 15 s, ended when the client
// disconnects.
import type { LiveEvent } from "../../core/record/live.ts";

const HEARTBEAT_MS = 15_000;
const RETRY_MS = 2_000;

export interface EventSource {
  /** Ends when the signal fires. */
  readonly open: (signal: AbortSignal) => AsyncIterable<LiveEvent>;
  /** The request's own signal. */
  readonly signal: AbortSignal;
  /** Fires once the caller has lost access. */
  readonly revoked: AbortSignal;
  /** Called once the stream has ended. */
  readonly onEnd: () => void;
  readonly heartbeatMs?: number;
}

export function eventStream(source: EventSource): Response {
  const encoder = new TextEncoder();
  const gone = new AbortController();
  const events = source.open(AbortSignal.any([source.signal, source.revoked, gone.signal]));
  const iterator = events[Symbol.asyncIterator]();
  let beat: NodeJS.Timeout | undefined;

  const leave = (): void => {
    clearInterval(beat);
    source.onEnd();
  };
  const end = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    leave();
    try {
      controller.close();
    } catch {
      // Already closed.
    }
  };

  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      // Events that wait for a slow reader are not sent either.
      source.revoked.addEventListener("abort", () => end(controller), { once: true });
      // Sent at once, so that the client knows it is connected and proxies forward the headers.
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n: connected\n\n`));
      beat = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0)
          controller.enqueue(encoder.encode(": heartbeat\n\n"));
      }, source.heartbeatMs ?? HEARTBEAT_MS).unref();
    },
    // Called only while the reader has room: a slow reader delays the subscription and fills no memory.
    async pull(controller) {
      try {
        const next = await iterator.next();
        if (source.revoked.aborted) return;
        if (next.done !== true) {
          controller.enqueue(encoder.encode(textOf(next.value)));
          return;
        }
        controller.close();
      } catch (cause) {
        controller.error(cause);
      }
      leave();
    },
    cancel() {
      leave();
      gone.abort();
    },
  });
  return new Response(body, {
    headers: {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
    },
  });
}

function textOf({ id, event, data }: LiveEvent): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`);
  return `id: ${id}\nevent: ${event}\n${lines.join("")}\n`;
}
