// A server that is a program: messages as lines over its stdin and stdout. It may print what it likes, flood, hang or die;
// that costs its own callers their answers, and nobody else anything.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { AppError } from "../../../contract/errors.ts";
import { createTokenBucket } from "../messages/token-bucket.ts";
import { createLines, type Line } from "./lines.ts";
import { idIn, readMessage, type RequestId } from "./messages.ts";
import { startProgram, type Program, type StdioPowers } from "./process.ts";
import { watchStderr, type StderrLog } from "./stderr.ts";
import { isNotification, UNSOLICITED_LIMIT } from "../messages/unsolicited.ts";
import { UpstreamFault, type ConnectionEvents, type Credential } from "../upstream.ts";
import type { ServerRow } from "../../../storage/store/store.ts";

export interface StdioTransport extends Transport {
  /** Why it ended, in words; set before `onclose` is called. */
  readonly endReason: string | null;
  /** True once the program has ended by itself. */
  readonly hasEnded: boolean;
  /** What the program said last that tells something; empty: nothing. */
  readonly lastWords: string;
  /** An answer that came and cannot be used, told before the JSON-RPC error that stands in its place. */
  onfault?: ((id: RequestId, fault: UpstreamFault) => void) | undefined;
}

/** Besides the result itself: names, id, meta. */
const SLACK_BYTES = 65_536;
/** Written and not yet read by the program. */
const MAX_UNREAD_BYTES = 16_777_216;
/** After so many messages, or bytes, others get their turn. */
const TURN_MESSAGES = 64;
const TURN_BYTES = 262_144;
/** What dropping one costs that was not read. */
const UNREAD_SHARE = 1 / 8;
/** How long a program is left alone that floods, and one in the middle of a line that is too long. */
const REST_MS = 20;
const SKIPPING_REST_MS = 5;
/** In a row, without one message between them. */
const MAX_NOISE = 200;
/** Requests that may be without an answer; the oldest is forgotten first. */
const MAX_OPEN = 10_000;
/** For a program to end by itself once its input has. */
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
    said: watchStderr(
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

export function createTransport(
  program: Program,
  { said, maxBytes }: { readonly said: StderrLog; readonly maxBytes: number },
): StdioTransport {
  const { stdin, stdout } = program;
  const lines = createLines(maxBytes);
  const unasked = createTokenBucket(UNSOLICITED_LIMIT.burst, UNSOLICITED_LIMIT.perSecond, () =>
    performance.now(),
  );
  const open = new Set<RequestId>();
  let endReason: string | null = null;
  let fault: string | null = null;
  let noise = 0;
  let dropped = 0;
  let spent = 0;
  let isResting = false;
  let isFlooding = false;
  let isClosing = false;
  let isOver = false;

  const transport: StdioTransport = {
    start() {
      stdout.on("data", (chunk: Buffer) => {
        spent += (TURN_MESSAGES * chunk.length) / TURN_BYTES;
        lines.feed(chunk);
        read();
      });
      program.ended.then(end, () => end("it failed"));
      return Promise.resolve();
    },
    async send(message) {
      if (isOver || !stdin.writable)
        throw new UpstreamFault("closed", endReason ?? "the program has ended", {
          dispatched: false,
        });
      if (stdin.writableLength > MAX_UNREAD_BYTES)
        throw new UpstreamFault("unreachable", "the program does not read what it is sent", {
          dispatched: false,
        });
      remember(message);
      stdin.write(`${JSON.stringify(message)}\n`);
      return Promise.resolve();
    },
    async close() {
      if (isOver) return;
      isClosing = true;
      stdin.end();
      const timer = setTimeout(() => program.kill(), GRACE_MS);
      end(await program.ended.finally(() => clearTimeout(timer)));
    },
    get endReason() {
      return endReason;
    },
    get hasEnded() {
      return isOver && !isClosing;
    },
    get lastWords() {
      return lastWords();
    },
  };
  return transport;

  function remember(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) {
      open.add(message.id);
      const [oldest] = open.size > MAX_OPEN ? open : [];
      if (oldest !== undefined) open.delete(oldest);
    } else if (message.method === "notifications/cancelled") {
      open.delete((message.params as { requestId: RequestId }).requestId);
    }
  }

  /** Takes whole lines until the turn is over; then somebody else's work comes first. */
  function read(): void {
    while (spent < TURN_MESSAGES || fault !== null) {
      const line = lines.next();
      if (line === null) {
        if (isResting) stdout.resume();
        isResting = false;
        return;
      }
      if (fault !== null) continue;
      spent++;
      take(line);
    }
    if (!isResting) stdout.pause();
    isResting = true;
    const goOn = (): void => {
      spent = 0;
      if (!isOver) read();
    };
    const rest = isFlooding ? REST_MS : lines.isSkipping ? SKIPPING_REST_MS : 0;
    if (rest > 0) setTimeout(goOn, rest).unref();
    else setImmediate(goOn);
    isFlooding = false;
  }

  function take(line: Line): void {
    if (line.kind === "oversize")
      return unusable(
        idIn(line.head, line.tail),
        new UpstreamFault(
          "too_large",
          `the server's answer has ${line.length} bytes, more than the ${maxBytes} that are allowed`,
          { dispatched: true },
        ),
      );
    if (line.bytes.length === 0) return;
    // Not worth reading: whatever it says would be dropped.
    if (unasked.isEmpty && isNotification(line.bytes)) {
      spent -= 1 - UNREAD_SHARE;
      return drop();
    }
    const found = readMessage(line.bytes);
    if (found.kind === "noise") return skip(line.bytes);
    noise = 0;
    if (found.kind === "fault")
      return unusable(
        found.id,
        new UpstreamFault("protocol", `the server's answer is not valid: ${found.why}`, {
          dispatched: true,
        }),
      );
    if ((found.answers === null || !open.delete(found.answers)) && !unasked.take()) return drop();
    transport.onmessage?.(found.message);
  }

  function drop(): void {
    isFlooding = true;
    if (dropped++ === 0)
      said.note(
        `it sends more than ${UNSOLICITED_LIMIT.perSecond} messages a second that nobody asked for; the rest is dropped`,
      );
  }

  function skip(bytes: Buffer): void {
    if (unasked.take()) said.note(`no message, skipped: ${bytes.toString("utf8", 0, 500)}`);
    else drop();
    if (++noise > MAX_NOISE) stop(`it printed ${noise} lines in a row that are no messages`);
  }

  function unusable(id: RequestId | null, why: UpstreamFault): void {
    said.note(why.message);
    if (id === null) return stop(why.message);
    // Of a request that was given up.
    if (!open.delete(id)) return;
    transport.onfault?.(id, why);
    transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: UNUSABLE, message: why.message } });
  }

  function lastWords(): string {
    return said.lastLine.slice(0, 300);
  }

  function stop(why: string): void {
    fault ??= why;
    transport.onerror?.(new UpstreamFault("protocol", why, { dispatched: true }));
    program.kill();
  }

  function end(reason: string): void {
    if (isOver) return;
    // What it said before it ended still counts.
    for (let line = lines.next(); line !== null && fault === null; line = lines.next()) take(line);
    isOver = true;
    if (dropped > 0) said.note(`${dropped} messages were dropped`);
    const words =
      lastWords() === "" || reason === "it was stopped"
        ? reason
        : `${reason}; its last words: ${lastWords()}`;
    endReason = fault ?? (isClosing ? "the connection was closed" : words);
    if (!isClosing) said.note(endReason);
    transport.onclose?.();
  }
}
