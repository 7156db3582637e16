// A turn as people see it: the answer as it comes to stdout, one line for each tool call to stderr.
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import type { Execution } from "../client/follow.ts";
import { inCliWords } from "../client/remedies.ts";
import { milliseconds } from "../output/render.ts";
import { plainText } from "../output/plain.ts";
import type { CallResult, Turn, TurnListener } from "./turn.ts";

export interface Screen extends Omit<TurnListener, "onBegin"> {
  /** A line for people, below what is written so far. */
  line(text: string): void;
  /** What of the answer was not shown yet, or why there is none. */
  end(turn: Turn): void;
}

export interface ScreenOptions {
  /** False: the answer is shown when it is whole. */
  readonly streams: boolean;
  /** Nothing at all, for `--json`. */
  readonly silent: boolean;
}

export function openScreen(cli: Cli, api: Api, { streams, silent }: ScreenOptions): Screen {
  const { dim, red } = cli.term.err;
  /** The stream whose last line is not ended. */
  let open: NodeJS.WriteStream | null = null;
  let openCall: string | null = null;
  /** What was shown since the last call. */
  let shown = "";

  const write = (stream: NodeJS.WriteStream, text: string): void => {
    if (silent || text === "" || (stream === cli.stderr && cli.flags.quiet)) return;
    stream.write(text);
    open = text.endsWith("\n") ? null : stream;
  };
  const fresh = (): void => {
    if (open) write(open, "\n");
    openCall = null;
  };
  const line = (text: string): void => {
    fresh();
    write(cli.stderr, `${text}\n`);
  };
  const say = (text: string): void => {
    if (open === cli.stderr) fresh();
    write(cli.stdout, plainText(text));
  };

  return {
    line,
    onText(text) {
      if (!streams) return;
      shown += text;
      say(text);
    },
    onCall({ callId, tool }) {
      fresh();
      shown = "";
      write(cli.stderr, dim(`· ${plainText(tool)} …`));
      openCall = callId;
    },
    async onResult(result) {
      const took = silent ? "" : await tookOf(api, result);
      const isSuccess = result.status === "success";
      const why = result.reason === undefined ? "" : ` (${plainText(result.reason)})`;
      const id = isSuccess || result.executionId === null ? "" : `   ${result.executionId}`;
      const end = `${isSuccess ? dim(result.status) : red(result.status)}${dim(why + took + id)}\n`;
      if (openCall !== result.callId) {
        fresh();
        write(cli.stderr, dim(`· ${plainText(result.tool)} …`));
      }
      write(cli.stderr, ` ${end}`);
      openCall = null;
    },
    onWaiting({ callId, approvalId, executionId, url = "" }) {
      if (approvalId === undefined) return line(dim(`· waiting for ${executionId ?? callId}`));
      line(`⏸ waiting for approval ${approvalId}: ${url}`);
    },
    end(turn) {
      const { status, reply, error } = turn;
      if (reply !== "" && !shown.endsWith(reply)) {
        if (!reply.startsWith(shown)) fresh();
        say(reply.startsWith(shown) ? reply.slice(shown.length) : reply);
      }
      fresh();
      if (!error || silent) return;
      const remedy = inCliWords(error.remedy);
      const hint = remedy === undefined ? "" : `; ${remedy}`;
      const text = `${error.code} / ${error.reason}: ${error.message}${hint}`;
      cli.term.warn(`✗ ${red(status)}  ${plainText(text)}`);
    },
  };
}

/** How long the execution took by its record; nothing where that cannot be read. */
async function tookOf(api: Api, { executionId }: CallResult): Promise<string> {
  if (executionId === null) return "";
  try {
    const path = `executions/${encodeURIComponent(executionId)}`;
    const { execution } = await api.get<{ execution: Execution }>(path);
    const { executionTime } = execution;
    return executionTime === undefined ? "" : ` ${milliseconds(executionTime)}`;
  } catch {
    return "";
  }
}
