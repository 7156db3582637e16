// One message from the command line: one turn, then the exit code of how it ended.
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { exitOf } from "../client/fail.ts";
import { questionLines, watchQuestions } from "./questions.ts";
import { openScreen, type Screen } from "./screen.ts";
import {
  followTurn,
  sendMessage,
  sessionPath,
  type CallResult,
  type SendBody,
  type Turn,
} from "./turn.ts";

export interface OnceOptions {
  readonly streams: boolean;
  /** False: leave where a person must agree first. */
  readonly waits: boolean;
}

/** A person has to agree, and nobody has yet: not a success, not a denial. */
const EXIT_PENDING = 4;

export async function chatOnce(
  cli: Cli,
  api: Api,
  body: SendBody,
  { streams, waits }: OnceOptions,
): Promise<void> {
  const silent = cli.flags.json === true;
  const screen = openScreen(cli, api, { streams, silent });
  const leave = new AbortController();
  const begun: { sessionId?: string; turnId?: string; asks?: true } = {};
  const signals = onSignals(leave, () => begun.sessionId, api, screen);
  let held: CallResult | null = null;
  try {
    const response = await sendMessage(api, body, {
      signal: leave.signal,
      onReopened: (id) => cli.term.note(`   session ${id} was idle for too long; it is open again`),
    });
    const turn = await followTurn(api, response, null, {
      ...screen,
      onBegin: (ids) => Object.assign(begun, ids),
      onCall(call) {
        screen.onCall(call);
        if (!begun.asks) showQuestions(api, leave.signal, screen);
        begun.asks = true;
      },
      async onWaiting(result) {
        await screen.onWaiting(result);
        if (waits || result.approvalId === undefined) return;
        held = result;
        leave.abort();
      },
    });
    screen.end(turn);
    report(cli, turn);
  } catch (cause) {
    if (!leave.signal.aborted) throw cause;
    await reportLeft(cli, api, begun, held);
  } finally {
    signals.end();
    leave.abort();
  }
}

/** The answer is given elsewhere: this program only prints that a person is asked. */
function showQuestions(api: Api, signal: AbortSignal, screen: Screen): void {
  watchQuestions(api, signal, (question) => {
    for (const text of questionLines(question)) screen.line(text);
    screen.line(`  answer: ostiary questions answer ${question.id} <text>`);
  }).catch(() => screen.line("! questions of tools cannot be shown here: ostiary questions list"));
}

function report(cli: Cli, turn: Turn): void {
  const { status, error, sessionId } = turn;
  cli.exitCode = status === "success" ? 0 : exitOf(error?.code, error?.reason);
  if (cli.flags.json) return cli.term.printJson(turn);
  const { dim } = cli.term.err;
  cli.term.note(
    dim(`   session ${sessionId}   continue: ostiary chat --session ${sessionId} <text>`),
  );
}

/** Left before the end: what is known, and where to see the rest. */
async function reportLeft(
  cli: Cli,
  api: Api,
  { sessionId, turnId }: { readonly sessionId?: string; readonly turnId?: string },
  held: CallResult | null,
): Promise<void> {
  cli.exitCode = held ? EXIT_PENDING : 1;
  if (sessionId === undefined || turnId === undefined) return;
  if (cli.flags.json)
    cli.term.printJson(await api.get<Turn>(`turns/${encodeURIComponent(turnId)}`));
  cli.term.warn(
    `   the turn continues; see it: ostiary sessions messages ${sessionId}, stop it: ostiary sessions stop ${sessionId}`,
  );
}

/** Ctrl-C stops the turn, a second one leaves; SIGTERM leaves at once. */
function onSignals(
  leave: AbortController,
  sessionId: () => string | undefined,
  api: Api,
  screen: Screen,
): { end(): void } {
  let isStopping = false;
  const interrupt = (): void => {
    const id = sessionId();
    if (isStopping || id === undefined) return leave.abort();
    isStopping = true;
    screen.line("   stopping the turn (Ctrl-C again leaves)");
    api.post(`${sessionPath(id)}/stop`, {}).catch(() => leave.abort());
  };
  const terminate = (): void => leave.abort();
  process.on("SIGINT", interrupt).once("SIGTERM", terminate);
  return {
    end: () =>
      void process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", terminate),
  };
}
