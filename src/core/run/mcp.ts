// Runs a tool of an upstream server. Its answer is untrusted text.
import type { Call, Json, JsonObject } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { Tool } from "../../contract/tool.ts";
import { UpstreamFault, type UpstreamResult } from "../../reach/upstream/upstream.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import {
  isToolError,
  NoResult,
  packError,
  packResult,
  unpackResult,
} from "../../util/mcp-output.ts";
import { exhaustedBy } from "../../util/exhaustion.ts";
import { exhaustedFailure, failure, unexpectedFailure } from "./failure.ts";
import type { Runner, RunResult } from "./index.ts";

export interface McpRunnerPowers {
  readonly call: (call: Call) => Promise<UpstreamResult>;
  /** Null when the output fits the schema that was approved. */
  readonly checkOutput: (
    schema: JsonObject,
    output: Json,
  ) => readonly { path: string; message: string }[] | null;
  readonly masker: Pick<Masker, "resultInSlices" | "shownText">;
  readonly report: (call: Call, cause: unknown) => void;
}

/** Characters that a reader does not see, but a model does. */
const HIDDEN = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|\udb40[\udc00-\udfff]/;

export function mcpRunner(p: McpRunnerPowers): Runner {
  return async (call) => {
    const server = call.tool?.route?.server ?? "";
    try {
      const { result, attempts } = await p.call(call);
      const notes =
        attempts > 1 ? { untrusted: true, server, attempts } : { untrusted: true, server };
      return await finish(call, result, notes, p);
    } catch (cause) {
      return caught(call, cause, { untrusted: true, server, ...attemptsOf(cause) }, p);
    }
  };
}

async function finish(
  call: Call,
  result: JsonObject,
  notes: JsonObject,
  p: McpRunnerPowers,
): Promise<RunResult> {
  const { tool } = call;
  const output = packResult(result, tool?.route?.method);
  const failed = isToolError(output);
  const faults =
    failed || !tool?.outputSchema
      ? null
      : p.checkOutput(tool.outputSchema, unpackResult(output).structuredContent ?? null);
  if (faults !== null) {
    const error = {
      code: "EXECUTION_FAILED",
      reason: "output_invalid",
      message: `Execution error: the answer of ${tool?.name} does not fit the schema it promised (${faults[0]?.path || "/"}: ${p.masker.shownText(faults[0]?.message ?? "")})`,
    } as const;
    return { output: null, error, metadata: notes };
  }
  const { answer, recorded, masked } = await p.masker.resultInSlices(output);
  const hides = hidesText(answer);
  const metadata =
    masked === 0 && !hides
      ? notes
      : {
          ...notes,
          ...(masked > 0 ? { masked } : {}),
          ...(hides ? { hiddenCharacters: true } : {}),
        };
  const error = failed
    ? ({ code: "EXECUTION_FAILED", reason: "tool_error", message: messageOf(answer) } as const)
    : null;
  return { output: answer, recorded, error, metadata };
}

function hidesText(output: Json): boolean {
  if (typeof output === "string") return HIDDEN.test(output);
  if (typeof output !== "object" || output === null) return false;
  return Object.values(output).some(hidesText);
}

const MAX_MESSAGE = 1_000;
/** At most this much of a server's message is read. */
const MAX_RPC = 16_384;

/** The tool's own words for what went wrong. */
function messageOf(output: Json): string {
  const texts = unpackResult(output).content.flatMap((block) =>
    block.type === "text" ? [block.text] : [],
  );
  const detail = texts.join("\n").trim() || "the tool says that it failed, and not why";
  return detail.length > MAX_MESSAGE ? `${detail.slice(0, MAX_MESSAGE)}…` : detail;
}

async function caught(
  call: Call,
  cause: unknown,
  notes: JsonObject,
  p: McpRunnerPowers,
): Promise<RunResult> {
  if (cause instanceof NoResult)
    return failure(
      {
        code: "EXECUTION_FAILED",
        reason: "upstream_protocol",
        message: `Execution error: ${cause.message}`,
      },
      notes,
    );
  if (cause instanceof AppError)
    return failure({ ...cause.fault, message: p.masker.shownText(cause.fault.message) }, notes);
  if (!(cause instanceof UpstreamFault)) {
    if (!call.signal.aborted) p.report(call, cause);
    const exhausted = exhaustedBy(cause);
    if (exhausted !== null) return exhaustedFailure(exhausted, notes);
    return unexpectedFailure("call", notes);
  }
  const error = faultOfUpstream(cause, call.tool, p);
  if (!cause.rpc) return failure(error, notes);
  const { answer, recorded } = await p.masker.resultInSlices(packError(cause.rpc));
  return { output: answer, recorded, error, metadata: notes };
}

/** For the record: nothing where one attempt was all. */
export const attemptsOf = (cause: unknown): { attempts?: number } =>
  cause instanceof UpstreamFault && cause.attempts > 1 ? { attempts: cause.attempts } : {};

export function faultOfUpstream(
  cause: UpstreamFault,
  tool: Tool | null,
  { masker }: Pick<McpRunnerPowers, "masker">,
): Fault {
  const server = tool?.route?.server ?? "the server";
  const detail = masker.shownText(cause.message);
  if (cause.rpc)
    return {
      code: "EXECUTION_FAILED",
      reason: "upstream_error",
      message: `${server}: ${masker.shownText(cause.rpc.message.slice(0, MAX_RPC)).slice(0, MAX_MESSAGE)}`,
    };
  if (cause.kind === "unauthorized")
    return {
      code: "UNAUTHORIZED",
      reason: "upstream_login",
      message: `${server} asks for a login: ${detail}`,
      remedy: `ostiary servers login ${server}`,
    };
  const isRead = tool?.effects === "read_only" || tool?.effects === "essential_health_check";
  if (cause.dispatched && !isRead && cause.kind !== "cancelled")
    return {
      code: "OUTCOME_UNKNOWN",
      reason: "answer_lost",
      message: `the call reached ${server}, but no usable answer came back: ${detail}`,
      remedy: "check the tool's effect before you run it again",
    };
  const broken = cause.kind === "protocol" || cause.kind === "too_large";
  return {
    code: "EXECUTION_FAILED",
    reason: broken ? "upstream_protocol" : "upstream_unavailable",
    message: `Execution error: ${server}: ${detail}`,
    remedy: broken
      ? "an administrator sees more with: ostiary servers logs"
      : "try again later; an administrator sees why with: ostiary servers show",
  };
}
