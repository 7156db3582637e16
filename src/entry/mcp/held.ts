// A call that waits for a person, as MCP clients can wait (protocol.md §7). The approval's row is the truth: nothing that
// arrives here can turn it to approved, it only shows the way to whoever may.
import type { InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import type { ApprovalNotice, Json, JsonObject, Outcome, Progress } from "../../call.ts";
import { canonicalJson } from "../../util/json.ts";
import { maskSecrets } from "../../util/mask.ts";
import type { Exchange, Face } from "./server.ts";

/** What travels through the client and back: a name, not a right. */
interface HeldState {
  readonly executionId: string;
}

const PROGRESS_EVERY_MS = 5_000;

/** Bound to method and caller: the state of somebody else's call does not verify. */
export function stateCodec(face: Face, ttlSeconds?: number) {
  return face.sdk.server.createRequestStateCodec<HeldState>({
    key: face.doors.settings.stateKey,
    ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    bind: (ctx) => {
      const { tenantId, userId, keyId } = face.exchangeOf(ctx).caller;
      return [ctx.mcpReq.method, tenantId, userId, keyId].join("\0");
    },
  });
}

/** The execution this request comes back to; null for a first call. Throws what the client is told when it is another one. */
export async function comesBackTo(
  face: Face,
  ctx: ServerContext,
  name: string,
  args: JsonObject,
): Promise<string | null> {
  const state = ctx.mcpReq.requestState<HeldState>();
  if (state === undefined) return null;
  const { caller } = face.exchangeOf(ctx);
  const record = await face.doors.history.get(caller, state.executionId);
  const tool = face.doors.registry.get(name)?.name ?? name;
  const same = record?.toolName === tool && canonicalJson(record.arguments) === canonicalJson(maskSecrets(args)); // prettier-ignore
  return same ? state.executionId : null;
}

/** Waits up to the hold limit, telling a client that asked for progress that it still waits. */
export async function waitForPerson(
  face: Face,
  { caller }: Exchange,
  held: { executionId: string; holdSeconds: number },
  report: ((progress: Progress) => void) | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const began = performance.now();
  const tell = (): void =>
    report?.({ progress: Math.round((performance.now() - began) / 1000), total: held.holdSeconds, message: "waiting for approval" }); // prettier-ignore
  tell();
  const timer = setInterval(tell, PROGRESS_EVERY_MS);
  try {
    return await face.doors.engine.follow(caller, held.executionId, { ms: held.holdSeconds * 1000, signal }); // prettier-ignore
  } finally {
    clearInterval(timer);
  }
}

/** Can this client open a link for its user? Only then may it be asked: else the model would see a protocol error. */
export function opensLinks(face: Face, ctx: ServerContext, legacy: JsonObject | undefined): boolean {
  const { CLIENT_CAPABILITIES_META_KEY } = face.sdk.server;
  const envelope = ctx.mcpReq.envelope as Record<string, JsonObject | undefined> | undefined;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY];
  // Without an envelope it is the older era, where only a session can carry the question.
  const capabilities = declared ?? (ctx.sessionId === undefined ? undefined : legacy);
  const elicitation = capabilities?.["elicitation"] as JsonObject | undefined;
  return elicitation?.["url"] !== undefined;
} // prettier-ignore

/** Asks the client to show the approval's page; its answer, whatever it says, only brings the call back here. */
export async function linkToApproval(
  face: Face,
  ctx: ServerContext,
  outcome: Outcome,
  approval: ApprovalNotice,
): Promise<InputRequiredResult> {
  const { inputRequired } = face.sdk.server;
  const secondsLeft = Math.max(1, Math.ceil((approval.expiresAt - face.doors.now()) / 1000));
  return inputRequired({
    inputRequests: {
      approval: inputRequired.elicitUrl({
        message: `${outcome.toolName} waits for the approval of a person; nothing has run yet.`,
        url: urlOf(face, approval),
      }),
    },
    requestState: await stateCodec(face, secondsLeft).mint(
      { executionId: outcome.executionId },
      ctx,
    ),
  });
}

/** The last word of a door that cannot wait longer: the same call again goes on waiting. */
export function stillPending(face: Face, outcome: Outcome, approval: ApprovalNotice) {
  const url = urlOf(face, approval);
  const expires = new Date(approval.expiresAt).toISOString();
  const text = [
    `PENDING (approval_required): waiting for approval ${approval.id}; nothing has run.`,
    `A person can decide it at ${url} until ${expires}.`,
    "What to do: repeat the same call to go on waiting, or do something else meanwhile.",
    `Execution: ${outcome.executionId}`,
  ].join("\n");
  const told: Json = { id: approval.id, state: approval.state, expiresAt: expires, url };
  return {
    content: [{ type: "text" as const, text }],
    structuredContent: { executionId: outcome.executionId, status: outcome.status, approval: told },
    isError: true as const,
    _meta: { "ostiary/executionId": outcome.executionId, "ostiary/status": outcome.status },
  };
}

const urlOf = (face: Face, approval: ApprovalNotice): string =>
  `${face.doors.settings.baseUrl}/a/${approval.id}`;
