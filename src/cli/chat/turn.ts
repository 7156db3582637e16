// A turn of a chat over the API: begun, followed by its events to its end.
import { problemOf, type Api } from "../client/client.ts";
import { CliError, failed } from "../client/fail.ts";
import { readEvents } from "../events.ts";

export interface Turn {
  sessionId: string;
  turnId: string;
  userMessageId: string;
  status: "running" | "waiting" | "success" | "failed" | "stopped";
  reply: string;
  error?: { code: string; reason: string; message: string; remedy?: string };
  endedAt: string | null;
}

export interface Session {
  id: string;
  title: string;
  capsuleId: string;
  personaId: string | null;
  headId: string | null;
  turnId: string | null;
  lastSeenAt: string;
  expiresAt: string;
  endedAt: string | null;
}

export interface Message {
  id: string;
  parentId: string | null;
  sessionId: string;
  role: "user" | "assistant";
  text: string;
  createdAt: string;
}

export interface SendBody {
  readonly message: string;
  readonly sessionId?: string;
  readonly capsuleId?: string;
  readonly personaId?: string;
  readonly model?: string;
  readonly editOf?: string;
}

export interface CallResult {
  readonly callId: string;
  readonly tool: string;
  readonly executionId: string | null;
  readonly status: string;
  readonly reason?: string;
  readonly approvalId?: string;
  /** Where the approval is decided. */
  readonly url?: string;
}

/** The events of a turn for those who follow it, in order; each handler is awaited. */
export interface TurnListener {
  onBegin(ids: { readonly sessionId: string; readonly turnId: string }): void;
  onText(text: string): void;
  onCall(call: { readonly callId: string; readonly tool: string }): void;
  onResult(result: CallResult): void | Promise<void>;
  /** It waits: for a person where it has an approval. */
  onWaiting(result: CallResult): void | Promise<void>;
}

/** At most so long in one request; then it is asked again. */
const WAIT_SECONDS = 60;

export const sessionPath = (id: string): string => `sessions/${encodeURIComponent(id)}`;

/** Sends a message; a session that had only been idle for too long is opened again, and `onReopened` is called. */
export async function sendMessage(
  api: Api,
  body: SendBody,
  options: { readonly signal: AbortSignal; readonly onReopened: (id: string) => void },
): Promise<Response> {
  const send = () => opened(api, "POST", "/api/chat", options.signal, { ...body, stream: true });
  try {
    return await send();
  } catch (cause) {
    const { sessionId: id } = body;
    if (!(cause instanceof CliError) || cause.problem.reason !== "session_ended" || !id)
      throw cause;
    await reopenIdle(api, id, cause);
    options.onReopened(id);
    return send();
  }
}

/** A session that was ended on purpose stays ended. */
async function reopenIdle(api: Api, id: string, refusal: CliError): Promise<void> {
  const session = await api.get<Session>(sessionPath(id));
  if (session.endedAt !== null) throw refusal;
  await api.post(`${sessionPath(id)}/reopen`, {});
}

export const watchTurn = (api: Api, turnId: string, signal: AbortSignal): Promise<Response> =>
  opened(api, "GET", `turns/${encodeURIComponent(turnId)}/events`, signal);

async function opened(
  api: Api,
  method: string,
  path: string,
  signal: AbortSignal,
  body?: object,
): Promise<Response> {
  const headers = { accept: "text/event-stream" };
  const response = await api.send(method, path, { headers, signal, ...(body ? { body } : {}) });
  if (!response.ok || !response.body)
    throw problemOf(response, await response.json().catch(() => null));
  return response;
}

/** Reads the events to the end of the turn; when the stream breaks, the turn itself is asked. */
export async function followTurn(
  api: Api,
  response: Response,
  turnId: string | null,
  listener: TurnListener,
): Promise<Turn> {
  let id = turnId;
  try {
    for await (const { event, data } of readEvents(response.body ?? new ReadableStream())) {
      const payload = JSON.parse(data) as never;
      if (event === "done") return payload;
      if (event === "turn") {
        ({ turnId: id } = payload);
        listener.onBegin(payload);
      } else await tell(listener, event, payload);
    }
  } catch (cause) {
    // A connection that broke is no end of the turn; anything else is a fault of its own.
    if (!(cause instanceof TypeError) || id === null) throw cause;
  }
  if (id === null) throw lost("The server closed the connection before the turn began.");
  return turnAtEnd(api, id);
}

async function tell(listener: TurnListener, event: string, payload: never): Promise<void> {
  if (event === "text") listener.onText((payload as { text: string }).text);
  else if (event === "tool_call") listener.onCall(payload);
  else if (event === "tool_result") await listener.onResult(payload);
  else if (event === "waiting") await listener.onWaiting(payload);
}

async function turnAtEnd(api: Api, id: string): Promise<Turn> {
  for (;;) {
    const turn = await api.get<Turn>(`turns/${encodeURIComponent(id)}`, {
      waitSeconds: WAIT_SECONDS,
    });
    if (turn.endedAt !== null) return turn;
  }
}

const lost = (why: string): CliError =>
  failed("connection_lost", why, "see what became of it: ostiary sessions list");
