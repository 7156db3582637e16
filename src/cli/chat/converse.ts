// A conversation on the terminal: lines are messages or commands, answers are shown as they come.
import { createInterface, type Interface } from "node:readline";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { CliError } from "../client/fail.ts";
import { inCliWords } from "../client/remedies.ts";
import { plainText } from "../output/plain.ts";
import { short } from "../output/render.ts";
import { nothingYet, runCommand, type Talk } from "./commands.ts";
import {
  answerQuestion,
  answerTo,
  questionLines,
  watchQuestions,
  type Question,
} from "./questions.ts";
import { openScreen } from "./screen.ts";
import {
  followTurn,
  sendMessage,
  sessionPath,
  watchTurn,
  type Message,
  type SendBody,
  type Session,
  type Turn,
} from "./turn.ts";

const PROMPT = "> ";
/** Lines that come together were pasted, and are one message. */
const PASTE_MS = 20;
/** Commands that are for the server: it calls tools by hand, without a model. */
const SERVER_COMMANDS = /^\/(tools?|explain)\b/;
const MAX_HISTORY = 200;

/** The turn that runs. */
interface Running {
  readonly leave: AbortController;
  sessionId: string | null;
  readonly questions: Question[];
  isStopping: boolean;
  isWatching: boolean;
}

export async function converse(cli: Cli, api: Api, start: Partial<SendBody>): Promise<void> {
  const known = start.sessionId === undefined ? null : await resumed(api, start.sessionId);
  const rl = createInterface({
    input: cli.stdin,
    output: cli.stdout,
    terminal: true,
    prompt: PROMPT,
    history: known?.lines ?? [],
    historySize: MAX_HISTORY,
    removeHistoryDuplicates: true,
  });
  const conversation = new Conversation(cli, api, rl, start);
  const where = known ? `session ${known.title || start.sessionId}` : "a new session";
  cli.term.note(cli.term.err.dim(`${where}; /help lists the commands, /quit leaves`));
  await conversation.untilEnd();
}

/** Its title, and the person's messages: the arrow keys bring them back. */
async function resumed(api: Api, id: string): Promise<{ title: string; lines: string[] }> {
  const { title } = await api.get<Session>(sessionPath(id));
  const { items } = await api.get<{ items: Message[] }>(`${sessionPath(id)}/messages`);
  const sent = items.filter(({ role, text }) => role === "user" && !text.includes("\n"));
  const lines = sent.map(({ text }) => plainText(text)).reverse();
  return { title: short(plainText(title), 60), lines: lines.slice(0, MAX_HISTORY) };
}

class Conversation {
  readonly #cli: Cli;
  readonly #api: Api;
  readonly #rl: Interface;
  readonly #talk: Talk;
  readonly #end = Promise.withResolvers<void>();
  readonly #lines: string[] = [];
  #running: Running | null = null;
  #work: Promise<void> = Promise.resolve();
  #warned = false;
  #isClosed = false;

