// The lines a program writes to stderr, for the log tail: cut, limited in number, and without its credentials.
import type { Readable } from "node:stream";
import { visible } from "../../../util/text/visible.ts";
import { createTokenBucket } from "../messages/token-bucket.ts";
import { createLines } from "./lines.ts";

export interface StderrLog {
  /** A line of our own. */
  note(text: string): void;
  /** The most telling of the last lines: an error message if there is one. Empty: nothing was written. */
  readonly lastLine: string;
}

const MAX_CHARACTERS = 2_000;
const MAX_LINE_BYTES = 8_192;
const [BURST, PER_SECOND] = [200, 20];
/** How long reading pauses when a program writes too much. */
const REST_MS = 20;
/** Searched for an error message, which a stack trace follows. */
const KEPT_LINES = 30;
const ERROR = /^(?:\w+\.)*\w*(?:Error|Exception)\b.*[:[]/;
const FOOTER = /^(?:Node\.js v\d|npm notice|\s*[}\])]|\s+at )/;
/** Shorter values are found in ordinary words. */
const LEAST_SECRET = 6;

export function watchStderr(
  stderr: Readable,
  secrets: readonly string[],
  log: (line: string) => void,
  now: () => number,
): StderrLog {
  const hidden = secrets
    .filter(({ length }) => length >= LEAST_SECRET)
    .sort((a, b) => b.length - a.length);
  const bucket = createTokenBucket(BURST, PER_SECOND, now);
  const lines = createLines(MAX_LINE_BYTES);
  let dropped = 0;
  let last: string[] = [];
  const cleaned = (text: string): string => {
    const masked = hidden.reduce((line, secret) => line.replaceAll(secret, "[masked]"), text);
    const shown = visible(masked.replaceAll("\t", " "));
    return shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS - 1)}…` : shown;
  };
  const take = (text: string): void => {
    if (text.trim() === "") return;
    if (!bucket.take()) {
      if (dropped++ === 0)
        log(`[ostiary] it says more than ${PER_SECOND} lines a second; the rest is left out`);
      return;
    }
    if (dropped > 1) log(`[ostiary] ${dropped} lines were left out`);
    dropped = 0;
    const line = cleaned(text);
    last = [...last.slice(1 - KEPT_LINES), line];
    log(line);
  };
  stderr.on("data", (chunk: Buffer) => {
    lines.feed(chunk);
    const before = dropped;
    for (let line = lines.next(); line !== null; line = lines.next())
      take(
        line.kind === "line"
          ? line.bytes.toString("utf8")
          : Buffer.from(line.head, "latin1").toString("utf8"),
      );
    if (dropped === before || dropped < 2) return;
    stderr.pause();
    setTimeout(() => stderr.resume(), REST_MS).unref();
  });
  return {
    note: (text) => log(`[ostiary] ${cleaned(text)}`),
    get lastLine() {
      const isError = (line: string): boolean => ERROR.test(line);
      return (last.findLast(isError) ?? last.findLast((line) => !FOOTER.test(line)) ?? "").trim();
    },
  };
}
