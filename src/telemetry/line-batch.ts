// Lines that come with every call: written together some times a second, and later where the reader is slow. No call
// ever waits for the reader of the log.

/** A stream that writes in the background, as pino's destinations do. */
export interface BackgroundStream {
  /** Emits "drop" at once when its buffer is full. */
  write(text: string): unknown;
  flushSync(): void;
  on(event: "drop", listener: () => void): unknown;
}

export interface LineBatch {
  /** A whole line, with its end. */
  add(line: string): void;
  /** Writes the waiting lines. */
  close(): void;
}

/** A write costs more than the lines in it. */
const EVERY_MS = 50;
const MOST_CHARACTERS = 65_536;

/** The stream is opened with the first line. */
export function lineBatch(open: () => BackgroundStream, now: () => number): LineBatch {
  let stream: BackgroundStream | null = null;
  let text = "";
  let count = 0;
  /** Lines that were dropped; reported as soon as there is room again. */
  let lost = 0;
  let isDropped = false;
  let timer: NodeJS.Timeout | null = null;

  const pass = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (count === 0) return;
    if (stream === null) {
      stream = open();
      stream.on("drop", () => (isDropped = true));
    }
    isDropped = false;
    stream.write(lost === 0 ? text : lostLine(lost, now()) + text);
    lost = isDropped ? lost + count : 0;
    text = "";
    count = 0;
  };

  return {
    add(line) {
      timer ??= setTimeout(pass, EVERY_MS).unref();
      text += line;
      count++;
      if (text.length > MOST_CHARACTERS) pass();
    },
    close() {
      pass();
      try {
        stream?.flushSync();
      } catch {
        // The reader of the log has gone: the loss cannot be reported.
      }
    },
  };
}

const lostLine = (lines: number, time: number): string =>
  `{"level":40,"time":${time},"app":"ostiary","lines":${lines},"msg":"tool_call_lines_lost"}\n`;
