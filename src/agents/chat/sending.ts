// Sends a message, or has one answered again: both write a turn durably and leave the answering to the background.
import type { Caller } from "../../contract/call.ts";
import type { MessageRow, SessionRow, TurnRow } from "../../storage/store/store.ts";
import type { Chat, ChatPowers, SendContext, SendRequest } from "./chat.ts";
import { branchTo, MAX_MESSAGES } from "./context.ts";
import type { Phase } from "./phases.ts";
import { requirePictures } from "./pictures.ts";
import {
  busy,
  fieldFault,
  partsOf,
  requireMessage,
  requireOpen,
  requireSession,
} from "./session.ts";
import { audit, newTurn } from "./turns.ts";

const MAX_TITLE = 80;

export function createSending(
  p: ChatPowers,
  createSession: Chat["createSession"],
): Pick<Chat, "send" | "regenerate"> {
  const { store } = p;

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

  return {
    async send(context, request) {
      const session = await sessionFor(context.caller, request);
      const edited =
        request.editOf === undefined
          ? null
          : await requireMessage(session.id, request.editOf, "editOf", p);
      if (edited && edited.role !== "user")
        throw fieldFault(
          "editOf",
          "expected a message of the person",
          "use regenerate for answers",
        );
      await requirePictures(context.caller, request.images ?? [], p.assets);
      return begin(p, context, session, {
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
      return begin(p, context, session, {
        text,
        model,
        images: message.assets,
        answered: message,
        parentId: message.parentId,
      });
    },
  };
}

interface TurnStart {
  readonly text: string;
  readonly model: string | undefined;
  readonly images: readonly string[];
  readonly answered: MessageRow | null;
  readonly parentId: string | null;
}

/** Writes the turn, with its message unless that is answered again, and starts it. */
async function begin(
  p: ChatPowers,
  context: SendContext,
  session: SessionRow,
  what: TurnStart,
): Promise<TurnRow> {
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
  if (!(await p.store.turns.begin(turn, isNew ? message : null))) throw busy(session.id);
  if (session.title === "")
    await p.store.sessions.update(session.id, { title: titleOf(message.text) });
  for (const phase of ["receive", "session"] satisfies Phase[])
    p.events.emit(turn.id, { event: "phase", data: { phase } });
  p.background(p.turns.run(turn));
  return turn;
}

const titleOf = (text: string): string => {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length <= MAX_TITLE ? line : `${line.slice(0, MAX_TITLE - 1)}…`;
};
