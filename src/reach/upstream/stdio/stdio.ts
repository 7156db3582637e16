// A server that is a program: messages as lines over its stdin and stdout. Whatever it prints, and if it floods,
// hangs or dies, only its own callers are affected.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import { createTokenBucket } from "../messages/token-bucket.ts";
import { createLines, type MessageLine, type MessageLines } from "./lines.ts";
import { idIn, readMessage, type RequestId } from "./messages.ts";
import { startProgram, type ServerProgram, type StdioPowers } from "./process.ts";
import { watchStderr, type StderrLog } from "./stderr.ts";
import { isNotification, UNSOLICITED_LIMIT } from "../messages/unsolicited.ts";
import { UpstreamFault, type ConnectionEvents, type Credential } from "../upstream.ts";
import type { ServerRow } from "../../../storage/store/store.ts";

export interface StdioTransport extends Transport {
  /** Why it ended; set before `onclose` is called. */
  readonly endReason: string | null;
  /** True once the program has ended by itself. */
  readonly hasEnded: boolean;
  /** The most telling of its last lines on stderr; empty: there is none. */
  readonly lastWords: string;
  /** Called when an answer cannot be used, before the JSON-RPC error that stands in for it. */
  onfault?: ((id: RequestId, fault: UpstreamFault) => void) | undefined;
}

/** Besides the result itself: names, id, meta. */
const SLACK_BYTES = 65_536;
/** Written and not yet read by the program. */
const MAX_UNREAD_BYTES = 16_777_216;
/** After so many messages, or bytes, other work gets a turn. */
const TURN_MESSAGES = 64;
const TURN_BYTES = 262_144;
/** What a dropped message counts. */
const UNREAD_SHARE = 1 / 8;
/** How long reading pauses for a program that floods, and within a line that is too long. */
const REST_MS = 20;
const SKIPPING_REST_MS = 5;
/** Lines in a row that are no messages. */
const MAX_NOISE = 200;
/** Requests that may be without an answer; the oldest is forgotten first. */
const MAX_OPEN = 10_000;
/** How long a program may take to end after its stdin was closed. */
const GRACE_MS = 1_500;
const UNUSABLE = -32_603;

export async function openStdio(
  row: ServerRow,
  credential: Credential,
  events: ConnectionEvents,
  powers: StdioPowers,
): Promise<StdioTransport> {
  const { transport: settings } = row;
  if (settings.kind !== "stdio")
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `server ${row.name}: expected one that is a program, got ${settings.kind}`,
      { remedy: "use its address" },
    );
  const program = await startProgram(row, settings, credential, powers);
  const secrets = secretsIn(settings.env, await credential.env());
  return createTransport(program, {
    log: watchStderr(
      program.stderr,
      secrets,
      (line) => events.logged(line),
      () => performance.now(),
    ),
    maxBytes: row.settings.maxResultBytes + SLACK_BYTES,
  });
}

/** Values that came from a reference. */
function secretsIn(
  given: Readonly<Record<string, string>>,
  filled: Readonly<Record<string, string>>,
): string[] {
  return Object.entries(filled)
    .filter(([name, value]) => given[name] !== value)
    .map(([, value]) => value);
}

export const createTransport = (
  program: ServerProgram,
  options: { readonly log: StderrLog; readonly maxBytes: number },
): StdioTransport => new ProgramTransport(program, options.log, options.maxBytes);

