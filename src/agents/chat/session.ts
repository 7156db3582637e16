// A session binds a user to a capsule and a persona. Its caller holds what all of them allow today, and never more.
import { LRUCache } from "lru-cache";
import { mandateOf, narrowed, type Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { CapsuleSettings } from "../../contract/agent-config.ts";
import type { MessageRow, PersonaRow, SessionRow, Store } from "../../storage/store/store.ts";

export interface SessionParts {
  readonly caller: Caller;
  readonly persona: PersonaRow | null;
  readonly settings: CapsuleSettings;
}

export interface SessionPowers {
  readonly store: Pick<Store, "sessions" | "messages" | "turns" | "personas" | "capsules">;
  readonly intern: Intern;
  readonly now: () => number;
}

/** The parts of a session as they are today; throws where one of them is gone. */
export async function partsOf(
  session: SessionRow,
  caller: Caller,
  { store, intern }: Pick<SessionPowers, "store" | "intern">,
): Promise<SessionParts> {
  const { tenantId, capsuleId, personaId, role } = session;
  const [capsule, persona] = await Promise.all([
    store.capsules.get(capsuleId),
    personaId === null ? null : store.personas.get(tenantId, personaId),
  ]);
  if (capsule?.tenantId !== tenantId || capsule.status !== "active")
    throw notFound("capsule", capsuleId, "use an active capsule of your tenant");
  if (personaId !== null && !persona)
    throw notFound("persona", personaId, "open a session with another persona");
  if (role !== null && !caller.roles.includes(role))
    throw new AppError("FORBIDDEN", "permission_missing", `you do not hold the role ${role}`, {
      remedy: "open a session in one of your own roles",
    });
  const only = persona?.capabilities;
  const mandate = {
    ...mandateOf(caller),
    // A caller without a capsule has no tools, and a session does not change that.
    capsuleId: caller.capsuleId === null ? null : capsuleId,
    ...(only ? { only } : {}),
    ...(role === null ? {} : { asRole: role }),
  };
  return { caller: intern(narrowed(caller, mandate)), persona, settings: capsule };
}

export type Intern = (caller: Caller) => Caller;

const MAX_CALLERS = 1_000;

/** Callers with the same rights are one object, so that the list of their tools is made once and not for every step. */
export function createIntern(): Intern {
  const known = new LRUCache<string, Caller>({ max: MAX_CALLERS });
  return (caller) => {
    const key = JSON.stringify(caller);
    const same = known.get(key) ?? caller;
    known.set(key, same);
    return same;
  };
}

/** The caller's own session; NOT_FOUND for others'. */
export async function requireSession(
  caller: Pick<Caller, "tenantId" | "userId">,
  id: string,
  { store }: Pick<SessionPowers, "store">,
): Promise<SessionRow> {
  const row = await store.sessions.get(caller, id);
  if (row) return row;
  throw notFound("session", id, "list your sessions, or leave sessionId out to begin a new one");
}

/** A session that may be spoken in: not ended, and not idle for too long. */
export function requireOpen(session: SessionRow, now: number): void {
  const idleUntil = session.lastSeenAt + session.idleSeconds * 1_000;
  if (session.endedAt === null && (session.turnId !== null || idleUntil > now)) return;
  const what = session.endedAt === null ? `idle for over ${session.idleSeconds} s` : "ended";
  throw new AppError("CONFLICT", "session_ended", `session ${session.id} was ${what}`, {
    remedy: `open it again: POST /api/v1/sessions/${session.id}/reopen`,
  });
}

export const notFound = (what: string, id: string, remedy: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `${what} ${JSON.stringify(id)} not found`, { remedy });

/** A message of this session; `field` is the one of the request that named it. */
export async function requireMessage(
  sessionId: string,
  id: string,
  field: string,
  { store }: Pick<SessionPowers, "store">,
): Promise<MessageRow> {
  const message = await store.messages.get(sessionId, id);
  if (message) return message;
  throw fieldFault(field, `there is no message ${id} in this session`, "list its messages");
}

export const busy = (sessionId: string): AppError =>
  new AppError("CONFLICT", "turn_in_progress", `session ${sessionId} is answering already`, {
    remedy: `wait for it, or stop it: POST /api/v1/sessions/${sessionId}/stop`,
  });

export const fieldFault = (field: string, message: string, remedy: string): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", `${field}: ${message}`, {
    remedy,
    errors: [{ path: `/${field}`, message }],
  });
