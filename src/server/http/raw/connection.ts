// One connection of the raw HTTP reader: plain requests are answered on the socket, one after the other. With the
// first request that is not plain the connection goes to node:http, with every byte that has not been answered, and
// stays there.
import type { Socket } from "node:net";
import { parsePlainRequest, type PlainRequest } from "./request.ts";

export interface RawReaderPowers {
  /** Null: node:http has to answer it. Never runs a call that node:http would run again. */
  serve(
    request: PlainRequest,
    socket: Socket,
    whenGone: (cancel: () => void) => void,
  ): Promise<RawReply | null>;
  count(end: "answered" | "handed_over"): void;
}

export interface RawReply {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly text: string;
  readonly encoding: "latin1" | "utf8";
}

export interface RawReaderLimits {
  /** From connecting to the first byte. */
  readonly firstMs: number;
  /** Between a response and the next request. */
  readonly idleMs: number;
}

/** What all connections of one reader share. */
export interface RawReaderContext extends RawReaderPowers, RawReaderLimits {
  readonly open: Set<RawConnection>;
  /** True: responses under way are the last ones. */
  readonly isStopping: boolean;
  serialize(reply: RawReply, isLast: boolean): string;
  toHttp(socket: Socket): void;
}

const MAX_QUEUED_BYTES = 65_536;
const TOO_LATE = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
const NOTHING = Buffer.alloc(0);

/** `sending`: the client has not read the response yet. `over`: nothing more is read or answered. */
type State = "new" | "calling" | "sending" | "idle" | "over";

export class RawConnection {
  readonly #socket: Socket;
  readonly #context: RawReaderContext;
  #state: State = "new";
  /** Bytes of the request under way. */
  #current: Buffer = NOTHING;
  /** Bytes that came after it. */
  #queued: Buffer = NOTHING;
  #cancel: (() => void) | null = null;

  constructor(socket: Socket, context: RawReaderContext) {
    this.#socket = socket;
    this.#context = context;
    context.open.add(this);
    socket.on("data", this.#onData);
    socket.on("drain", this.#onDrain);
    socket.on("end", this.#onEnd);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", ignore);
    socket.on("close", this.#onClose);
    socket.setTimeout(context.firstMs);
  }

  /** A new connection is not idle, for node:http either: its first request may be on the way. */
  closeIdle(): void {
    if (this.#state === "idle") this.close();
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#state === "new" || this.#state === "idle") return this.#begin(bytes);
    if (this.#state === "over") return;
    this.#queued = this.#queued.length === 0 ? bytes : Buffer.concat([this.#queued, bytes]);
    if (this.#queued.length > MAX_QUEUED_BYTES) this.#socket.pause();
  };

  #begin(bytes: Buffer): void {
    this.#current = bytes;
    const request = parsePlainRequest(bytes);
    if (request === null) return this.#handOver();
    // Set once: the socket restarts the timeout with every byte.
    if (this.#state === "new") this.#socket.setTimeout(this.#context.idleMs);
    this.#state = "calling";
    this.#context.serve(request, this.#socket, this.#whenGone).then(this.#onServed, this.#onFailed);
  }

  /** A client that closes the connection before the response cancels the call. */
  readonly #whenGone = (cancel: () => void): void => {
    if (this.#socket.destroyed) cancel();
    else this.#cancel = cancel;
  };

  readonly #onServed = (reply: RawReply | null): void => {
    this.#cancel = null;
    if (this.#state === "over") return;
    if (reply === null) return this.#handOver();
    this.#context.count("answered");
    const isLast = this.#context.isStopping;
    const isTaken = this.#socket.write(this.#context.serialize(reply, isLast), reply.encoding);
    this.#current = NOTHING;
    if (isLast) return this.#end();
    // Nothing more is read from a client that does not read its response.
    this.#state = isTaken ? "idle" : "sending";
    if (isTaken) this.#next();
  };

  readonly #onFailed = (): void => this.close();

  readonly #onDrain = (): void => {
    if (this.#state !== "sending") return;
    this.#state = "idle";
    this.#next();
  };

  #next(): void {
    const queued = this.#queued;
    if (queued.length === 0) return;
    this.#queued = NOTHING;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#begin(queued);
  }

  /** As in node:http: a client that closes its side does not want the response. */
  readonly #onEnd = (): void => this.#end();

  #end(): void {
    this.#state = "over";
    this.#socket.destroySoon();
  }

  readonly #onTimeout = (): void => {
    // How long a response takes is not limited here.
    if (this.#state === "calling") return;
    if (this.#state !== "new") return this.close();
    this.#socket.write(TOO_LATE);
    this.#end();
  };

  readonly #onClose = (): void => {
    this.#state = "over";
    this.#context.open.delete(this);
    this.#cancel?.();
  };

  #handOver(): void {
    const socket = this.#socket;
    this.#state = "over";
    this.#context.open.delete(this);
    this.#context.count("handed_over");
    socket.off("data", this.#onData);
    socket.off("drain", this.#onDrain);
    socket.off("end", this.#onEnd);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", ignore);
    socket.off("close", this.#onClose);
    socket.setTimeout(0);
    // Without a listener the bytes are buffered, and read again before any others once the socket resumes.
    socket.pause();
    socket.unshift(
      this.#queued.length === 0 ? this.#current : Buffer.concat([this.#current, this.#queued]),
    );
    this.#context.toHttp(socket);
    socket.resume();
  }
}

/** An error is followed by `close`, which is handled. */
const ignore = (): void => undefined;
