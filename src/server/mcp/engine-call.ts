// One MCP request as a call of the engine: progress, questions to the client, waiting for an approval, and coming
// back to a call that waits.
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
  canOpenLinks,
  executionToResume,
  linkToApproval,
  stateCodec,
  waitForEnd,
  waitForRun,
  type CallState,
} from "./approval-wait.ts";
import {
  createProgressSink,
  logLevelOf,
  sendLogMessage,
  type ProgressSink,
} from "./client-messages.ts";
import { answersTo, askableCapabilities, questionsForClient } from "./questions.ts";
import { McpRefusal } from "./refusal.ts";
import type { ResumableCall, Waiter } from "./resumable-call.ts";
import { notRecorded } from "./result.ts";
import type { ClientState, McpRequest, McpEndpoint } from "./server.ts";
import { metaContext, recordOutcome } from "./span.ts";
import { modernCapabilities, takesTask } from "./tasks/declared.ts";
import { createdTask, type CreatedTask } from "./tasks/task.ts";

/** Tool and arguments as the engine knows them. */
export interface EngineCall {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** How long a question waits for the client's answer. */
export const ANSWER_MS = 600_000;

/** A client that declares tasks waits so long for the end of what runs; then it gets a task. */
const TASK_AFTER_MS = 500;

/** What a request is answered with: the outcome, ended or not; what the client must be asked first; or a task. */
type Answer = Outcome | InputRequiredResult | CreatedTask;

/** The request that is being answered, and its ways to the client. */
interface ClientRequest {
  readonly endpoint: McpEndpoint;
  readonly ctx: ServerContext;
  readonly conversation: ClientState;
  readonly exchange: McpRequest;
  readonly progress: ProgressSink | null;
  readonly waiter: Waiter;
  readonly takesTask: boolean;
}

export async function callEngine(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: ClientState,
  exchange: McpRequest,
  call: EngineCall,
): Promise<Answer> {
  const progress = createProgressSink(endpoint, ctx);
  const waiter: Waiter = {
    signal: signalOf(ctx),
    report: progress?.report ?? null,
    message: (params) => sendLogMessage(endpoint, ctx, conversation, params),
  };
  const client: ClientRequest = {
    endpoint,
    ctx,
    conversation,
    exchange,
    progress,
    waiter,
    takesTask: takesTask(endpoint, ctx),
  };
  const waiting = callWaitingFor(endpoint, ctx, call);
  if (waiting) {
    const unanswered = giveAnswers(waiting, ctx);
    if (unanswered) return inputRequired(endpoint, ctx, waiting, unanswered);
    return awaitNextStep(client, waiting);
  }
  const request = requestOf(endpoint, ctx, exchange, call);
  const resumed = await executionToResume(endpoint, ctx, request);
  const executionId = resumed ?? exchange.held ?? null;
  if (executionId !== null) {
    const outcome = await endpoint.doors.engine.follow(exchange.caller, executionId, { ms: 0 });
    return awaitApproval(client, outcome, resumed !== null);
  }
  return awaitNextStep(client, beginCall(client, call, request));
}

function beginCall(client: ClientRequest, call: EngineCall, request: CallRequest): ResumableCall {
  const { endpoint, exchange, progress } = client;
  const { caller } = exchange;
  const fingerprint = fingerprintOf(endpoint, client.ctx, call);
  return endpoint.resumableCalls.begin({ caller, fingerprint }, (self) =>
    execute(endpoint, caller, {
      ...request,
      signal: self.signal,
      outerLimit: { ms: ANSWER_MS, whose: "the client did not answer the server's question" },
      client: clientSide(client, self),
      ...(client.takesTask && { onBegun: (id: string) => self.begun(id) }),
      ...(progress && { onProgress: (report: Progress) => self.report(report) }),
    }),
  );
}

async function awaitNextStep(client: ClientRequest, call: ResumableCall): Promise<Answer> {
  const taskAfterMs = client.takesTask ? TASK_AFTER_MS : null;
  const next = await call.next(client.waiter, taskAfterMs).catch((cause: unknown) => {
    if (cause instanceof NotRecorded) client.exchange.notRecorded?.();
    throw cause;
  });
  if (next.kind === "ended") return awaitApproval(client, next.outcome, false);
  await client.progress?.end();
  if (next.kind === "task") return taskOf(client, next.executionId);
  return inputRequired(client.endpoint, client.ctx, call, next.questions);
}

/** From its record, which any instance can read from now on. */
async function taskOf(
  { endpoint, exchange }: ClientRequest,
  executionId: string,
): Promise<CreatedTask> {
  const { engine } = endpoint.doors;
  return createdTask(endpoint, await engine.follow(exchange.caller, executionId, { ms: 0 }));
}

/** The record could not be written. */
class NotRecorded extends McpRefusal {}

/** A call that waits for an approval: the client gets a link to it at once, or a task, or its request is kept open. */
async function awaitApproval(
  { endpoint, ctx, conversation, exchange, progress, waiter, takesTask: isTask }: ClientRequest,
  first: Outcome,
  isResumed: boolean,
): Promise<Answer> {
  let outcome = first;
  const canLink = canOpenLinks(endpoint, ctx, conversation.capabilities());
  // The first request gets the link; a request that comes back, or whose client can open none, is kept open.
  const isLinked = canLink && !isResumed && outcome.approval?.state === "pending";
  if (outcome.endedAt === null && !isLinked)
    outcome = isTask
      ? await waitForRun(endpoint, exchange, outcome, TASK_AFTER_MS)
      : await waitForEnd(endpoint, exchange, outcome, progress?.report, waiter.signal);
  exchange.rated?.(outcome.rate);
  if (exchange.span) recordOutcome(exchange.span, outcome);
  await progress?.end();
  if (ctx.mcpReq.signal.aborted) exchange.unanswered?.(ctx.mcpReq.id);
  endpoint.doors.clientTaint.read(exchange.caller, ctx.sessionId ?? null, outcome);
  const { approval } = outcome;
  if (outcome.endedAt === null && isTask && !isLinked) return createdTask(endpoint, outcome);
  if (outcome.endedAt !== null || !approval) return outcome;
  // Without a hold time the client would come back with the link at once, again and again.
  const linkAgain = canLink && approval.state === "pending" && approval.holdSeconds > 0;
  return isLinked || linkAgain ? linkToApproval(endpoint, ctx, outcome, approval) : outcome;
}

function requestOf(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  exchange: McpRequest,
  call: EngineCall,
): CallRequest {
  const taint = endpoint.doors.clientTaint.of(exchange.caller, ctx.sessionId ?? null);
  return {
    ...call,
    ...(taint && { taint }),
    entry: endpoint.entry,
    ...(exchange.ip === undefined ? {} : { ip: exchange.ip }),
    ...traceOf(ctx, exchange),
  };
}

async function execute(
  { doors }: McpEndpoint,
  caller: Caller,
  request: CallRequest,
): Promise<Outcome> {
  try {
    return await doors.engine.execute(caller, request);
  } catch (cause) {
    doors.log.error({ err: cause, tool: request.name }, "execution was not recorded");
    throw new NotRecorded(notRecorded(cause));
  }
}

function clientSide(
  { endpoint, ctx, conversation, takesTask: isTask }: ClientRequest,
  call: ResumableCall,
): ClientSide {
  const modern = modernCapabilities(endpoint, ctx);
  const capabilities = askableCapabilities(modern ?? conversation.capabilities());
  let given: unknown = ctx.mcpReq.inputResponses;
  return {
    capabilities,
    logLevel: logLevelOf(endpoint, ctx, conversation),
    onTask: isTask ? () => call.promote() : undefined,
    notify: (method, params) =>
      method === "notifications/message" ? call.message(params) : undefined,
    async ask(questions, { server, signal }) {
      const asked = questionsForClient(questions, server, capabilities);
      if (modern === null) return askLegacyClient(ctx, asked, signal);
      // A client may send the answers with its first request.
      const answers = answersTo(asked, given);
      given = undefined;
      return answers ?? call.ask(asked, signal);
    },
  };
}

/** The older era: the server sends requests on the stream of this call. */
async function askLegacyClient(ctx: ServerContext, questions: InputQuestions, signal: AbortSignal) {
  const askOne = async ([key, { method, params }]: [string, InputQuestions[string]]) => {
    const request = { method: method as "elicitation/create", params: { ...params } };
    const answer = await ctx.mcpReq.send(request, { timeout: ANSWER_MS, signal });
    return [key, answer as unknown as JsonObject] as const; // parsed JSON
  };
  return Object.fromEntries(await Promise.all(Object.entries(questions).map(askOne)));
}

function fingerprintOf(endpoint: McpEndpoint, ctx: ServerContext, call: EngineCall): string {
  return canonicalJson([ctx.mcpReq.method, endpoint.server, call.name, call.arguments]);
}

/** The call whose questions this request answers; null: it answers none. Throws where no such call waits. */
function callWaitingFor(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  call: EngineCall,
): ResumableCall | null {
  const state = ctx.mcpReq.requestState<CallState>();
  if (state === undefined || !("ongoing" in state)) return null;
  const fingerprint = fingerprintOf(endpoint, ctx, call);
  const found = endpoint.resumableCalls.find(state.ongoing, state.round, fingerprint);
  if (found?.questions) return found;
  throw new McpRefusal({
    code: -32602,
    message:
      "No call waits for this answer: it was given, it came too late, or it belongs to another call",
  });
}

/** Resumes the call and returns null; or returns the questions, where not all are answered. */
function giveAnswers(call: ResumableCall, ctx: ServerContext): InputQuestions | null {
  const { questions } = call;
  const answers = questions && answersTo(questions, ctx.mcpReq.inputResponses);
  if (!answers) return questions ?? {};
  call.answer(answers);
  return null;
}

async function inputRequired(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  { id, round }: ResumableCall,
  questions: InputQuestions,
): Promise<InputRequiredResult> {
  const codec = stateCodec(endpoint, ANSWER_MS / 1000);
  const requestState = await codec.mint({ ongoing: id, round }, ctx);
  const inputRequests = questions as unknown as InputRequests; // as the upstream server wrote them
  return { resultType: "input_required", inputRequests, requestState };
}

/** The client's cancel, or the end of its connection: streams are not resumed, so the result could not be delivered. */
function signalOf(ctx: ServerContext): AbortSignal {
  const gone = ctx.http?.req?.signal;
  return gone ? AbortSignal.any([ctx.mcpReq.signal, gone]) : ctx.mcpReq.signal;
}

function traceOf(ctx: ServerContext, { span, traceparent, tracestate }: McpRequest): TraceContext {
  if (span?.context) return span.context;
  const inBody = metaContext((ctx.mcpReq._meta ?? {}) as JsonObject);
  if (inBody.traceparent !== undefined) return inBody;
  return {
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tracestate === undefined ? {} : { tracestate }),
  };
}
