// Shows that a long call is still running, and since when: one line that changes on a terminal, few lines elsewhere.
import type { Cli } from "../cli.ts";
import { duration } from "./render.ts";

export interface Progress {
  /** Called whenever the call was seen to be under way; prints when it is time to. */
  show(status: string): void;
  /** Takes the line on the terminal back. */
  end(): void;
}

/** Nothing is printed for a short call. */
const FIRST_MS = 1_000;
const EVERY_MS = 1_000;
/** Where lines stay: after one second, two, four … and at least each minute. */
const LONGEST_PAUSE_MS = 60_000;

const ERASE_LINE = "\r\u001b[K";

export function openProgress(cli: Cli, id: string): Progress {
  const began = Date.now();
  const isLive = cli.term.interactive && !cli.flags.quiet && !cli.flags.json;
  let nextAt = began + FIRST_MS;
  let isShown = false;
  return {
    show(status) {
      const now = Date.now();
      if (now < nextAt) return;
      const text = `   ${status} for ${duration(now - began)}   ${id}   (Ctrl-C leaves it running)`;
      if (isLive) cli.stderr.write(`${ERASE_LINE}${text}`);
      else cli.term.note(text);
      isShown = true;
      nextAt = now + (isLive ? EVERY_MS : Math.min(now - began, LONGEST_PAUSE_MS));
    },
    end() {
      if (isLive && isShown) cli.stderr.write(ERASE_LINE);
    },
  };
}
