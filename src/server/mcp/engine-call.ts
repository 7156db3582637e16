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
  executionToResume,
  linkToApproval,
  canOpenLinks,
  stateCodec,
  waitForEnd,
  type CallState,
} from "./approval-wait.ts";
import type { ResumableCall, Waiter } from "./resumable-call.ts";
import { answersTo, askableCapabilities, questionsForClient } from "./questions.ts";
import { Refusal } from "./refusal.ts";
import { notRecorded } from "./result.ts";
import type { Conversation, Exchange, McpEndpoint } from "./server.ts";
import { metaContext, recordOutcome } from "./span.ts";

/** What a request asks for, in the words of the engine. */
export interface EngineCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** How long a question waits for the client's answer. */
export const ANSWER_MS = 600_000;

/** Its outcome, ended or not; or what the client must be asked first. */
export async function callEngine(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
  exchange: Exchange,
  asked: EngineCall,
): Promise<Outcome | InputRequiredResult> {
  const progress = progressSink(endpoint, ctx);
  const waiter: Waiter = {
    signal: signalOf(ctx),
    report: progress?.report ?? null,
    message: (params) => sendLogMessage(endpoint, ctx, conversation, params),
  };
  const parked = callWaitingFor(endpoint, ctx, asked);
  if (parked) {
    const again = giveAnswers(parked, ctx);
    if (again) return inputRequired(endpoint, ctx, parked, again);
    return awaitNextStep(endpoint, ctx, conversation, exchange, progress, waiter, parked);
  }
  const request = requestOf(endpoint, ctx, exchange, asked);
  const back = await executionToResume(endpoint, ctx, request);
  const open = back ?? exchange.held ?? null;
  if (open !== null) {
    const outcome = await endpoint.doors.engine.follow(exchange.caller, open, { ms: 0 });
    return awaitApproval(
      endpoint,
      ctx,
      conversation,
      exchange,
      progress,
      waiter.signal,
      outcome,
      back !== null,
    );
  }
  const fingerprint = fingerprintOf(endpoint, ctx, asked);
  const ongoing = endpoint.resumableCalls.begin({ caller: exchange.caller, fingerprint }, (self) =>
    execute(endpoint, exchange.caller, {
      ...request,
      signal: self.signal,
      outerLimit: { ms: ANSWER_MS, whose: "the client did not answer the server's question" },
      client: clientSide(endpoint, ctx, conversation, self),
      ...(progress && { onProgress: (report: Progress) => self.report(report) }),
    }),
  );
  return awaitNextStep(endpoint, ctx, conversation, exchange, progress, waiter, ongoing);
}

async function awaitNextStep(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
  exchange: Exchange,
  progress: ProgressSink | null,
  waiter: Waiter,
  ongoing: ResumableCall,
): Promise<Outcome | InputRequiredResult> {
  const next = await ongoing.next(waiter).catch((cause: unknown) => {
    if (cause instanceof NotRecorded) exchange.notRecorded?.();
    throw cause;
  });
  if (next.kind === "ended")
    return awaitApproval(
      endpoint,
      ctx,
      conversation,
      exchange,
      progress,
      waiter.signal,
      next.outcome,
      false,
    );
  await progress?.end();
  return inputRequired(endpoint, ctx, ongoing, next.questions);
}

/** The record could not be written. */
class NotRecorded extends Refusal {}

/** Of one that waits for a person: kept waiting as long as the client can be, or shown the way. */
async function awaitApproval(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
  exchange: Exchange,
  progress: ProgressSink | null,
  signal: AbortSignal,
  first: Outcome,
  isBack: boolean,
): Promise<Outcome | InputRequiredResult> {
  let outcome = first;
  const link = canOpenLinks(endpoint, ctx, conversation.capabilities());
  // A link is shown at once; whoever comes back, or can show none, is kept waiting.
  const asked = link && !isBack && outcome.approval?.state === "pending";
  if (outcome.endedAt === null && !asked)
    outcome = await waitForEnd(endpoint, exchange, outcome, progress?.report, signal);
  exchange.rated?.(outcome.rate);
  if (exchange.span) recordOutcome(exchange.span, outcome);
  await progress?.end();
  if (ctx.mcpReq.signal.aborted) exchange.unanswered?.(ctx.mcpReq.id);
  const { approval } = outcome;
  if (outcome.endedAt !== null || !approval) return outcome;
  // Without a hold to slow them down, rounds of links would be over in a moment.
  const again = asked || (link && approval.state === "pending" && approval.holdSeconds > 0);
  return again ? linkToApproval(endpoint, ctx, outcome, approval) : outcome;
}

function requestOf(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  exchange: Exchange,
  asked: EngineCall,
): CallRequest {
  return {
    ...asked,
    entry: endpoint.entry,
    ...(exchange.ip === undefined ? {} : { ip: exchange.ip }),
    ...traceOf(ctx, exchange),
  };
}