class ProgramTransport implements StdioTransport {
  onmessage?: StdioTransport["onmessage"];
  onerror?: StdioTransport["onerror"];
  onclose?: StdioTransport["onclose"];
  onfault?: StdioTransport["onfault"];
  readonly #program: ServerProgram;
  readonly #log: StderrLog;
  readonly #maxBytes: number;
  readonly #lines: MessageLines;
  readonly #unsolicited = createTokenBucket(
    UNSOLICITED_LIMIT.burst,
    UNSOLICITED_LIMIT.perSecond,
    () => performance.now(),
  );
  /** Requests without an answer. */
  readonly #open = new Set<RequestId>();
  #endReason: string | null = null;
  /** Why the program was stopped. */
  #fault: string | null = null;
  #noise = 0;
  #dropped = 0;
  /** Messages read in this turn, and what counts as such. */
  #spent = 0;
  #isPaused = false;
  #isFlooding = false;
  #isClosing = false;
  #isOver = false;

  constructor(program: ServerProgram, log: StderrLog, maxBytes: number) {
    this.#program = program;
    this.#log = log;
    this.#maxBytes = maxBytes;
    this.#lines = createLines(maxBytes);
  }

  get endReason(): string | null {
    return this.#endReason;
  }

  get hasEnded(): boolean {
    return this.#isOver && !this.#isClosing;
  }

  get lastWords(): string {
    return this.#log.lastLine.slice(0, 300);
  }

  start(): Promise<void> {
    this.#program.stdout.on("data", (chunk: Buffer) => {
      this.#spent += (TURN_MESSAGES * chunk.length) / TURN_BYTES;
      this.#lines.feed(chunk);
      this.#read();
    });
    this.#program.ended.then(
      (reason) => this.#end(reason),
      () => this.#end("it failed"),
    );
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#program;
    if (this.#isOver || !stdin.writable)
      throw new UpstreamFault("closed", this.#endReason ?? "the program has ended", {
        dispatched: false,
      });
    if (stdin.writableLength > MAX_UNREAD_BYTES)
      throw new UpstreamFault("unreachable", "the program does not read what it is sent", {
        dispatched: false,
      });
    this.#remember(message);
    stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isClosing = true;
    this.#program.stdin.end();
    const timer = setTimeout(() => this.#program.kill(), GRACE_MS);
    this.#end(await this.#program.ended.finally(() => clearTimeout(timer)));
  }

  #remember(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const open = this.#open;
    if ("id" in message) {
      open.add(message.id);
      const [oldest] = open.size > MAX_OPEN ? open : [];
      if (oldest !== undefined) open.delete(oldest);
    } else if (message.method === "notifications/cancelled") {
      open.delete((message.params as { requestId: RequestId }).requestId);
    }
  }

  /** Takes whole lines until its share of this turn is used up; then other work comes first. */
  #read(): void {
    const { stdout } = this.#program;
    while (this.#spent < TURN_MESSAGES || this.#fault !== null) {
      const line = this.#lines.next();
      if (line === null) {
        if (this.#isPaused) stdout.resume();
        this.#isPaused = false;
        return;
      }
      if (this.#fault !== null) continue;
      this.#spent++;
      this.#take(line);
    }
    if (!this.#isPaused) stdout.pause();
    this.#isPaused = true;
    const goOn = (): void => {
      this.#spent = 0;
      if (!this.#isOver) this.#read();
    };
    const pauseMs = this.#isFlooding ? REST_MS : this.#lines.isSkipping ? SKIPPING_REST_MS : 0;
    if (pauseMs > 0) setTimeout(goOn, pauseMs).unref();
    else setImmediate(goOn);
    this.#isFlooding = false;
  }

  #take(line: MessageLine): void {
    if (line.kind === "oversize")
      return this.#unusable(
        idIn(line.head, line.tail),
        new UpstreamFault(
          "too_large",
          `the server's answer has ${line.length} bytes, more than the ${this.#maxBytes} that are allowed`,
          { dispatched: true },
        ),
      );
    if (line.bytes.length === 0) return;
    // It would be dropped anyway, so it is not parsed.
    if (this.#unsolicited.isEmpty && isNotification(line.bytes)) {
      this.#spent -= 1 - UNREAD_SHARE;
      return this.#drop();
    }
    const found = readMessage(line.bytes);
    if (found.kind === "noise") return this.#skip(line.bytes);
    this.#noise = 0;
    if (found.kind === "fault")
      return this.#unusable(
        found.id,
        new UpstreamFault("protocol", `the server's answer is not valid: ${found.why}`, {
          dispatched: true,
        }),
      );
    const isExpected = found.answers !== null && this.#open.delete(found.answers);
    if (!isExpected && !this.#unsolicited.take()) return this.#drop();
    this.onmessage?.(found.message);
  }

  #drop(): void {
    this.#isFlooding = true;
    if (this.#dropped++ === 0)
      this.#log.note(
        `it sends more than ${UNSOLICITED_LIMIT.perSecond} messages a second that nobody asked for; the rest is dropped`,
      );
  }

  #skip(bytes: Buffer): void {
    if (this.#unsolicited.take())
      this.#log.note(`no message, skipped: ${bytes.toString("utf8", 0, 500)}`);
    else this.#drop();
    if (++this.#noise > MAX_NOISE)
      this.#stop(`it printed ${this.#noise} lines in a row that are no messages`);
  }

  #unusable(id: RequestId | null, why: UpstreamFault): void {
    this.#log.note(why.message);
    if (id === null) return this.#stop(why.message);
    // The request was given up.
    if (!this.#open.delete(id)) return;
    this.onfault?.(id, why);
    this.onmessage?.({ jsonrpc: "2.0", id, error: { code: UNUSABLE, message: why.message } });
  }

  #stop(why: string): void {
    this.#fault ??= why;
    this.onerror?.(new UpstreamFault("protocol", why, { dispatched: true }));
    this.#program.kill();
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    // What it wrote before it ended still counts.
    for (
      let line = this.#lines.next();
      line !== null && this.#fault === null;
      line = this.#lines.next()
    )
      this.#take(line);
    this.#isOver = true;
    if (this.#dropped > 0) this.#log.note(`${this.#dropped} messages were dropped`);
    const { lastWords } = this;
    const full =
      lastWords === "" || reason === "it was stopped"
        ? reason
        : `${reason}; its last words: ${lastWords}`;
    this.#endReason = this.#fault ?? (this.#isClosing ? "the connection was closed" : full);
    if (!this.#isClosing) this.#log.note(this.#endReason);
    this.onclose?.();
  }
}
