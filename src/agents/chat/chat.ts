// Conversations for the doors: sessions, messages and their branches, turns that are sent, watched and stopped.
import type { Caller, JsonObject, Trace } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type {
  MessageRow,
  QuestionRow,
  SessionRow,
  Store,
  TurnRow,
} from "../../storage/store/store.ts";
import { branchTo } from "./context.ts";
import { requirePictures } from "./pictures.ts";
import { notFound, partsOf, requireOpen, requireSession } from "./session.ts";
import type { Phase } from "./phases.ts";
import type { TurnEvent } from "./turn-events.ts";
import { openQuestions } from "./turn-questions.ts";
import type { TurnState } from "./turn-state.ts";
import { audit, newTurn, type Turns, type TurnsPowers } from "./turns.ts";

export interface NewSession {
  readonly id?: string;
  readonly capsuleId?: string;
  readonly personaId?: string;
  readonly role?: string;
  readonly title?: string;
  readonly preferences?: JsonObject;
  readonly idleSeconds?: number;
}

export interface SendRequest extends Pick<NewSession, "capsuleId" | "personaId"> {
  readonly sessionId?: string;
  readonly message: string;
  readonly model?: string;
  /** Ids of the person's assets, shown with it. */
  readonly images?: readonly string[];
  /** Instead of this message of the person: a branch of its own begins beside it. */
  readonly editOf?: string;
}

export interface SendContext {
  readonly caller: Caller;
  readonly trace: Trace;
  readonly ip: string | null;
}

export interface TurnView {
  readonly turn: TurnRow;
  readonly state: TurnState;
  readonly reply: MessageRow | null;
  /** Those that wait for the person's answer. */
  readonly questions: readonly QuestionRow[];
}

export interface Chat {
  createSession(caller: Caller, request: NewSession): Promise<SessionRow>;
  getSession(caller: Caller, id: string): Promise<SessionRow>;
  listSessions(
    caller: Caller,
    filter: { search: string; includeEnded: boolean },
    page: { limit: number; before?: { lastSeenAt: number; id: string } },
  ): Promise<SessionRow[]>;
  updateSession(
    caller: Caller,
    id: string,
    change: { title?: string; preferences?: JsonObject; idleSeconds?: number; headId?: string },
  ): Promise<SessionRow>;
  /** Rights are looked up anew: whoever lost them cannot speak in it. */
  reopenSession(caller: Caller, id: string): Promise<SessionRow>;
  endSession(caller: Caller, id: string): Promise<SessionRow>;
  /** With everything in it; the ledger keeps what it recorded. */
  removeSession(caller: Caller, id: string): Promise<void>;
  /** The branch in use, oldest first; with `all` the whole tree. */
  messages(caller: Caller, sessionId: string, all: boolean): Promise<MessageRow[]>;
  search(
    caller: Caller,
    text: string,
    limit: number,
  ): Promise<(MessageRow & { readonly title: string })[]>;
  /** Written durably when it resolves; it is answered in the background. */
  send(context: SendContext, request: SendRequest): Promise<TurnRow>;
  /** Answers an earlier message (default: the newest) once more, in a branch of its own. */
  regenerate(
    context: SendContext,
    sessionId: string,
    request: { messageId?: string; model?: string },
  ): Promise<TurnRow>;
  stop(caller: Caller, sessionId: string): Promise<TurnRow | null>;
  turn(caller: Caller, turnId: string): Promise<TurnView>;
  /** Its state once it has ended, waits for a person (with `untilHeld`), or the time is over. */
  wait(
    caller: Caller,
    turnId: string,
    options: { ms: number; untilHeld: boolean; signal: AbortSignal },
  ): Promise<TurnView>;
  /** What happens in a turn from now on, until it ends. */
  watch(caller: Caller, turnId: string, signal: AbortSignal): AsyncIterable<TurnEvent>;
}

export interface ChatPowers extends TurnsPowers {
  readonly turns: Turns;
  readonly asked: Pick<Store, "questions" | "executions">;
  readonly idleSeconds: number;
}

const MAX_TITLE = 80;
const MAX_MESSAGES = 2_000;
const POLL_MS = 250;

