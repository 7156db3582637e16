// tRPC: the same endpoints as procedures, statically typed. Plain JSON on the wire, no transformer.
import { initTRPC, TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc";
import { type Context, Hono } from "hono";
import type { z } from "zod";
import { AppError, CODES } from "../contract/errors.ts";
import { createLoginLink, whoami } from "./api/account.ts";
import {
  getSimilarApproval,
  previewApproval,
  previewApprovalRule,
} from "./api/approval-previews.ts";
import {
  approve,
  deny,
  draftApprovalRule,
  getApproval,
  listApprovalRules,
  listApprovals,
  revokeApprovalRule,
} from "./api/approvals.ts";
import * as agents from "./api/agents.ts";
import * as assets from "./api/assets.ts";
import * as capsules from "./api/capsules.ts";
import { viewCatalogue } from "./api/catalogue.ts";
import * as models from "./api/models.ts";
import * as personas from "./api/personas.ts";
import { getPreferences, updatePreferences } from "./api/preferences.ts";
import { getConnections } from "./api/connect.ts";
import { governance, policies, relationSchema } from "./api/documents.ts";
import { type ApiContext, type Endpoint, parseInput, type Reply } from "./api/endpoint.ts";
import { cancelToolExecution, executeTool, getToolStatus } from "./api/executions.ts";
import { adminOnly, explainCall, explainMissing } from "./api/explain.ts";
import { getDoctor, getHealth } from "./api/health.ts";
import { getHistoryRebuild, getHistoryStats, rebuildHistory } from "./api/history/stats.ts";
import { getSeries } from "./api/history/series.ts";
import { getActiveExecutions, getToolHistory } from "./api/history/history.ts";
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from "./api/keys.ts";
import { getToolMetrics } from "./api/metrics.ts";
import {
  archiveEvents,
  getLedgerHead,
  getVerification,
  makeCheckpoint,
  searchEvents,
  verifyLedger,
} from "./api/audit.ts";
import { getMode, switchMode } from "./api/mode.ts";
import {
  checkRelationship,
  expandRelationship,
  getRelationSchema,
  listRelationships,
  lookupResources,
  lookupSubjects,
  writeRelationships,
} from "./api/relationships/relationships.ts";
import { getPolicyInput, replayCalls } from "./api/replay.ts";
import { addApiEndpoint, importApi } from "./api/apis.ts";
import * as toolDrafts from "./api/tool-drafts.ts";
import { beginServerLogin, endServerLogin, getServerLogin } from "./api/servers/login.ts";
import {
  addServer,
  approveServerTools,
  getServer,
  getServerLogs,
  getServerTool,
  importServers,
  listServerCredentials,
  listServerTools,
  listServers,
  lookAtServer,
  putServerCredential,
  rejectServerTools,
  removeServer,
  removeServerCredential,
  restartServer,
  rollbackServerTool,
  updateServer,
} from "./api/servers/servers.ts";
import { getToolDetails, listTools, registryStats, switchTool } from "./api/tools.ts";
import { checkPermission, getPermissions, requirePermission } from "./api/permissions.ts";
import { executePlan } from "./api/plans.ts";
import { answerQuestion, listQuestions } from "./api/questions.ts";
import { getSettings } from "./api/settings.ts";
import { endSignIn, listSignIns } from "./api/sign-ins.ts";
import * as sessions from "./api/chat/sessions.ts";
import * as turns from "./api/chat/turns.ts";
import * as schedules from "./api/schedules.ts";
import * as work from "./api/work.ts";
import * as workflowRuns from "./api/workflow-runs.ts";
import { endpoints } from "./api/index.ts";
import { getTenant, updateTenant } from "./api/tenant.ts";
import { getUsage, listPlans } from "./api/usage.ts";
import { createUser, getUser, listUsers, updateUser } from "./api/users.ts";
import {
  createWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  removeWebhook,
  retryWebhookDelivery,
  rotateWebhook,
  testWebhook,
  updateWebhook,
} from "./api/webhooks.ts";
import type { Caller } from "../contract/call.ts";
import { assertRequestCounted } from "./http/count-request.ts";
import type { Doors } from "./doors.ts";
import { type HttpFailure, failureOf, faultHeaders } from "./http/problem.ts";
import {
  admit,
  ipOf,
  logUnexpected,
  parseBody,
  readJson,
  requestIdOf,
  type WebEnv,
} from "./http/request.ts";
import { endFailed, headerContext, webSpan } from "./http/span.ts";

const MAX_BATCH = 20;

const t = initTRPC.context<ApiContext>().create({
  isDev: false,
  errorFormatter({ shape, error }) {
    const failure = failureOfTrpc(error);
    const { code, httpStatus, path } = shape.data;
    return {
      message: failure.message,
      code: shape.code,
      data: { code, httpStatus, ...(path === undefined ? {} : { path }), error: failure },
    };
  },
});

type In<I extends z.ZodObject> =
  Record<never, never> extends z.input<I> ? z.input<I> | void : z.input<I>;

/** Our faults get tRPC's own code, so that `data.code` and `data.httpStatus` are right. */
const procedure = t.procedure.use(async ({ ctx, next }) => {
  const result = await next();
  if (result.ok) return result;
  const { cause } = result.error;
  if (cause instanceof AppError) throw trpcError(cause);
  if (result.error.code === "INTERNAL_SERVER_ERROR") {
    logUnexpected(ctx.doors, cause ?? result.error, ctx.requestId);
  }
  return result;
});

function built<I extends z.ZodObject, O extends z.ZodType>(e: Endpoint<I, O>) {
  // Only `parse` is called; the other two carry types.
  const parser = { parse: (raw: unknown) => parseInput(e, raw) } as {
    _input: In<I>;
    _output: z.output<I>;
    parse(raw: unknown): z.output<I>;
  };
  return procedure
    .use(({ ctx, next }) => {
      if (e.access === "admin" && ctx.caller.role !== "admin") throw trpcError(adminOnly());
      return next();
    })
    .input(parser);
}

function query<I extends z.ZodObject, O extends z.ZodType>(e: Endpoint<I, O>) {
  return built(e).query(({ input, ctx, signal }) => run(e, input, ctx, signal));
}

function mutation<I extends z.ZodObject, O extends z.ZodType>(e: Endpoint<I, O>) {
  return built(e).mutation(({ input, ctx, signal }) => run(e, input, ctx, signal));
}

async function run<I extends z.ZodObject, O extends z.ZodType>(
  e: Endpoint<I, O>,
  input: unknown,
  context: ApiContext,
  signal: AbortSignal | undefined,
): Promise<z.output<O>> {
  const output = await e.run(input as z.output<I>, signal ? { ...context, signal } : context);
  return output as unknown as z.output<O>;
}

const router = t.router({
  tools: t.router({
    listTools: query(listTools),
    viewCatalogue: query(viewCatalogue),
    executeTool: mutation(executeTool),
    executePlan: mutation(executePlan),
    getToolStatus: query(getToolStatus),
    cancelToolExecution: mutation(cancelToolExecution),
    getToolHistory: query(getToolHistory),
    getToolMetrics: query(getToolMetrics),
    getActiveExecutions: query(getActiveExecutions),
    getToolDetails: query(getToolDetails),
    getRegistryStats: query(registryStats),
    switchTool: mutation(switchTool),
  }),
  history: t.router({
    getHistoryStats: query(getHistoryStats),
    rebuildHistory: mutation(rebuildHistory),
    getHistoryRebuild: query(getHistoryRebuild),
  }),
  metrics: t.router({ getSeries: query(getSeries) }),
  explain: t.router({
    explainCall: query(explainCall),
    explainMissing: query(explainMissing),
  }),
  permissions: t.router({
    getPermissions: query(getPermissions),
    checkPermission: query(checkPermission),
    requirePermission: query(requirePermission),
  }),
  approvals: t.router({
    listApprovals: query(listApprovals),
    getApproval: query(getApproval),
    approve: mutation(approve),
    deny: mutation(deny),
    previewApproval: mutation(previewApproval),
    getSimilarApproval: query(getSimilarApproval),
    draftApprovalRule: mutation(draftApprovalRule),
    previewApprovalRule: mutation(previewApprovalRule),
    listApprovalRules: query(listApprovalRules),
    revokeApprovalRule: mutation(revokeApprovalRule),
  }),
  signIns: t.router({ listSignIns: query(listSignIns), endSignIn: mutation(endSignIn) }),
  account: t.router({
    whoami: query(whoami),
    createLoginLink: mutation(createLoginLink),
    getConnections: query(getConnections),
    getPreferences: query(getPreferences),
    updatePreferences: mutation(updatePreferences),
  }),
  audit: t.router({
    searchEvents: query(searchEvents),
    getLedgerHead: query(getLedgerHead),
    verifyLedger: mutation(verifyLedger),
    getVerification: query(getVerification),
    makeCheckpoint: mutation(makeCheckpoint),
    archiveEvents: mutation(archiveEvents),
  }),
  mode: t.router({ getMode: query(getMode), switchMode: mutation(switchMode) }),
  policies: t.router({
    listPolicyVersions: query(policies.list),
    getPolicyVersion: query(policies.get),
    draftPolicy: mutation(policies.draft),
    checkPolicy: mutation(policies.check),
    publishPolicy: mutation(policies.publish),
    rollbackPolicy: mutation(policies.rollback),
    endPolicyTrial: mutation(policies.endTrial),
    replay: mutation(replayCalls),
    getPolicyInput: query(getPolicyInput),
  }),
  governance: t.router({
    listGovernanceVersions: query(governance.list),
    getGovernanceVersion: query(governance.get),
    draftGovernance: mutation(governance.draft),
    checkGovernance: mutation(governance.check),
    publishGovernance: mutation(governance.publish),
    rollbackGovernance: mutation(governance.rollback),
    endGovernanceTrial: mutation(governance.endTrial),
  }),
  relationSchema: t.router({
    listRelationSchemaVersions: query(relationSchema.list),
    getRelationSchemaVersion: query(relationSchema.get),
    draftRelationSchema: mutation(relationSchema.draft),
    checkRelationSchema: mutation(relationSchema.check),
    publishRelationSchema: mutation(relationSchema.publish),
    rollbackRelationSchema: mutation(relationSchema.rollback),
    endRelationSchemaTrial: mutation(relationSchema.endTrial),
  }),
  health: t.router({ getHealth: query(getHealth), getDoctor: query(getDoctor) }),
  settings: t.router({ getSettings: query(getSettings) }),
  tenant: t.router({ getTenant: query(getTenant), updateTenant: mutation(updateTenant) }),
  users: t.router({
    createUser: mutation(createUser),
    listUsers: query(listUsers),
    getUser: query(getUser),
    updateUser: mutation(updateUser),
  }),
  keys: t.router({
    createKey: mutation(createKey),
    listKeys: query(listKeys),
    getKey: query(getKey),
    updateKey: mutation(updateKey),
    revokeKey: mutation(revokeKey),
    rotateKey: mutation(rotateKey),
  }),
  sessions: t.router({
    createSession: mutation(sessions.createSession),
    listSessions: query(sessions.listSessions),
    getSession: query(sessions.getSession),
    updateSession: mutation(sessions.updateSession),
    reopenSession: mutation(sessions.reopenSession),
    endSession: mutation(sessions.endSession),
    removeSession: mutation(sessions.removeSession),
    listMessages: query(sessions.listMessages),
    searchMessages: query(sessions.searchMessages),
  }),
  chat: t.router({
    sendMessage: mutation(turns.sendMessage),
    regenerateAnswer: mutation(turns.regenerateAnswer),
    stopTurn: mutation(turns.stopTurn),
    getTurn: query(turns.getTurn),
  }),
  work: t.router({
    listWorkflows: query(work.listWorkflows),
    listRuns: query(work.listRuns),
    getRun: query(work.getRun),
    listRunEvents: query(workflowRuns.listRunEvents),
    cancelRun: mutation(workflowRuns.cancelRun),
    pauseRun: mutation(workflowRuns.pauseRun),
    resumeRun: mutation(workflowRuns.resumeRun),
    rerunRun: mutation(workflowRuns.rerunRun),
    sendRunEvent: mutation(workflowRuns.sendRunEvent),
    sendEvent: mutation(workflowRuns.sendEvent),
    listSchedules: query(schedules.listSchedules),
    changeSchedule: mutation(schedules.changeSchedule),
    removeSchedule: mutation(schedules.removeSchedule),
    listScheduleTimes: query(schedules.listScheduleTimes),
  }),
  assets: t.router({
    addAsset: mutation(assets.addAsset),
    listAssets: query(assets.listAssets),
    getAssetDetails: query(assets.getAssetDetails),
    removeAsset: mutation(assets.removeAsset),
  }),
  questions: t.router({
    listQuestions: query(listQuestions),
    answerQuestion: mutation(answerQuestion),
  }),
  usage: t.router({ getUsage: query(getUsage), listPlans: query(listPlans) }),
  capsules: t.router({
    createCapsule: mutation(capsules.createCapsule),
    listCapsules: query(capsules.listCapsules),
    getCapsule: query(capsules.getCapsule),
    updateCapsule: mutation(capsules.updateCapsule),
    listCapsuleVersions: query(capsules.listCapsuleVersions),
    getCapsuleVersion: query(capsules.getCapsuleVersion),
    compareCapsuleVersions: query(capsules.compareCapsuleVersions),
    activateCapsuleVersion: mutation(capsules.activateCapsuleVersion),
  }),
  agents: t.router({
    exportAgents: query(agents.exportAgents),
    importAgents: mutation(agents.importAgents),
  }),
  models: t.router({
    createModel: mutation(models.createModel),
    listModels: query(models.listModels),
    getModel: query(models.getModel),
    updateModel: mutation(models.updateModel),
    removeModel: mutation(models.removeModel),
    testModel: mutation(models.testModel),
  }),
  personas: t.router({
    createPersona: mutation(personas.createPersona),
    listPersonas: query(personas.listPersonas),
    getPersona: query(personas.getPersona),
    updatePersona: mutation(personas.updatePersona),
    removePersona: mutation(personas.removePersona),
  }),
  servers: t.router({
    addServer: mutation(addServer),
    listServers: query(listServers),
    getServer: query(getServer),
    updateServer: mutation(updateServer),
    removeServer: mutation(removeServer),
    restartServer: mutation(restartServer),
    lookAtServer: mutation(lookAtServer),
    getServerLogs: query(getServerLogs),
    listServerTools: query(listServerTools),
    getServerTool: query(getServerTool),
    approveServerTools: mutation(approveServerTools),
    rejectServerTools: mutation(rejectServerTools),
    rollbackServerTool: mutation(rollbackServerTool),
    importServers: mutation(importServers),
    listServerCredentials: query(listServerCredentials),
    putServerCredential: mutation(putServerCredential),
    removeServerCredential: mutation(removeServerCredential),
    beginServerLogin: mutation(beginServerLogin),
    getServerLogin: query(getServerLogin),
    endServerLogin: mutation(endServerLogin),
    importApi: mutation(importApi),
    addApiEndpoint: mutation(addApiEndpoint),
  }),
  toolDrafts: t.router({
    listToolDrafts: query(toolDrafts.listToolDrafts),
    createToolDraft: mutation(toolDrafts.createToolDraft),
    getToolDraft: query(toolDrafts.getToolDraft),
    testToolDraft: mutation(toolDrafts.testToolDraft),
    linkToolDraft: mutation(toolDrafts.linkToolDraft),
    rejectToolDraft: mutation(toolDrafts.rejectToolDraft),
    unlinkToolDraft: mutation(toolDrafts.unlinkToolDraft),
    rollBackToolDraft: mutation(toolDrafts.rollBackToolDraft),
  }),
  webhooks: t.router({
    createWebhook: mutation(createWebhook),
    listWebhooks: query(listWebhooks),
    getWebhook: query(getWebhook),
    updateWebhook: mutation(updateWebhook),
    removeWebhook: mutation(removeWebhook),
    rotateWebhook: mutation(rotateWebhook),
    testWebhook: mutation(testWebhook),
    listWebhookDeliveries: query(listWebhookDeliveries),
    retryWebhookDelivery: mutation(retryWebhookDelivery),
  }),
  relationships: t.router({
    listRelationships: query(listRelationships),
    writeRelationships: mutation(writeRelationships),
    checkRelationship: query(checkRelationship),
    expandRelationship: query(expandRelationship),
    lookupResources: query(lookupResources),
    lookupSubjects: query(lookupSubjects),
    getRelationSchema: query(getRelationSchema),
  }),
});

/** For clients: `createTRPCClient<AppRouter>`. */
export type AppRouter = typeof router;

/** Procedure paths, for the inventory of routes. */
export const procedures: readonly string[] = Object.keys(router._def.procedures);

export function createTrpc(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.all("/*", (c) => handle(c, doors));
  return app;
}

async function handle(c: Context<WebEnv>, doors: Doors): Promise<Response> {
  const requestId = requestIdOf(c, doors);
  const span = webSpan(doors, c, "trpc", routeOf(c.req.path));
  let response: Response;
  try {
    const caller = await admit(doors, c);
    span.caller(caller);
    for (const path of pathsOf(c))
      await assertRequestCounted(doors, caller, ipOf(c), SPARED.has(path));
    const request = await cleanRequest(c, doors, caller);
    const reply: Reply = { headers: {} };
    const { signal } = c.req.raw;
    const trace = span.context ?? headerContext(c);
    response = await fetchRequestHandler({
      endpoint: "/trpc",
      req: request,
      router,
      maxBatchSize: MAX_BATCH,
      // Questions with large arguments do not fit into an address.
      allowMethodOverride: true,
      createContext: (): ApiContext => ({
        caller,
        requestId,
        signal,
        ...trace,
        ip: ipOf(c),
        doors,
        entry: "trpc",
        reply,
        span,
      }),
      responseMeta: ({ errors: [first] }) => ({
        headers: { ...reply.headers, ...(first ? faultHeaders(first.cause) : {}) },
      }),
    });
  } catch (cause) {
    logUnexpected(doors, cause, requestId);
    response = refusal(c, cause);
    endFailed(span, cause);
  }
  span.end(response.status);
  response.headers.set("Request-Id", requestId);
  response.headers.set("Cache-Control", "no-store");
  return response;
}

/** The procedures that are asked for: one, or those of a batch. */
const pathsOf = (c: Context<WebEnv>): string[] =>
  c.req.path
    .replace(/^\/trpc\//, "")
    .split(",")
    .slice(0, MAX_BATCH);

const SPARED = new Set(endpoints.flatMap((e) => (e.evenWhenUsedUp ? [e.name] : [])));

/** One procedure by its name; a batch, or a name that is none, by the folder. */
function routeOf(path: string): string {
  return procedures.includes(path.slice("/trpc/".length)) ? path : "/trpc";
}

/** The body within its limits and strictly parsed: tRPC is handed clean JSON and only the headers it reads. */
async function cleanRequest(c: Context<WebEnv>, doors: Doors, caller: Caller): Promise<Request> {
  const { url, method } = c.req;
  const init = { method, headers: passed(c), signal: c.req.raw.signal };
  if (method !== "POST") {
    const input = c.req.query("input");
    if (input !== undefined) parseBody(Buffer.from(input));
    return new Request(url, init);
  }
  // A mutation without input has no body; every input is an object, and the empty one means the same.
  const body = await readJson(doors, c, caller);
  return new Request(url, { ...init, body: body === undefined ? "{}" : JSON.stringify(body) });
}

/** A fault before any procedure, in the shape that clients expect: one per call of a batch. */
function refusal(c: Context<WebEnv>, cause: unknown): Response {
  const error = failureOf(cause);
  const { trpc, http } = CODES[error.code];
  const code = TRPC_ERROR_CODES_BY_KEY[trpc as TRPCError["code"]];
  const shapes = pathsOf(c).map((path) => ({
    error: { message: error.message, code, data: { code: trpc, httpStatus: http, path, error } },
  }));
  const body = c.req.query("batch") === "1" ? shapes : shapes[0];
  const headers = { "Content-Type": "application/json", ...faultHeaders(cause) };
  return new Response(JSON.stringify(body), { status: http, headers });
}

function passed(c: Context<WebEnv>): Record<string, string> {
  const accept = c.req.header("trpc-accept");
  return {
    "content-type": "application/json",
    ...(accept === undefined ? {} : { "trpc-accept": accept }),
  };
}

function trpcError(cause: AppError): TRPCError {
  const code = CODES[cause.code].trpc as TRPCError["code"];
  return new TRPCError({ code, message: cause.message, cause });
}

function failureOfTrpc(error: TRPCError): HttpFailure {
  if (error.cause instanceof AppError) return failureOf(error.cause);
  // tRPC's own: an unknown procedure, a wrong method, a batch that is too large.
  if (error.code === "NOT_FOUND") {
    return failureOf(new AppError("NOT_FOUND", "unknown", error.message));
  }
  if (error.code === "METHOD_NOT_SUPPORTED") {
    return failureOf(new AppError("METHOD_NOT_ALLOWED", "method_not_allowed", error.message));
  }
  if (error.code === "BAD_REQUEST" || error.code === "PARSE_ERROR") {
    return failureOf(new AppError("BAD_REQUEST", "invalid_input", error.message));
  }
  return failureOf(error.cause);
}
