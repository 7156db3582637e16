// What a person does with sessions as a whole: opens, lists, changes, reopens, ends and removes them.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { readBy } from "../../contract/taint.ts";
import type { SessionRow } from "../../storage/store/store.ts";
import type { Chat, ChatPowers, NewSession } from "./chat.ts";
import { busy, partsOf, requireMessage, requireSession } from "./session.ts";

type Sessions = Pick<
  Chat,
  | "createSession"
  | "getSession"
  | "callerIn"
  | "listSessions"
  | "updateSession"
  | "reopenSession"
  | "endSession"
  | "removeSession"
>;

/** `stop` ends the turn of a session that is ended while it answers. */
export function createSessions(p: ChatPowers, stop: Chat["stop"]): Sessions {
  const { store } = p;
  return {
    createSession: (caller, request) => createSession(caller, request, p),
    getSession: (caller, id) => requireSession(caller, id, p),
    async callerIn(caller, id) {
      const session = await requireSession(caller, id, p);
      const parts = await partsOf(session, caller, p);
      return { caller: parts.caller, taint: readBy("chat", session.taint) };
    },
    listSessions: (caller, filter, page) => store.sessions.list(caller, filter, page),
    async updateSession(caller, id, change) {
      const session = await requireSession(caller, id, p);
      if (change.headId !== undefined) {
        await requireMessage(id, change.headId, "headId", p);
        if (session.turnId !== null) throw busy(id);
      }
      await store.sessions.update(id, change);
      return requireSession(caller, id, p);
    },
    async reopenSession(caller, id) {
      const session = await requireSession(caller, id, p);
      await partsOf(session, caller, p);
      await store.sessions.update(id, { endedAt: null, lastSeenAt: p.now() });
      await noteSession(p, session, "reopened");
      return requireSession(caller, id, p);
    },
    async endSession(caller, id) {
      const session = await requireSession(caller, id, p);
      if (session.turnId !== null) await stop(caller, id);
      await store.sessions.update(id, { endedAt: p.now() });
      await noteSession(p, session, "ended");
      return requireSession(caller, id, p);
    },
    async removeSession(caller, id) {
      const session = await requireSession(caller, id, p);
      if (session.turnId !== null) throw busy(id);
      await store.sessions.remove(caller, id);
      await noteSession(p, session, "removed");
    },
  };
}

async function createSession(
  caller: Caller,
  request: NewSession,
  p: ChatPowers,
): Promise<SessionRow> {
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
  await p.store.sessions.create(session);
  await noteSession(p, session, "created");
  return session;
}

const noteSession = (
  p: ChatPowers,
  { id, tenantId, userId, capsuleId, personaId }: SessionRow,
  change: string,
) => p.note("chat.session", { tenantId, userId }, { sessionId: id, change, capsuleId, personaId });
