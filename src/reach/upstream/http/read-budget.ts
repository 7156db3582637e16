// Limits the work that a server's streams cause: messages beyond a rate are dropped unread, and reading pauses, so
// that a server takes a small share of our time however fast it writes.
import type { Json } from "../../../contract/call.ts";
import { parseStrict } from "../../../util/json/json.ts";
import { createTokenBucket } from "../messages/token-bucket.ts";
import { isObject } from "../connection/faults.ts";
import { isNotification, UNSOLICITED_LIMIT } from "../messages/unsolicited.ts";

/** Of one connection: its streams share the time. */
export interface ReadBudget {
  /** cost: what handing one message on takes, in units of work. */
  stream(cost?: number): BudgetedStream;
}

export interface BudgetedStream {
  /** What an event says, read strictly; undefined: it was dropped. */
  read(data: Buffer): Json | undefined;
  /** After a piece, or several, with so many lines: for how many milliseconds nothing more should be read. */
  pauseMs(lines: number, pieces?: number): number;
  /** Nothing more comes. */
  end(): void;
}

/** What has come of a body or a line is kept in so many pieces; a server may send single bytes. */
export const MAX_PIECES = 512;
/** One unit of work is one message, about 0.01 ms: a burst delays others only briefly. */
const [BURST_UNITS, UNITS_PER_SECOND] = [1_024, 4_096];
const [PER_UNREAD, PER_PIECE, PER_LINE, PER_BYTE] = [1 / 8, 1 / 8, 1 / 16, 1 / 4_096];
/** Resting costs too: what waits is copied. */
const TURN_UNITS = 64;

export function createReadBudget(log: (line: string) => void, now: () => number): ReadBudget {
  const work = createTokenBucket(BURST_UNITS, UNITS_PER_SECOND, now);
  let isLogged = false;
  return {
    stream(cost = 1) {
      const unsolicited = createTokenBucket(
        UNSOLICITED_LIMIT.burst,
        UNSOLICITED_LIMIT.perSecond,
        now,
      );
      let dropped = 0;
      let spent = 0;
      let hasAnswer = false;
      const drop = (): undefined => {
        dropped++;
        if (!isLogged)
          log(
            `[ostiary] it sends more than ${UNSOLICITED_LIMIT.perSecond} messages a second that nobody asked for; the rest is dropped`,
          );
        isLogged = true;
      };
      return {
        read(data) {
          if (unsolicited.isEmpty && isNotification(data)) {
            spent += PER_UNREAD + data.length * PER_BYTE;
            return drop();
          }
          const message = parseStrict(data);
          // One answer is what was asked for.
          if (!isResponse(message) || hasAnswer) spent += cost + data.length * PER_BYTE;
          if (!isResponse(message)) return unsolicited.take() ? message : drop();
          hasAnswer = true;
          return message;
        },
        pauseMs(lines, pieces = 1) {
          spent += pieces * PER_PIECE + lines * PER_LINE;
          if (spent < TURN_UNITS) return 0;
          const turn = spent;
          spent = 0;
          return work.spend(turn);
        },
        end() {
          if (dropped > 0) log(`[ostiary] ${dropped} messages were dropped`);
          dropped = 0;
        },
      };
    },
  };
}

const isResponse = (message: Json): boolean =>
  !isObject(message) || typeof message["method"] !== "string";
