// Conversations for the doors: sessions, messages and their branches, turns that are sent, watched and stopped.
import type { Caller, JsonObject, Trace } from "../../contract/call.ts";
import type { Taint } from "../../contract/taint.ts";
import type {
  MessageRow,
  QuestionRow,
  SessionRow,
  Store,
  TurnRow,
} from "../../storage/store/store.ts";
import { branchTo, MAX_MESSAGES } from "./context.ts";
import { createFollowing } from "./following.ts";
import { createSending } from "./sending.ts";
import { requireSession } from "./session.ts";
import { createSessions } from "./sessions.ts";
import type { TurnEvent } from "./turn-events.ts";
import type { TurnState } from "./turn-state.ts";
import type { Turns, TurnsPowers } from "./turns.ts";

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
  /** Who acts in a session of the caller: what all its parts allow today, and what was read in it from outside. */
  callerIn(
    caller: Caller,
    id: string,
  ): Promise<{ readonly caller: Caller; readonly taint: readonly Taint[] }>;
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
  /** Rights are checked again: a user who lost them cannot send messages in it. */
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

export function createChat(p: ChatPowers): Chat {
  const { store } = p;
  const following = createFollowing(p);
  const sessions = createSessions(p, following.stop);
  return {
    ...sessions,
    async messages(caller, sessionId, all) {
      const session = await requireSession(caller, sessionId, p);
      const rows = await store.messages.list(sessionId, MAX_MESSAGES);
      return all ? rows : branchTo(rows, session.headId);
    },
    search: (caller, text, limit) => store.messages.search(caller, text, limit),
    ...createSending(p, sessions.createSession),
    ...following,
  };
}