async function execute(
  endpoint: McpEndpoint,
  caller: Caller,
  request: CallRequest,
): Promise<Outcome> {
  try {
    return await endpoint.doors.engine.execute(caller, request);
  } catch (cause) {
    endpoint.doors.log.error({ err: cause, tool: request.name }, "execution was not recorded");
    throw new NotRecorded(notRecorded(cause));
  }
}

/** Of the modern era when the request says what its client can do; else what the session, or stdin, began with. */
function modernCapabilities(endpoint: McpEndpoint, ctx: ServerContext): JsonObject | null {
  const envelope = ctx.mcpReq.envelope as Record<string, JsonObject | undefined> | undefined;
  return envelope?.[endpoint.sdk.server.CLIENT_CAPABILITIES_META_KEY] ?? null;
}

function clientSide(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
  ongoing: ResumableCall,
): ClientSide {
  const modern = modernCapabilities(endpoint, ctx);
  const capabilities = askableCapabilities(modern ?? conversation.capabilities());
  let given: unknown = ctx.mcpReq.inputResponses;
  return {
    capabilities,
    logLevel: levelOf(endpoint, ctx, conversation),
    notify: (method, params) =>
      method === "notifications/message" ? ongoing.message(params) : undefined,
    async ask(questions, { server, signal }) {
      const shown = questionsForClient(questions, server, capabilities);
      if (modern === null) return askLegacyClient(ctx, shown, signal);
      // A client may know beforehand what it will be asked.
      const known = answersTo(shown, given);
      given = undefined;
      return known ?? ongoing.ask(shown, signal);
    },
  };
}

/** The older era: requests of the server on the stream of this very call. */
async function askLegacyClient(ctx: ServerContext, questions: InputQuestions, signal: AbortSignal) {
  const one = async ([key, { method, params }]: [string, InputQuestions[string]]) => {
    const request = { method: method as "elicitation/create", params: { ...params } };
    const answer = await ctx.mcpReq.send(request, { timeout: ANSWER_MS, signal });
    return [key, answer as unknown as JsonObject] as const; // parsed JSON
  };
  return Object.fromEntries(await Promise.all(Object.entries(questions).map(one)));
}

function fingerprintOf(endpoint: McpEndpoint, ctx: ServerContext, asked: EngineCall): string {
  return canonicalJson([ctx.mcpReq.method, endpoint.server, asked.name, asked.arguments]);
}

/** The call that this request brings an answer to; null: it brings none. What fits no waiting call is refused. */
function callWaitingFor(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  asked: EngineCall,
): ResumableCall | null {
  const state = ctx.mcpReq.requestState<CallState>();
  if (state === undefined || !("ongoing" in state)) return null;
  const found = endpoint.resumableCalls.find(
    state.ongoing,
    state.round,
    fingerprintOf(endpoint, ctx, asked),
  );
  if (found?.questions) return found;
  throw new Refusal({
    code: -32602,
    message:
      "No call waits for this answer: it was given, it came too late, or it belongs to another call",
  });
}

/** Goes on with the answers; else what has still to be answered. */
function giveAnswers(ongoing: ResumableCall, ctx: ServerContext): InputQuestions | null {
  const { questions } = ongoing;
  const answers = questions && answersTo(questions, ctx.mcpReq.inputResponses);
  if (!answers) return questions ?? {};
  ongoing.answer(answers);
  return null;
}

async function inputRequired(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  ongoing: ResumableCall,
  questions: InputQuestions,
): Promise<InputRequiredResult> {
  const { id, round } = ongoing;
  const requestState = await stateCodec(endpoint, ANSWER_MS / 1000).mint(
    { ongoing: id, round },
    ctx,
  );
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
function levelOf(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
): string | undefined {
  const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
  const level =
    envelope === undefined ? conversation.level : envelope[endpoint.sdk.server.LOG_LEVEL_META_KEY];
  return typeof level === "string" && LEVELS.includes(level) ? level : undefined;
}

function sendLogMessage(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: Conversation,
  params: JsonObject,
): void {
  const wanted = levelOf(endpoint, ctx, conversation);
  const { level, data, logger } = params;
  if (wanted === undefined || typeof level !== "string" || data === undefined) return;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(wanted)) return;
  const told = { level, data, ...(typeof logger === "string" ? { logger } : {}) };
  ctx.mcpReq
    .notify({ method: "notifications/message", params: told })
    .catch((cause: unknown) =>
      endpoint.doors.log.debug({ err: cause }, "log message not delivered"),
    );
}

interface ProgressSink {
  report(progress: Progress): void;
  end(): Promise<void>;
}

/** Reports only to a client that asked, only rising values, nothing after the result. */
function progressSink(endpoint: McpEndpoint, ctx: ServerContext): ProgressSink | null {
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
      .catch((cause: unknown) =>
        endpoint.doors.log.debug({ err: cause }, "progress not delivered"),
      );
  };
  const end = (): Promise<void> => {
    ended = true;
    return sent;
  };
  return { report, end };
}
