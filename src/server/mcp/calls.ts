// One request of a client as a call of the engine: its progress, its questions, its wait for a person, its coming back.
import type {
  InputRequests,
  InputRequiredResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import type {
  Caller,
  CallRequest,
  ClientSide,
  InputQuestions,
  JsonObject,
  Outcome,
  Progress,
} from "../../contract/call.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { TraceContext } from "../../util/trace.ts";
import {
  comesBackTo,
  linkToApproval,
  opensLinks,
  stateCodec,
  waitForEnd,
  type CallState,
} from "./held.ts";
import type { Ongoing, Waiter } from "./ongoing.ts";
import { answersTo, askable, presented } from "./questions.ts";
import { Refusal } from "./refusal.ts";
import { notRecorded } from "./result.ts";
import type { Conversation, Exchange, Face } from "./server.ts";
import { metaContext, tellOutcome } from "./span.ts";

/** What a request asks for, in the words of the engine. */
export interface Asked {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** How long a question waits for the client's answer. */
export const ANSWER_MS = 600_000;

/** Its outcome, ended or not; or what the client must be asked first. */
export async function callEngine(
  face: Face,
  ctx: ServerContext,
  talk: Conversation,
  exchange: Exchange,
  asked: Asked,
): Promise<Outcome | InputRequiredResult> {
  const progress = progressSink(face, ctx);
  const waiter: Waiter = {
    signal: signalOf(ctx),
    report: progress?.report ?? null,
    message: (params) => logTo(face, ctx, talk, params),
  };
  const parked = parkedFor(face, ctx, asked);
  if (parked) {
    const again = resumed(parked, ctx);
    if (again) return question(face, ctx, parked, again);
    return settled(face, ctx, talk, exchange, progress, waiter, parked);
  }
  const request = requestOf(face, ctx, exchange, asked);
  const back = await comesBackTo(face, ctx, request);
  const open = back ?? exchange.held ?? null;
  if (open !== null) {
    const outcome = await face.doors.engine.follow(exchange.caller, open, { ms: 0 });
    return waited(face, ctx, talk, exchange, progress, waiter.signal, outcome, back !== null);
  }
  const fingerprint = fingerprintOf(face, ctx, asked);
  const ongoing = face.parking.begin({ caller: exchange.caller, fingerprint }, (self) =>
    executed(face, exchange.caller, {
      ...request,
      signal: self.signal,
      outerLimit: { ms: ANSWER_MS, whose: "the client did not answer the server's question" },
      client: clientSide(face, ctx, talk, self),
      ...(progress && { onProgress: (report: Progress) => self.report(report) }),
    }),
  );
  return settled(face, ctx, talk, exchange, progress, waiter, ongoing);
}

async function settled(
  face: Face,
  ctx: ServerContext,
  talk: Conversation,
  exchange: Exchange,
  progress: ProgressSink | null,
  waiter: Waiter,
  ongoing: Ongoing,
): Promise<Outcome | InputRequiredResult> {
  const next = await ongoing.next(waiter).catch((cause: unknown) => {
    if (cause instanceof NotRecorded) exchange.notRecorded?.();
    throw cause;
  });
  if (next.kind === "ended")
    return waited(face, ctx, talk, exchange, progress, waiter.signal, next.outcome, false);
  await progress?.end();
  return question(face, ctx, ongoing, next.questions);
}

/** The record could not be written. */
class NotRecorded extends Refusal {}

/** Of one that waits for a person: kept waiting as long as the client can be, or shown the way. */
async function waited(
  face: Face,
  ctx: ServerContext,
  talk: Conversation,
  exchange: Exchange,
  progress: ProgressSink | null,
  signal: AbortSignal,
  first: Outcome,
  isBack: boolean,
): Promise<Outcome | InputRequiredResult> {
  let outcome = first;
  const link = opensLinks(face, ctx, talk.capabilities());
  // A link is shown at once; whoever comes back, or can show none, is kept waiting.
  const asked = link && !isBack && outcome.approval?.state === "pending";
  if (outcome.endedAt === null && !asked)
    outcome = await waitForEnd(face, exchange, outcome, progress?.report, signal);
  exchange.rated?.(outcome.rate);
  if (exchange.span) tellOutcome(exchange.span, outcome);
  await progress?.end();
  if (ctx.mcpReq.signal.aborted) exchange.unanswered?.(ctx.mcpReq.id);
  const { approval } = outcome;
  if (outcome.endedAt !== null || !approval) return outcome;
  // Without a hold to slow them down, rounds of links would be over in a moment.
  const again = asked || (link && approval.state === "pending" && approval.holdSeconds > 0);
  return again ? linkToApproval(face, ctx, outcome, approval) : outcome;
}

function requestOf(face: Face, ctx: ServerContext, exchange: Exchange, asked: Asked): CallRequest {
  return {
    ...asked,
    entry: face.entry,
    ...(exchange.ip === undefined ? {} : { ip: exchange.ip }),
    ...traceOf(ctx, exchange),
  };
}

async function executed(face: Face, caller: Caller, request: CallRequest): Promise<Outcome> {
  try {
    return await face.doors.engine.execute(caller, request);
  } catch (cause) {
    face.doors.log.error({ err: cause, tool: request.name }, "execution was not recorded");
    throw new NotRecorded(notRecorded(cause));
  }
}

/** Of the modern era when the request says what its client can do; else what the session, or stdin, began with. */
function declaredBy(face: Face, ctx: ServerContext): JsonObject | null {
  const envelope = ctx.mcpReq.envelope as Record<string, JsonObject | undefined> | undefined;
  return envelope?.[face.sdk.server.CLIENT_CAPABILITIES_META_KEY] ?? null;
}

function clientSide(
  face: Face,
  ctx: ServerContext,
  talk: Conversation,
  ongoing: Ongoing,
): ClientSide {
  const modern = declaredBy(face, ctx);
  const capabilities = askable(modern ?? talk.capabilities());
  let given: unknown = ctx.mcpReq.inputResponses;
  return {
    capabilities,
    logLevel: levelOf(face, ctx, talk),
    notify: (method, params) =>
      method === "notifications/message" ? ongoing.message(params) : undefined,
    async ask(questions, { server, signal }) {
      const shown = presented(questions, server, capabilities);
      if (modern === null) return sent(ctx, shown, signal);
      // A client may know beforehand what it will be asked.
      const known = answersTo(shown, given);
      given = undefined;
      return known ?? ongoing.ask(shown, signal);
    },
  };
}

/** The older era: requests of the server on the stream of this very call. */
async function sent(ctx: ServerContext, questions: InputQuestions, signal: AbortSignal) {
  const one = async ([key, { method, params }]: [string, InputQuestions[string]]) => {
    const request = { method: method as "elicitation/create", params: { ...params } };
    const answer = await ctx.mcpReq.send(request, { timeout: ANSWER_MS, signal });
    return [key, answer as unknown as JsonObject] as const; // parsed JSON
  };
  return Object.fromEntries(await Promise.all(Object.entries(questions).map(one)));
}

function fingerprintOf(face: Face, ctx: ServerContext, asked: Asked): string {
  return canonicalJson([ctx.mcpReq.method, face.server, asked.name, asked.arguments]);
}

/** The call that this request brings an answer to; null: it brings none. What fits no waiting call is refused. */
function parkedFor(face: Face, ctx: ServerContext, asked: Asked): Ongoing | null {
  const state = ctx.mcpReq.requestState<CallState>();
  if (state === undefined || !("ongoing" in state)) return null;
  const found = face.parking.find(state.ongoing, state.round, fingerprintOf(face, ctx, asked));
  if (found?.questions) return found;
  throw new Refusal({
    code: -32602,
    message:
      "No call waits for this answer: it was given, it came too late, or it belongs to another call",
  });
}

/** Goes on with the answers; else what has still to be answered. */
function resumed(ongoing: Ongoing, ctx: ServerContext): InputQuestions | null {
  const { questions } = ongoing;
  const answers = questions && answersTo(questions, ctx.mcpReq.inputResponses);
  if (!answers) return questions ?? {};
  ongoing.answer(answers);
  return null;
}

async function question(
  face: Face,
  ctx: ServerContext,
  ongoing: Ongoing,
  questions: InputQuestions,
): Promise<InputRequiredResult> {
  const { id, round } = ongoing;
  const requestState = await stateCodec(face, ANSWER_MS / 1000).mint({ ongoing: id, round }, ctx);
  const inputRequests = questions as unknown as InputRequests; // as the server upstream wrote them
  return { resultType: "input_required", inputRequests, requestState };
}

/** The client's cancel, and the end of its connection: streams are not resumed, so nobody would get the answer. */
function signalOf(ctx: ServerContext): AbortSignal {
  const gone = ctx.http?.req?.signal;
  return gone ? AbortSignal.any([ctx.mcpReq.signal, gone]) : ctx.mcpReq.signal;
}

function traceOf(ctx: ServerContext, { span, traceparent, tracestate }: Exchange): TraceContext {
  if (span?.context) return span.context;
  const inBody = metaContext((ctx.mcpReq._meta ?? {}) as JsonObject);
  if (inBody.traceparent !== undefined) return inBody;
  return {
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tracestate === undefined ? {} : { tracestate }),
  };
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** From which level on the client wants log messages: of this request, or of its session. */
function levelOf(face: Face, ctx: ServerContext, talk: Conversation): string | undefined {
  const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
  const level = envelope === undefined ? talk.level : envelope[face.sdk.server.LOG_LEVEL_META_KEY];
  return typeof level === "string" && LEVELS.includes(level) ? level : undefined;
}

function logTo(face: Face, ctx: ServerContext, talk: Conversation, params: JsonObject): void {
  const wanted = levelOf(face, ctx, talk);
  const { level, data, logger } = params;
  if (wanted === undefined || typeof level !== "string" || data === undefined) return;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(wanted)) return;
  const told = { level, data, ...(typeof logger === "string" ? { logger } : {}) };
  ctx.mcpReq
    .notify({ method: "notifications/message", params: told })
    .catch((cause: unknown) => face.doors.log.debug({ err: cause }, "log message not delivered"));
}

interface ProgressSink {
  report(progress: Progress): void;
  end(): Promise<void>;
}

/** Reports only to a client that asked, only rising values, nothing after the result. */
function progressSink(face: Face, ctx: ServerContext): ProgressSink | null {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  let highest = -Infinity;
  let ended = false;
  let sent = Promise.resolve();
  const report = (progress: Progress): void => {
    if (ended || !(progress.progress > highest)) return;
    highest = progress.progress;
    const params = { progressToken, ...progress };
    sent = sent
      .then(() => ctx.mcpReq.notify({ method: "notifications/progress", params }))
      .catch((cause: unknown) => face.doors.log.debug({ err: cause }, "progress not delivered"));
  };
  const end = (): Promise<void> => {
    ended = true;
    return sent;
  };
  return { report, end };
}