export function createChat(p: ChatPowers): Chat {
  const { store } = p;

  const createSession = async (caller: Caller, request: NewSession): Promise<SessionRow> => {
    const now = p.now();
    const capsuleId = request.capsuleId ?? caller.capsuleId;
    if (capsuleId === null)
      throw new AppError(
        "FORBIDDEN",
        "permission_missing",
        "you have no capsule to open a session with",
        {
          remedy: "ask an administrator for a key with a capsule",
        },
      );
    const session: SessionRow = {
      id: request.id ?? p.ids.handle("ses", now),
      tenantId: caller.tenantId,
      userId: caller.userId,
      capsuleId,
      personaId: request.personaId ?? null,
      role: request.role ?? null,
      title: request.title ?? "",
      preferences: request.preferences ?? {},
      idleSeconds: request.idleSeconds ?? p.idleSeconds,
      headId: null,
      turnId: null,
      taint: [],
      createdAt: now,
      lastSeenAt: now,
      endedAt: null,
    };
    await partsOf(session, caller, p);
    await store.sessions.create(session);
    await noteSession(session, "created");
    return session;
  };

  const noteSession = (
    { id, tenantId, userId, capsuleId, personaId }: SessionRow,
    change: string,
  ) =>
    p.note("chat.session", { tenantId, userId }, { sessionId: id, change, capsuleId, personaId });

  /** The session to speak in: the named one while it stands, or a new one. */
  const sessionFor = async (caller: Caller, request: SendRequest): Promise<SessionRow> => {
    const { sessionId, capsuleId, personaId } = request;
    if (sessionId === undefined) return createSession(caller, request);
    const session = await requireSession(caller, sessionId, p);
    requireOpen(session, p.now());
    for (const [field, given, bound] of [
      ["capsuleId", capsuleId, session.capsuleId],
      ["personaId", personaId, session.personaId],
    ] as const)
      if (given !== undefined && given !== bound)
        throw fieldFault(
          field,
          `session ${sessionId} is bound to ${String(bound)}`,
          "open a new session",
        );
    await partsOf(session, caller, p);
    return session;
  };

  const begin = async (
    context: SendContext,
    session: SessionRow,
    what: {
      readonly text: string;
      readonly model: string | undefined;
      readonly images: readonly string[];
      readonly answered: MessageRow | null;
      readonly parentId: string | null;
    },
  ): Promise<TurnRow> => {
    const now = p.now();
    const turnId = p.ids.handle("trn", now);
    const message: MessageRow = what.answered ?? {
      id: p.ids.handle("msg", now),
      tenantId: session.tenantId,
      sessionId: session.id,
      parentId: what.parentId,
      role: "user",
      text: p.masker.text(what.text),
      assets: what.images,
      turnId,
      createdAt: now,
    };
    const turn = newTurn({
      id: turnId,
      session,
      messageId: message.id,
      ...context,
      model: what.model ?? null,
      sealed: p.states.close(turnId, { message: what.text, steps: [] }),
      instanceId: p.instanceId,
      now,
    });
    const isNew = what.answered === null;
    await audit(p, turn, {
      role: "user",
      text: what.text,
      messageId: message.id,
      ...(message.assets.length > 0 ? { assets: message.assets } : {}),
      ...(isNew ? {} : { again: true }),
    });
    if (!(await store.turns.begin(turn, isNew ? message : null))) throw busy(session.id);
    if (session.title === "")
      await store.sessions.update(session.id, { title: titleOf(message.text) });
    for (const phase of ["receive", "session"] satisfies Phase[])
      p.events.emit(turn.id, { event: "phase", data: { phase } });
    p.background(p.turns.run(turn));
    return turn;
  };

  const requireTurn = async (caller: Caller, turnId: string): Promise<TurnRow> => {
    const turn = await store.turns.get(caller, turnId);
    if (turn) return turn;
    throw notFound("turn", turnId, "use the id that the chat gave");
  };

  const viewOf = async (turn: TurnRow): Promise<TurnView> => ({
    turn,
    state: p.states.open(turn) ?? { message: "", steps: [] },
    reply: turn.replyId === null ? null : await store.messages.get(turn.sessionId, turn.replyId),
    questions: await openQuestions(turn, p.asked, p.now()),
  });

  const messageIn = async (sessionId: string, id: string, field: string): Promise<MessageRow> => {
    const message = await store.messages.get(sessionId, id);
    if (message) return message;
    throw fieldFault(field, `there is no message ${id} in this session`, "list its messages");
  };

  return {
    createSession,
    getSession: (caller, id) => requireSession(caller, id, p),
    listSessions: (caller, filter, page) => store.sessions.list(caller, filter, page),
    async updateSession(caller, id, change) {
      const session = await requireSession(caller, id, p);
      if (change.headId !== undefined) {
        await messageIn(id, change.headId, "headId");
        if (session.turnId !== null) throw busy(id);
      }
      await store.sessions.update(id, change);
      return requireSession(caller, id, p);
    },
    async reopenSession(caller, id) {
      const session = await requireSession(caller, id, p);
      await partsOf(session, caller, p);
      await store.sessions.update(id, { endedAt: null, lastSeenAt: p.now() });
      await noteSession(session, "reopened");
      return requireSession(caller, id, p);
    },
    async endSession(caller, id) {
      const session = await requireSession(caller, id, p);
      if (session.turnId !== null) await this.stop(caller, id);
      await store.sessions.update(id, { endedAt: p.now() });
      await noteSession(session, "ended");
      return requireSession(caller, id, p);
    },
    async removeSession(caller, id) {
      const session = await requireSession(caller, id, p);
      if (session.turnId !== null) throw busy(id);
      await store.sessions.remove(caller, id);
      await noteSession(session, "removed");
    },
    async messages(caller, sessionId, all) {
      const session = await requireSession(caller, sessionId, p);
      const rows = await store.messages.list(sessionId, MAX_MESSAGES);
      return all ? rows : branchTo(rows, session.headId);
    },
    search: (caller, text, limit) => store.messages.search(caller, text, limit),
    async send(context, request) {
      const session = await sessionFor(context.caller, request);
      const edited =
        request.editOf === undefined ? null : await messageIn(session.id, request.editOf, "editOf");
      if (edited && edited.role !== "user")
        throw fieldFault(
          "editOf",
          "expected a message of the person",
          "use regenerate for answers",
        );
      await requirePictures(context.caller, request.images ?? [], p.assets);
      return begin(context, session, {
        text: request.message,
        model: request.model,
        images: request.images ?? [],
        answered: null,
        parentId: edited ? edited.parentId : session.headId,
      });
    },
    async regenerate(context, sessionId, { messageId, model }) {
      const session = await requireSession(context.caller, sessionId, p);
      requireOpen(session, p.now());
      await partsOf(session, context.caller, p);
      const rows = await store.messages.list(sessionId, MAX_MESSAGES);
      const message = branchTo(rows, messageId ?? session.headId).findLast(
        ({ role }) => role === "user",
      );
      if (!message)
        throw fieldFault("messageId", "there is no message to answer again", "send one");
      const asked =
        message.turnId === null ? null : await store.turns.get(context.caller, message.turnId);
      const text = (asked && p.states.open(asked)?.message) ?? message.text;
      return begin(context, session, {
        text,
        model,
        images: message.assets,
        answered: message,
        parentId: message.parentId,
      });
    },
    async stop(caller, sessionId) {
      const { turnId } = await requireSession(caller, sessionId, p);
      if (turnId === null || !(await store.turns.requestStop(turnId, p.now()))) return null;
      p.turns.abort(turnId);
      return requireTurn(caller, turnId);
    },
    turn: async (caller, turnId) => viewOf(await requireTurn(caller, turnId)),
    async wait(caller, turnId, { ms, untilHeld, signal }) {
      const until = performance.now() + ms;
      let wake = (): void => undefined;
      let isAsking = false;
      const off = p.events.on(turnId, ({ event }) => {
        if (event === "question") isAsking = true;
        if (event === "end" || event === "waiting" || event === "question") wake();
      });
      try {
        for (;;) {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          const turn = await requireTurn(caller, turnId);
          const isHeld =
            turn.status === "waiting" ||
            (isAsking && (await openQuestions(turn, p.asked, p.now())).length > 0);
          const isOver = turn.endedAt !== null || (untilHeld && isHeld);
          const left = until - performance.now();
          if (isOver || left <= 0 || signal.aborted) return await viewOf(turn);
          await oneOf(promise, Math.min(left, POLL_MS), signal);
        }
      } finally {
        off();
      }
    },
    async *watch(caller, turnId, signal) {
      const queue: TurnEvent[] = [];
      let wake = (): void => undefined;
      const off = p.events.on(turnId, (event) => {
        queue.push(event);
        wake();
      });
      try {
        for (let isOver = false; !isOver && !signal.aborted;) {
          // Of a turn on another instance nothing is heard here: its row says when it has ended.
          if (queue.length === 0) isOver = (await requireTurn(caller, turnId)).endedAt !== null;
          const heard = queue.splice(0);
          for (const event of heard) {
            const { questionId } = event.data;
            if (event.event === "question" && typeof questionId === "string")
              await p.asked.questions.presented([questionId], p.now());
            yield event;
          }
          if (isOver || heard.at(-1)?.event === "end") return;
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          if (queue.length === 0) await oneOf(promise, POLL_MS, signal);
        }
      } finally {
        off();
      }
    },
  };
}

const titleOf = (text: string): string => {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length <= MAX_TITLE ? line : `${line.slice(0, MAX_TITLE - 1)}…`;
};

const busy = (sessionId: string): AppError =>
  new AppError("CONFLICT", "turn_in_progress", `session ${sessionId} is answering already`, {
    remedy: `wait for it, or stop it: POST /api/v1/sessions/${sessionId}/stop`,
  });

const fieldFault = (field: string, message: string, remedy: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `${field}: ${message}`, {
    remedy,
    errors: [{ path: `/${field}`, message }],
  });

async function oneOf(work: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wake = (): void => resolve();
  signal.addEventListener("abort", wake, { once: true });
  await Promise.race([work, promise]);
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}