  constructor(cli: Cli, api: Api, rl: Interface, start: Partial<SendBody>) {
    this.#cli = cli;
    this.#api = api;
    this.#rl = rl;
    const { sessionId = null, model = null, ...binding } = start;
    this.#talk = {
      cli,
      api,
      sessionId,
      model,
      say: (body) => this.#send({ ...binding, ...body }),
      again: () => this.#regenerate(),
      quit: () => this.#rl.close(),
    };
  }

  async untilEnd(): Promise<void> {
    let timer: NodeJS.Timeout | null = null;
    this.#rl.on("line", (line) => {
      this.#lines.push(line);
      this.#warned = false;
      timer ??= setTimeout(() => {
        timer = null;
        this.#take(this.#lines.splice(0));
      }, PASTE_MS);
    });
    this.#rl.on("SIGINT", () => this.#interrupt());
    this.#rl.on("close", () => this.#leave());
    this.#rl.prompt();
    await this.#end.promise;
  }

  #take(lines: readonly string[]): void {
    const texts = lines.some((line) => line.startsWith("/")) ? lines : [lines.join("\n")];
    for (const text of texts) {
      const line = text.trim();
      if (this.#running) this.#whileRunning(this.#running, line);
      else this.#inOrder(() => this.#handle(line));
    }
  }

  /** One after the other, so that a prompt never comes before what it follows. */
  #inOrder(work: () => Promise<void>): void {
    this.#work = this.#work
      .then(work)
      .catch((cause: unknown) => this.#cli.term.warn(errorLine(this.#cli, cause)))
      .then(() => {
        if (!this.#isClosed && this.#running === null) this.#rl.prompt();
      });
  }

  async #handle(line: string): Promise<void> {
    if (line === "" || this.#isClosed) return;
    if (!line.startsWith("/") || SERVER_COMMANDS.test(line)) return this.#send({ message: line });
    await runCommand(this.#talk, line);
  }

  /** An answer to a question, or a command that makes sense now. */
  #whileRunning(running: Running, line: string): void {
    const question = running.questions[0];
    if (line === "/quit") return this.#rl.close();
    if (line === "/stop") return this.#stop(running);
    if (line === "") return;
    if (!question || (line.startsWith("/") && line !== "/decline"))
      return this.#cli.term.warn("   the agent is answering; /stop stops it");
    running.questions.shift();
    const answer = line === "/decline" ? null : answerTo(question, line);
    answerQuestion(this.#api, question, answer).catch((cause: unknown) => {
      this.#cli.term.warn(errorLine(this.#cli, cause));
      running.questions.unshift(question);
    });
  }

  async #send(body: SendBody): Promise<void> {
    const { sessionId, model } = this.#talk;
    const asked = {
      ...(sessionId === null ? {} : { sessionId }),
      ...(model === null ? {} : { model }),
      ...body,
    };
    await this.#run((signal) =>
      sendMessage(this.#api, sessionId === null ? asked : within(asked), {
        signal,
        onReopened: (id) =>
          this.#cli.term.note(`   session ${id} was idle for too long; it is open again`),
      }).then((response) => ({ response, turnId: null })),
    );
  }

  async #regenerate(): Promise<void> {
    const { sessionId, model } = this.#talk;
    if (sessionId === null) throw nothingYet();
    await this.#run(async (signal) => {
      const { turnId } = await this.#api.post<Turn>(`${sessionPath(sessionId)}/regenerate`, {
        wait: false,
        ...(model === null ? {} : { model }),
      });
      return { response: await watchTurn(this.#api, turnId, signal), turnId };
    });
  }

  async #run(
    begin: (signal: AbortSignal) => Promise<{ response: Response; turnId: string | null }>,
  ): Promise<void> {
    const screen = openScreen(this.#cli, this.#api, { streams: true, silent: false });
    const leave = new AbortController();
    const running: Running = {
      leave,
      sessionId: this.#talk.sessionId,
      questions: [],
      isStopping: false,
      isWatching: false,
    };
    this.#running = running;
    try {
      const { response, turnId } = await begin(leave.signal);
      const turn = await followTurn(this.#api, response, turnId, {
        ...screen,
        onBegin: ({ sessionId }) => {
          running.sessionId = sessionId;
          this.#talk.sessionId = sessionId;
        },
        onCall: (call) => {
          screen.onCall(call);
          if (running.isWatching) return;
          running.isWatching = true;
          watchQuestions(this.#api, leave.signal, (question) => {
            running.questions.push(question);
            for (const text of questionLines(question)) screen.line(text);
            screen.line(this.#cli.term.err.dim("  type the answer, or /decline"));
          }).catch((cause: unknown) => screen.line(errorLine(this.#cli, cause)));
        },
      });
      screen.end(turn);
    } catch (cause) {
      if (!leave.signal.aborted) throw cause;
    } finally {
      this.#running = null;
      leave.abort();
    }
  }

  #stop(running: Running): void {
    running.isStopping = true;
    const { sessionId } = running;
    if (sessionId === null) return running.leave.abort();
    this.#api
      .post(`${sessionPath(sessionId)}/stop`, {})
      .catch((cause: unknown) => this.#cli.term.warn(errorLine(this.#cli, cause)));
  }

  /** The first one stops the turn, or clears the line; the second one leaves. */
  #interrupt(): void {
    const running = this.#running;
    if (running && !running.isStopping) {
      this.#cli.term.warn("\n   stopping (Ctrl-C again leaves)");
      return this.#stop(running);
    }
    if (running || this.#warned) return this.#rl.close();
    this.#warned = true;
    this.#cli.term.note("\n   Ctrl-C again, or /quit, leaves");
    // What was typed so far is given up.
    this.#rl.write(null, { ctrl: true, name: "e" });
    this.#rl.write(null, { ctrl: true, name: "u" });
    this.#rl.prompt();
  }

  #leave(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { sessionId } = this.#talk;
    if (this.#running && !this.#running.isStopping && sessionId !== null)
      this.#cli.term.note(`\n   the turn continues; stop it: ostiary sessions stop ${sessionId}`);
    this.#running?.leave.abort();
    if (sessionId !== null)
      this.#cli.term.note(
        this.#cli.term.err.dim(`\n   continue later: ostiary chat --session ${sessionId}`),
      );
    this.#end.resolve();
  }
}

/** A session that is there has its capsule and persona already. */
function within({ capsuleId: _capsule, personaId: _persona, ...body }: SendBody): SendBody {
  return body;
}

/** What went wrong and what to do, in one line. */
function errorLine(cli: Cli, cause: unknown): string {
  const { detail, remedy } =
    cause instanceof CliError
      ? cause.problem
      : { detail: cause instanceof Error ? cause.message : String(cause), remedy: undefined };
  const problem = cause instanceof CliError ? cause.problem : {};
  const hint = inCliWords(remedy, problem);
  return `${cli.term.err.red("error:")} ${plainText(detail)}${hint === undefined ? "" : `; ${plainText(hint)}`}`;
}
