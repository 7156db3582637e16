// How an MCP client waits for an approval. Nothing here can approve: the client only gets a link to the approval's
// page.
import { hash } from "node:crypto";
import type { InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type {
  ApprovalNotice,
  Caller,
  CallRequest,
  Json,
  JsonObject,
  Outcome,
  Progress,
} from "../../contract/call.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { Doors } from "../doors.ts";
import { McpRefusal } from "./refusal.ts";
import { EXECUTION_KEY } from "./result.ts";
import type { McpRequest, McpEndpoint } from "./server.ts";
import { modernCapabilities } from "./tasks/declared.ts";

/**
 * Sent to the client and back; gives no rights. Names a call that waits for an approval, or for its client
 * (`ongoing`).
 */
export type CallState =
  { readonly executionId: string } | { readonly ongoing: string; readonly round: number };

const PROGRESS_EVERY_MS = 5_000;
/** An approved call may still wait for a free slot. */
const LATEST_START_MS = 60_000;

/** Bound to method and caller: the state of another caller's call does not verify. */
export function stateCodec(endpoint: McpEndpoint, ttlSeconds?: number) {
  return endpoint.sdk.server.createRequestStateCodec<CallState>({
    key: endpoint.doors.settings.stateKey,
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    bind: (ctx) => {
      const { tenantId, userId, keyId } = endpoint.exchangeOf(ctx).caller;
      return [ctx.mcpReq.method, tenantId, userId, keyId].join("\0");
    },
  });
}

/**
 * The execution that this request continues; null for a first call. Throws if it names an execution of a different
 * call.
 */
export async function executionToResume(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  { name, arguments: args = {} }: CallRequest,
): Promise<string | null> {
  const named = ctx.mcpReq._meta?.[EXECUTION_KEY];
  const state = ctx.mcpReq.requestState<CallState>();
  const id = state && "executionId" in state ? state.executionId : named;
  if (id === undefined) return null;
  const { doors } = endpoint;
  const { caller } = endpoint.exchangeOf(ctx);
  const record = typeof id === "string" ? await doors.history.get(caller, id) : null;
  const tool = doors.registry.get(name)?.name ?? name;
  if (record?.toolName === tool && (await isSame(doors, caller, record, args))) return record.id;
  throw new McpRefusal({
    code: -32602,
    message: "The state or execution id does not belong to this call: call again without it",
  });
}

/** Compares with the arguments that the caller gave: an approver may have changed those that run. */
async function isSame(
  doors: Doors,
  caller: Caller,
  { approvalId, arguments: recorded, argumentsCut }: ExecutionRecord,
  args: JsonObject,
): Promise<boolean> {
  if (approvalId === null && argumentsCut !== null)
    return hash("sha256", canonicalJson(args)) === argumentsCut.sha256;
  const asked =
    approvalId === null ? recorded : (await doors.approvals.show(caller, approvalId)).arguments;
  return sameText(asked, await doors.masker.valueInSlices(args));
}

const sameText = (a: Json, b: Json): boolean => canonicalJson(a) === canonicalJson(b);

/** Waits for the decision up to the hold limit, reporting progress; then for the end of what runs. */
export async function waitForEnd(
  endpoint: McpEndpoint,
  { caller }: McpRequest,
  open: Outcome,
  report: ((progress: Progress) => void) | undefined,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { executionId, timeoutMs } = open;
  const follow = (ms: number) =>
    endpoint.doors.engine.follow(caller, executionId, { ms, ...(signal && { signal }) });
  const held =
    open.approval?.state === "pending"
      ? await holdOpen(follow, open.approval.holdSeconds, report)
      : open;
  if (held.endedAt !== null || held.approval?.state === "pending" || signal?.aborted) return held;
  return follow(timeoutMs + LATEST_START_MS);
}

/** For a client that gets a task instead: only what runs is waited for. */
export function waitForRun(
  { doors }: McpEndpoint,
  { caller }: McpRequest,
  open: Outcome,
  ms: number,
): Promise<Outcome> {
  if (open.approval?.state === "pending") return Promise.resolve(open);
  return doors.engine.follow(caller, open.executionId, { ms });
}

async function holdOpen(
  follow: (ms: number) => Promise<Outcome>,
  seconds: number,
  report: ((progress: Progress) => void) | undefined,
): Promise<Outcome> {
  const began = performance.now();
  const elapsedSeconds = (): number => Math.round((performance.now() - began) / 1000);
  const reportWaiting = (): void =>
    report?.({ progress: elapsedSeconds(), total: seconds, message: "waiting for approval" });
  reportWaiting();
  const timer = setInterval(reportWaiting, PROGRESS_EVERY_MS);
  try {
    return await follow(seconds * 1000);
  } finally {
    clearInterval(timer);
  }
}

/** True if the client can open a link for its user. Others must not be asked: the model would see a protocol error. */
export function canOpenLinks(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  legacy: JsonObject | undefined,
): boolean {
  // In the older era the client declared its capabilities at the start.
  const capabilities = modernCapabilities(endpoint, ctx) ?? legacy;
  const elicitation = capabilities?.["elicitation"] as JsonObject | undefined;
  return elicitation?.["url"] !== undefined && hasPages(endpoint);
}

/** Asks the client to show the approval's page. Any answer only makes the client repeat the call. */
export async function linkToApproval(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  outcome: Outcome,
  approval: ApprovalNotice,
): Promise<InputRequiredResult> {
  const { inputRequired } = endpoint.sdk.server;
  const secondsLeft = Math.max(1, Math.ceil((approval.expiresAt - endpoint.doors.now()) / 1000));
  return inputRequired({
    inputRequests: {
      approval: inputRequired.elicitUrl({
        message: `${outcome.toolName} waits for the approval of a person; nothing has run yet.`,
        url: urlOf(endpoint, approval),
      }),
    },
    requestState: await stateCodec(endpoint, secondsLeft).mint(
      { executionId: outcome.executionId },
      ctx,
    ),
  });
}

/** The result of a call that has not ended when the request cannot wait longer. */
export function pendingResult(endpoint: McpEndpoint, outcome: Outcome) {
  const { executionId, status, approval } = outcome;
  const waits = approval?.state === "pending" ? approval : null;
  const lines = waits
    ? [...approvalText(endpoint, waits), GO_ON]
    : [
        `${status.toUpperCase()}: it has not ended yet.`,
        `What to do: repeat the same call with _meta ${JSON.stringify({ [EXECUTION_KEY]: executionId })}; it is not run again.`,
      ];
  const notice = waits && approvalNotice(endpoint, waits);
  return {
    content: [{ type: "text" as const, text: [...lines, `Execution: ${executionId}`].join("\n") }],
    structuredContent: { executionId, status, ...(notice && { approval: notice }) },
    isError: true as const,
    _meta: { [EXECUTION_KEY]: executionId, "ostiary/status": status },
  };
}

const GO_ON = "What to do: repeat the same call to keep waiting, or do something else meanwhile.";

export const approvalNotice = (endpoint: McpEndpoint, approval: ApprovalNotice) => ({
  id: approval.id,
  state: approval.state,
  expiresAt: new Date(approval.expiresAt).toISOString(),
  ...(hasPages(endpoint) && { url: urlOf(endpoint, approval) }),
});

/** What the call waits for, and where a person can decide it. */
export function approvalText(endpoint: McpEndpoint, approval: ApprovalNotice): string[] {
  const until = new Date(approval.expiresAt).toISOString();
  const where = hasPages(endpoint)
    ? `A person can decide it at ${urlOf(endpoint, approval)} until ${until}.`
    : `A person can decide it until ${until}, once this process has ended: ostiary serve, then ostiary approvals approve ${approval.id}.`;
  return [
    `PENDING (approval_required): waiting for approval ${approval.id}; nothing has run.`,
    where,
  ];
}

/** False on stdio without an HTTP server: there are no pages. */
const hasPages = (endpoint: McpEndpoint): boolean => endpoint.doors.settings.baseUrl !== "";

const urlOf = (endpoint: McpEndpoint, approval: ApprovalNotice): string =>
  `${endpoint.doors.settings.baseUrl}/a/${approval.id}`;
