// One connection in the lane: a plain request is answered on the bare socket, one after the other. With the first that is
// not plain the connection goes to node:http, with every byte that has not been answered, and does not come back.
import type { Socket } from "node:net";
import { plainRequest, type PlainRequest } from "./request.ts";

export interface LanePowers {
  /** Null: node:http has to answer it. Never runs a call that node:http would run again. */
  serve(
    request: PlainRequest,
    socket: Socket,
    whenGone: (cancel: () => void) => void,
  ): Promise<LaneReply | null>;
  counted(end: "answered" | "handed_over"): void;
}

export interface LaneReply {
  readonly status: number;
  /** Name and value in turn. */
  readonly headers: readonly string[];
  readonly text: string;
  readonly encoding: "latin1" | "utf8";
}

export interface LaneLimits {
  /** From connecting to the first byte. */
  readonly firstMs: number;
  /** Between an answer and the next request. */
  readonly idleMs: number;
}

/** What the connections of a lane have in common. */
export interface Crossing extends LanePowers, LaneLimits {
  readonly open: Set<Connection>;
  /** No request is taken after the ones under way. */
  readonly isStopping: boolean;
  wire(reply: LaneReply, isLast: boolean): string;
  toHttp(socket: Socket): void;
}

const MAX_KEPT_BYTES = 65_536;
const TOO_LATE = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
const NOTHING = Buffer.alloc(0);

/** `sending`: the client has not taken the answer yet. `over`: nothing more is read or answered. */
type State = "new" | "calling" | "sending" | "idle" | "over";

export class Connection {
  readonly #socket: Socket;
  readonly #lane: Crossing;
  #state: State = "new";
  /** The request under way. */
  #asked: Buffer = NOTHING;
  /** What came behind it. */
  #kept: Buffer = NOTHING;
  #cancel: (() => void) | null = null;

  constructor(socket: Socket, lane: Crossing) {
    this.#socket = socket;
    this.#lane = lane;
    lane.open.add(this);
    socket.on("data", this.#onData);
    socket.on("drain", this.#onDrain);
    socket.on("end", this.#onEnd);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", ignore);
    socket.on("close", this.#onClose);
    socket.setTimeout(lane.firstMs);
  }

  /** One that has said nothing yet may be about to: it is not idle for node:http either. */
  closeIdle(): void {
    if (this.#state === "idle") this.close();
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#state === "new" || this.#state === "idle") return this.#begin(bytes);
    if (this.#state === "over") return;
    this.#kept = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    if (this.#kept.length > MAX_KEPT_BYTES) this.#socket.pause();
  };

  #begin(bytes: Buffer): void {
    this.#asked = bytes;
    const request = plainRequest(bytes);
    if (request === null) return this.#handOver();
    // Set once: each byte that comes or goes begins it anew.
    if (this.#state === "new") this.#socket.setTimeout(this.#lane.idleMs);
    this.#state = "calling";
    this.#lane.serve(request, this.#socket, this.#whenGone).then(this.#onServed, this.#onFailed);
  }

  /** A client that closes the connection before the answer cancels the call. */
  readonly #whenGone = (cancel: () => void): void => {
    if (this.#socket.destroyed) cancel();
    else this.#cancel = cancel;
  };

  readonly #onServed = (reply: LaneReply | null): void => {
    this.#cancel = null;
    if (this.#state === "over") return;
    if (reply === null) return this.#handOver();
    this.#lane.counted("answered");
    const isLast = this.#lane.isStopping;
    const isTaken = this.#socket.write(this.#lane.wire(reply, isLast), reply.encoding);
    this.#asked = NOTHING;
    if (isLast) return this.#end();
    // A client that does not read is not read either.
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
    const kept = this.#kept;
    if (kept.length === 0) return;
    this.#kept = NOTHING;
    if (this.#socket.isPaused()) this.#socket.resume();
    this.#begin(kept);
  }

  /** As node:http has it: whoever closes their side does not want the answer. */
  readonly #onEnd = (): void => this.#end();

  #end(): void {
    this.#state = "over";
    this.#socket.destroySoon();
  }

  readonly #onTimeout = (): void => {
    // How long an answer takes is another matter.
    if (this.#state === "calling") return;
    if (this.#state !== "new") return this.close();
    this.#socket.write(TOO_LATE);
    this.#end();
  };

  readonly #onClose = (): void => {
    this.#state = "over";
    this.#lane.open.delete(this);
    this.#cancel?.();
  };

  #handOver(): void {
    const socket = this.#socket;
    this.#state = "over";
    this.#lane.open.delete(this);
    this.#lane.counted("handed_over");
    socket.off("data", this.#onData);
    socket.off("drain", this.#onDrain);
    socket.off("end", this.#onEnd);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", ignore);
    socket.off("close", this.#onClose);
    socket.setTimeout(0);
    // Given back while nobody listens, the bytes come out again, before any others, when the socket flows.
    socket.pause();
    socket.unshift(
      this.#kept.length === 0 ? this.#asked : Buffer.concat([this.#asked, this.#kept]),
    );
    this.#lane.toHttp(socket);
    socket.resume();
  }
}

/** A socket with an error is closed, which is heard. */
const ignore = (): void => undefined;
