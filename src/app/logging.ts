// The server's log on stderr, and the masker that every line passes.
import { hkdfSync } from "node:crypto";
import { isatty } from "node:tty";
import { pino, type Logger } from "pino";
import { createLogRing, type LogRing } from "../core/run/powers/host/logs.ts";
import type { CallLogPowers } from "../telemetry/call-log.ts";
import { lineBatch } from "../telemetry/line-batch.ts";
import { createMasker, type Masker } from "../util/secrets/masker.ts";
import type { Base } from "./base.ts";
import { secretsOf } from "./known-secrets.ts";
import { readableLine } from "./log-lines.ts";
import { maskThreads } from "./mask-threads.ts";

export interface Logging {
  readonly masker: Masker;
  readonly log: Logger;
  /** The newest lines, for tools that read the server's log. */
  readonly logRing: LogRing;
  /** Lines about calls. They name other people's calls, so no tool reads them back. */
  readonly callLog: CallLogPowers;
  /** The one place for work nobody waits for: a failure is logged. */
  readonly background: (work: Promise<unknown>) => void;
  close(): Promise<void>;
}

/** Characters of call lines that may wait for a slow reader of stderr. */
const MAX_UNREAD = 4_194_304;

/** Opens nothing by itself: threads and files are opened with the first line that needs them. */
export function createLogging({
  config,
  serverSecret,
  now,
}: Pick<Base, "config" | "serverSecret" | "now">): Logging {
  const maskKey = Buffer.from(
    hkdfSync("sha256", serverSecret, "", "ostiary record: masked values, v1", 32),
  );
  const knownSecrets = [serverSecret, ...secretsOf(config)];
  const longTexts = maskThreads(maskKey, knownSecrets);
  const masker = createMasker({ key: maskKey, known: knownSecrets, longTexts });
  const logRing = createLogRing();
  const stderr = pino.destination({ fd: 2, sync: true });
  const onTerminal = isatty(2);
  const formatted = (line: string): string => (onTerminal ? readableLine(line) : line);
  const loggerTo = (write: (line: string) => void): Logger =>
    pino({ level: config.log.level, base: { app: "ostiary" } }, { write });
  const log = loggerTo((given) => {
    const line = masker.line(given);
    logRing.add(line);
    stderr.write(formatted(line));
  });
  const callLines = lineBatch(
    () => pino.destination({ fd: 2, sync: false, maxLength: MAX_UNREAD }),
    now,
  );
  return {
    masker,
    log,
    logRing,
    callLog: {
      log: loggerTo((line) => void stderr.write(formatted(masker.line(line)))),
      line: (line) => callLines.add(formatted(line)),
      masked: masker.beginning,
      now,
    },
    background(work) {
      work.catch((cause: unknown) => log.error({ err: cause }, "background work failed"));
    },
    async close() {
      callLines.close();
      await longTexts.close();
    },
  };
}
